"""The table of calls: what it holds after each kind of turn, and files that do not have it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Accumulator, Execution, Hooks, SQLite, ToolContext, parse_tokens, tool
from cogency_rs.errors import BlockTool, ConfigError, ToolError
from cogency_rs.outside import is_uuid7, worker
from cogency_rs.storage import CallRecord
from cogency_rs.storage.sqlite.connection import connect
from cogency_rs.tools import Retries
from support import logs
from support.logs import Stored, call, success
from support.tools import OK, Waiting, block, with_tools
from support.turns import CONVERSATION, USER, BatchLog, Log, accumulator, carry_out, event, types
from support.ways import in_both_ways, only_at_the_end

pytestmark = [in_both_ways, pytest.mark.timeout(60)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def log(path):
    async with SQLite(path, synchronous="OFF") as log:
        yield log


def outline(calls: list[CallRecord]) -> list[tuple[str, str, int]]:
    return [(call.name, call.status, call.attempt) for call in calls]


# What a turn leaves in the table


class Refuses(Hooks):
    async def around_call(self, invocation: Any, next: Any) -> Any:
        if invocation.call.name == "blocked":
            raise BlockTool("not today")
        return await next(invocation)


@tool
async def works() -> str:
    """Do it."""
    return "done"


@tool
async def fails() -> str:
    """Fail."""
    raise ToolError("no")


@tool(timeout=0.01)
async def hangs() -> None:
    """Hang."""
    await asyncio.get_running_loop().create_future()


@tool
async def blocked() -> str:
    """Not allowed."""
    return ""


@tool(requires_approval=True)
async def asks() -> str:
    """Ask first."""
    return ""


@tool
async def gives_up() -> str:
    """Cancel itself."""
    raise asyncio.CancelledError


@tool(idempotent=Retries(2))
async def fails_again() -> str:
    """Fail three times."""
    raise OSError("gone")


TOOLS = [works, fails, hangs, blocked, asks, gives_up, fails_again]


@pytest.mark.parametrize(
    ("name", "status", "attempts"),
    [
        ("works", "success", 1),
        ("fails", "failure", 1),
        ("hangs", "timeout", 1),
        ("blocked", "blocked", 0),
        ("asks", "denied", 0),
        ("gives_up", "cancelled", 1),
        ("fails_again", "failure", 3),
        ("unknown", "failure", 0),
    ],
)
async def test_a_call_is_settled_with_its_execution_s_status_and_times(log, name, status, attempts):
    turn = Accumulator("u", "c", execution=Execution(storage=log, tools=TOOLS), hooks=[Refuses()])
    await carry_out(turn, parse_tokens(block(name)))
    [call] = await log.calls("c")
    assert outline([call]) == [(name, status, attempts)]
    assert call.started_at <= call.completed_at
    assert (call.position, call.server, call.worker) == (0, None, worker())


async def test_calls_are_in_order_within_a_batch_and_across_batches(log):
    turns = accumulator(with_tools(OK, storage=log))
    for _ in range(2):
        await carry_out(turns, parse_tokens(block("ok", "ok", "ok")))
    calls = await log.calls(CONVERSATION)
    assert [call.position for call in calls] == [0, 1, 2] * 2
    assert len({call.batch for call in calls}) == 2
    assert [call.id for call in calls] == sorted({call.id for call in calls})


async def test_the_tool_and_all_hooks_see_the_id_that_is_in_the_log(log):
    seen = []

    @tool
    async def tells(context: ToolContext) -> str:
        """Tell."""
        seen.append(context.execution_id)
        return "told"

    class Listens(Hooks):
        async def around_call(self, invocation: Any, next: Any) -> Any:
            result = await next(invocation)
            seen.append(invocation.execution(result).id)
            return result

    async def passes(invocation: Any, next: Any) -> Any:
        seen.append(invocation.id)
        return await next(invocation)

    turn = Accumulator(
        "u",
        "c",
        execution=Execution(storage=log, tools=[tells]),
        hooks=[Listens(), passes],
    )
    await carry_out(turn, parse_tokens(block("tells")))
    [call] = await log.calls("c")
    assert seen == [call.id] * 3


async def test_a_call_is_open_while_its_tool_runs(log, both_ways):
    slow = Waiting()
    turn = asyncio.create_task(
        carry_out(accumulator(with_tools(slow, storage=log)), parse_tokens(block("wait")))
    )
    await both_ways.until_complete(slow.started)
    [call] = await log.calls(CONVERSATION)
    assert (call.attempt, call.worker, call.completed_at) == (1, worker(), None)
    assert call.started_at is not None
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    [call] = await log.calls(CONVERSATION)
    assert call.status == "cancelled"
    assert call.started_at <= call.completed_at


@only_at_the_end("a call that begins early has run by then, and keeps its result")
async def test_calls_that_never_ran_are_cancelled_and_have_a_row_of_results(log):
    turns = accumulator(with_tools(OK, storage=log))
    async with aclosing(turns.process(parse_tokens(block("ok", "ok")))) as events:
        async for found in events:
            if found["type"] == "call":
                break
    calls = await log.calls(CONVERSATION)
    assert outline(calls) == [("ok", "cancelled", 0)] * 2
    assert [call.started_at for call in calls] == [None, None]
    assert types((await log.read(CONVERSATION)).rows) == ["call", "call", "result"]


async def test_the_calls_are_settled_when_the_breaker_opens(log):
    turns = accumulator(with_tools(storage=log), max_failures=1)
    await carry_out(turns, parse_tokens(block("unknown", "unknown")))
    assert outline(await log.calls(CONVERSATION)) == [("unknown", "failure", 0)] * 2


async def test_calls_that_are_saved_one_by_one_have_the_same_batch(log):
    """As another parser may give them, with text between them."""

    async def events():
        yield event("call", call("ok"))
        yield event("respond", "and")
        yield event("call", call("ok"))
        yield event("execute")

    await carry_out(accumulator(with_tools(OK, storage=log)), events())
    calls = await log.calls(CONVERSATION)
    assert [(call.position, call.status) for call in calls] == [(0, "success"), (1, "success")]
    assert len({call.batch for call in calls}) == 1


@pytest.mark.parametrize("name", ["half \ud83d", "nul \0", "深い", "x" * 10_000])
async def test_a_tool_s_name_may_be_anything(log, name):
    await carry_out(accumulator(with_tools(storage=log)), parse_tokens(block(name)))
    [call] = await log.calls(CONVERSATION)
    assert call.name == name.encode("utf-8", "backslashreplace").decode()


async def test_arguments_that_cannot_be_read_are_a_call_too(log):
    text = f'<execute>[{{"name": "ok", "args": {{"n": {"9" * 5000}}}}}]</execute>'
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(text))
    assert outline(await log.calls(CONVERSATION)) == [("ok", "failure", 0)]


# Other storages


@pytest.mark.parametrize("storage", [Log, BatchLog])
async def test_a_storage_without_append_is_given_only_the_rows(storage):
    log = storage()
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(f"a{block('ok')}"))
    assert types(log.rows) == ["respond", "call", "result"]


async def test_a_subclass_s_own_save_messages_is_used(path):
    saved = []

    class Loud(SQLite):
        def save_messages(self, rows: Any) -> Any:
            saved.extend(row[2] for row in rows)
            return super().save_messages(rows)

    async with Loud(path) as log:
        await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(block("ok")))
        assert saved == ["call", "result"]
        assert await log.calls(CONVERSATION) == []


async def test_a_list_is_not_a_log_although_it_can_append():
    class Rows(list[Any]):
        async def save_message(self, *row: Any) -> None:
            self.append(row[2])

    rows = Rows()
    await carry_out(accumulator(with_tools(OK, storage=rows)), parse_tokens(block("ok")))
    assert rows == ["call", "result"]


# Row types


@pytest.mark.parametrize(
    "save",
    [
        lambda log, kind: log.save_message("c", "u", kind, "text"),
        lambda log, kind: log.save_messages([("c", "u", kind, "text", None)]),
        lambda log, kind: log.append("c", user_id="u", rows=[(kind, "text", 1.0)]),
    ],
    ids=["save_message", "save_messages", "append"],
)
@pytest.mark.parametrize("type", ["assistant", "tool", "", "User"])
async def test_a_row_of_an_unknown_type_is_refused_and_the_known_types_are_listed(log, save, type):
    with pytest.raises(ConfigError) as caught:
        await save(log, type)
    assert str(caught.value) == (
        f"the log has no rows of type {type!r}; choose one of: user, think, respond, call, result, error, end, "
        "execute, metric, interrupt, cancelled, settled"
    )
    assert await log.load_messages("c", "u") == []


# Old files

OURS = {
    "calls",
    "claims",
    "cogency_rs_version",
    "cogency_rs_revisions",
    "cogency_rs_order",
    "cogency_rs_parts",
    "calls_in_doubt",
    "unknown_calls",
}


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type <> 'trigger'"
        return {name for (name,) in connection.execute(query)}


def old_file(path: Path) -> Path:
    """A log as cogency itself writes it, without our tables."""
    logs.write(
        path,
        [
            Stored("user", "hello", 0),
            Stored("call", call("ok"), 1),
            Stored("result", f"[{success('ok', 'done')}]".replace("'", '"'), 1),
        ],
        conversation=CONVERSATION,
        user=USER,
    )
    assert not OURS & tables(path)
    return path


async def test_an_old_file_is_upgraded_by_the_first_turn(path):
    async with SQLite(old_file(path)) as log:
        assert len((await log.read(CONVERSATION)).rows) == 3
        assert await log.calls(CONVERSATION) == []
        await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(block("ok")))
        assert outline(await log.calls(CONVERSATION)) == [("ok", "success", 1)]
    assert tables(path) >= OURS


async def test_a_new_file_has_cogency_s_tables_and_ours(path):
    async with SQLite(path) as log:
        await log.save_message("c", "u", "user", "hello")
    with closing(connect(str(path.with_name("plain.db")))):
        plain = tables(path.with_name("plain.db"))
    assert {name for name in tables(path) - plain if "autoindex" not in name} == OURS


async def test_an_old_file_that_is_locked_can_be_read(path):
    with closing(sqlite3.connect(old_file(path), isolation_level=None)) as elsewhere:
        elsewhere.execute("BEGIN IMMEDIATE")
        async with SQLite(path) as log:
            assert len((await log.read(CONVERSATION)).rows) == 3
            assert await log.calls(CONVERSATION) == []
        elsewhere.execute("ROLLBACK")


# Ids from the model and from the provider


CALL_WITH_ID = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>"
)


async def test_an_id_that_the_model_wrote_is_in_its_row_but_does_not_identify_the_call(log):
    seen: list[str] = []

    @tool
    async def look(context: ToolContext[None]) -> str:
        seen.append(context.execution_id)
        return "ok"

    turns = Accumulator(USER, CONVERSATION, execution=Execution(storage=log, tools=[look]))
    for _ in range(2):
        async for _event in turns.process(parse_tokens(CALL_WITH_ID, dialect="kimi-k2")):
            pass
    ids = [call.id for call in await log.calls(CONVERSATION)]
    assert ids == seen
    assert len(set(ids)) == 2
    assert "functions.look:0" not in ids
    rows = await log.load_messages(CONVERSATION, USER)
    assert [row["content"] for row in rows if row["type"] == "call"] == [
        '{"name": "look", "args": {}, "id": "functions.look:0"}'
    ] * 2


async def test_an_id_of_the_provider_is_kept_and_identifies_nothing(log):
    async def events():
        yield event("call", '{"name": "ok", "args": {}, "id": "call_1"}')
        yield event("execute")

    turns = Accumulator(USER, CONVERSATION, execution=Execution(storage=log, tools=[OK]))
    async for _event in turns.process(events()):
        pass
    [call] = await log.calls(CONVERSATION)
    assert (call.provider_id, is_uuid7(call.id)) == ("call_1", True)
