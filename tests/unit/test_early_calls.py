"""Calls of read-only tools begin while the model still writes their batch."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import (
    Accumulator,
    Agent,
    CallOptions,
    Dialect,
    Execution,
    Hooks,
    Memory,
    RunLimits,
    SQLite,
    ToolCall,
    ToolContext,
    parse_tokens,
    tool,
)
from cogency_rs.agent import NativeDriver
from cogency_rs.errors import BlockTool
from cogency_rs.models import Finish, ToolCallDelta
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from support.chunks import cut
from support.clock import in_exact_time
from support.early import Bench, turn
from support.examples import examples
from support.tools import block, call, rounds
from support.waiting import until

pytestmark = pytest.mark.concurrency

NOT_VALID = '{"dropped": "its batch was not valid"}'


def written(*names: str) -> str:
    """A block of calls of these tools; the argument of each call is its place in the block."""
    return block(*(call(name, n=place) for place, name in enumerate(names)))


# Which calls begin early


@pytest.mark.parametrize(
    ("names", "early"),
    [
        (["read", "read", "read"], [0, 1, 2]),
        (["read", "write", "read"], [0]),  # a call after a write must see it
        (["write", "read"], []),
        (["read", "alone", "read"], [0]),
        (["alone"], []),
        (["read", "secret", "read"], [0]),
        (["read", "nowhere", "read"], [0]),
        (["fail", "read"], [0, 1]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
async def test_calls_begin_early_up_to_the_first_that_may_not(names, early) -> None:
    bench = Bench()
    done = await turn(bench, list(written(*names)), eager=True)
    assert bench.begun_early == early
    assert done.events[-1]["type"] == "result"
    late = Bench()
    assert done == await turn(late, cut(written(*names)), eager=False)


async def test_a_call_begins_at_the_end_of_its_object() -> None:
    bench = Bench()
    text = written("read", "read")
    first = text.index("}}") + 2
    await turn(bench, [text[: first - 1], text[first - 1 : first], text[first:]], eager=True)
    assert bench.begun_early == [0]


async def test_with_eager_turned_off_no_call_begins_early() -> None:
    bench = Bench()
    await turn(bench, cut(written("read", "read", "read")), eager=False)
    assert bench.begun_early == []


@pytest.mark.parametrize(
    ("arguments", "early"), [({"n": 0}, True), ({}, False), ({"n": "x"}, False)], ids=str
)
async def test_a_call_with_wrong_arguments_and_those_after_it_do_not_begin_early(
    arguments, early
) -> None:
    bench = Bench()
    calls = block(ToolCall("read", arguments), call("read", n=1))
    await turn(bench, cut(calls), eager=True)
    assert (0 in bench.begun_early) is early
    assert early or 1 not in bench.begun_early


@pytest.mark.parametrize("name", sorted(Dialect.presets()))
async def test_in_every_dialect_a_call_begins_before_the_next_is_written(name) -> None:
    bench = Bench()
    text = Dialect(name).write_calls([call("read", n=1), call("read", n=2)])
    options: Any = {"reading": {"dialect": name}, "most": 4}
    done = await turn(bench, list(text), eager=True, **options)
    assert bench.begun_early[:1] == [1], f"{text!r}: {done.events}"
    assert done == await turn(Bench(), list(text), eager=False, **options)
    assert [status for _, status, _ in done.records] == ["success"] * 2


# The reader, the log and the model see the same events and results


def batches() -> st.SearchStrategy[tuple[list[str], str]]:
    """The tools that a batch calls, and junk after its calls in the block."""
    names = st.sampled_from(
        ["read", "read", "read", "say", "fail", "block", "alone", "write", "nowhere"]
    )
    junk = st.sampled_from(["", "", "", "x", '{"name": 3}', "{", "12"])
    return st.tuples(st.lists(names, min_size=1, max_size=6), junk)


def damaged(names: list[str], junk: str) -> str:
    text = written(*names)
    return text if not junk else text.replace("]</execute>", f", {junk}]</execute>")


@examples(60)
@given(
    answer=st.lists(batches(), min_size=1, max_size=3),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    mode=st.sampled_from(["event", "token"]),
    most=st.sampled_from([None, 1, 2]),
    calls=st.sampled_from(["whole", "stream"]),
)
def test_a_turn_is_the_same_whether_its_calls_begin_early_or_not(
    answer, sizes, mode, most, calls
) -> None:
    text = " so ".join(itertools.starmap(damaged, answer))
    chunks, at = [], 0
    for size in itertools.cycle(sizes):
        if at >= len(text):
            break
        chunks.append(text[at : at + size])
        at += size
    options = {
        "mode": mode,
        "most": most,
        "reading": {"calls": calls},
        "max_failures": 99,
    }

    async def both() -> None:
        early, late = Bench(), Bench()
        with_early = await turn(early, chunks, eager=True, **options)
        without = await turn(late, chunks, eager=False, **options)
        assert without.dropped == []
        assert (
            _without_order_of_progress(with_early.events),
            with_early.rows,
            with_early.records,
        ) == (
            _without_order_of_progress(without.events),
            without.rows,
            without.records,
        )
        assert with_early.outcome == without.outcome
        begun = [what for what in early.journal if what.startswith("begin")]
        over = [what for what in early.journal if what.startswith(("end", "stop"))]
        assert len(begun) == len(over), "every call that began has ended or was stopped"

    asyncio.run(both())


def _without_order_of_progress(events: list[dict[str, Any]]) -> Any:
    """The events, apart from those of tools, whose order among themselves may differ."""
    progress = sorted(event["said"] for event in events if event["type"] == "progress")
    return progress, [event for event in events if event["type"] != "progress"]


async def test_events_of_an_early_call_follow_its_batch_s_execute() -> None:
    done = await turn(Bench(), cut(written("say", "read", "read")), eager=True)
    kinds = [event["type"] for event in done.events]
    assert kinds == ["call", "call", "call", "execute", "progress", "result"]


# A batch that is not valid


BROKEN = {
    "wrong JSON": written("read", "say", "read")[:-11] + ', {"name"]</execute>',
    "the wrong shape": written("read", "say", "read")[:-11] + ", 3]</execute>",
    "cut": written("read", "say", "read", "read")[:-20],
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_calls_of_a_broken_block_that_have_begun_are_stopped_and_dropped(text) -> None:
    bench = Bench()
    done = await turn(bench, cut(text), eager=True)
    assert len(bench.begun_early) >= 2
    begun = [what for what in bench.journal if what.startswith("begin")]
    over = [what for what in bench.journal if what.startswith(("end", "stop"))]
    assert len(begun) == len(over) == len(bench.begun_early)
    assert len(done.dropped) == len(bench.begun_early)
    assert {each[1:] for each in done.dropped} == {("cancelled", NOT_VALID)}
    assert [event["type"] for event in done.events] == ["error"]
    assert [type for type, _ in done.rows] == ["error"]
    assert done.records == []
    without = await turn(Bench(), cut(text), eager=False)
    assert (done.events, done.rows) == (without.events, without.rows)


async def test_a_broken_block_does_not_affect_the_blocks_before_and_after_it() -> None:
    """In this dialect, all blocks of an answer are one batch."""
    good, bad = Dialect("hermes").write_calls([call("read", n=6)]).strip(), "<tool_call>\n"
    bad += '{"name": "read", "arguments": {"n": 5}} x\n</tool_call>'
    last = good.replace("6", "2")
    bench = Bench()
    text = f"{good}\n{bad}\n{last}"
    done = await turn(bench, cut(text), eager=True, reading={"dialect": "hermes"})
    assert bench.begun_early == [6, 5, 2]
    assert done.dropped == [("read", "cancelled", NOT_VALID)]
    assert done.records == [("read", "success", 1)] * 2
    [result] = [json.loads(content) for type, content in done.rows if type == "result"]
    assert [item["content"] for item in result] == [6, 2]
    without = await turn(Bench(), cut(text), eager=False, reading={"dialect": "hermes"})
    assert (done.events, done.rows, done.records) == (
        without.events,
        without.rows,
        without.records,
    )


async def test_a_source_that_fails_stops_the_calls_that_have_begun() -> None:
    bench, storage = Bench(), Memory()
    turns = Accumulator("u", "c", execution=Execution(storage=storage, tools=bench.tools()))

    async def broken() -> Any:
        async for chunk in bench.chunks(cut(written("read", "read", "read"))[:-5]):
            yield chunk
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        async for _ in turns.process(parse_tokens(broken(), errors="event")):
            pass
    records = await storage.calls("c")
    assert records
    assert {record.status for record in records} == {"cancelled"}
    assert "result" not in [row["type"] for row in (await storage.read("c")).rows]


async def test_a_stop_that_a_dropped_call_asked_for_is_ignored() -> None:
    @tool(read_only=True)
    async def stop(context: ToolContext[Any]) -> str:
        """Ask for the end."""
        context.emit({"type": "progress"})
        context.stop("enough")
        return "stopped"

    async def slowly(text: str) -> Any:
        for chunk in cut(text):
            await rounds(3)
            yield chunk

    turns = Accumulator("u", "c", execution=Execution(storage=Memory(), tools=[stop]))
    text = block("stop")[:-11] + ", 3]</execute>"
    turn = turns.process(parse_tokens(slowly(text)))
    types = [event["type"] async for event in turn]
    assert "progress" not in types
    assert turn.result.stop is None


# The log


async def test_a_call_is_in_the_log_before_it_begins() -> None:
    seen: list[Any] = []
    async with SQLite(":memory:") as log:

        @tool(read_only=True)
        async def look(n: int, context: ToolContext[Any]) -> int:
            """Look into the log."""
            records = await log.calls("c")
            seen.append((context.execution_id, [(each.id, each.status) for each in records]))
            return n

        async def slowly() -> Any:
            written = ""
            for chunk in cut(block(call("look", n=1), call("look", n=2))):
                yield chunk
                written += chunk
                if written.count("}}") == 1:
                    await until(lambda: seen, "the first call does not begin")

        turns = Accumulator("u", "c", execution=Execution(storage=log, tools=[look]))
        turn = turns.process(parse_tokens(slowly()))
        async for _ in turn:
            pass
        records = await log.calls("c")
        assert seen[0] == (records[0].id, [(records[0].id, "early")])
        assert [each.id for each in records] == [each.id for each in turn.result.executions]
        assert [(each.batch, each.position) for each in records] == [
            (records[0].batch, 0),
            (records[0].batch, 1),
        ]
        assert {each.status for each in records} == {"success"}
        started = [each.started_at for each in records]
        assert started == sorted(started)


async def test_a_call_that_began_in_a_program_that_died_is_settled_by_the_next_run() -> None:
    log = Memory()
    await log.append("c", user_id="u", rows=[("user", "hm", 1.0)])
    await log.append(
        "c", user_id="u", rows=(), calls=[CallRecord("1", "b", 0, "read", status="early")]
    )
    agent = Agent(ScriptedModel(["fine"]), storage=log)
    result = await agent.resume("c", user_id="u")
    assert result.output == "fine"
    [record] = await log.calls("c")
    assert (record.status, record.decision) == (
        "cancelled",
        '{"dropped": "the program that ran it ended"}',
    )


# Hooks and limits


@pytest.mark.parametrize(("on_block", "begun"), [("continue", [0, 2]), ("stop", [0])])
async def test_a_hook_blocks_a_call_that_begins_early(on_block, begun) -> None:
    async def block_the_second(invocation: Any, next: Any) -> Any:
        if invocation.index == 1:
            raise BlockTool("no")
        return await next(invocation)

    bench, text = Bench(), written("read", "read", "read")
    turns = Accumulator(
        *("u", "c"),
        execution=Execution(storage=Memory(), tools=bench.tools()),
        calls=CallOptions(on_block=on_block),
        hooks=[block_the_second],
    )
    events = [each async for each in turns.process(parse_tokens(bench.chunks(cut(text))))]
    assert bench.begun_early == begun
    assert [each["type"] for each in events].count("tool_blocked") == 1


async def test_hooks_of_runs_do_not_delay_calls() -> None:
    class Watches(Hooks):
        def after_step(self, ctx: Any, step: Any) -> Any:
            return step

    bench = Bench()
    await turn(bench, cut(written("read", "read")), eager=True, hooks=[Watches()])
    assert 0 in bench.begun_early


async def test_a_hook_is_around_a_call_that_begins_early() -> None:
    bench, around = Bench(), list[str]()

    async def layer(invocation: Any, next: Any) -> Any:
        around.append(f"in {invocation.call.args['n']}")
        try:
            return await next(invocation)
        finally:
            around.append(f"out {invocation.call.args['n']}")

    await turn(bench, cut(written("read", "read")), eager=True, hooks=[layer])
    assert 0 in bench.begun_early
    assert sorted(around) == ["in 0", "in 1", "out 0", "out 1"]


@in_exact_time
async def test_the_time_limit_of_a_batch_starts_when_the_batch_is_complete() -> None:
    is_written = asyncio.Event()

    @tool(read_only=True)
    async def read(n: int) -> int:
        """Read until the model has written its batch, and a little longer."""
        await is_written.wait()
        await asyncio.sleep(5)
        return n

    async def chunks() -> Any:
        *most, last = cut(written("read", "read"))
        for chunk in most:
            await asyncio.sleep(10)
            yield chunk
        is_written.set()
        yield last

    turns = Accumulator(
        "u",
        "c",
        execution=Execution(storage=Memory(), tools=[read]),
        calls=CallOptions(batch_timeout=10),
    )
    turn = turns.process(parse_tokens(chunks()))
    async for _ in turn:
        pass
    assert [each.status for each in turn.result.executions] == ["success", "success"]


async def test_at_most_the_allowed_number_of_calls_run_at_once() -> None:
    running, most = 0, 0

    @tool(read_only=True)
    async def read(n: int) -> int:
        """Read."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await rounds(20)
        running -= 1
        return n

    async def slowly() -> Any:
        for chunk in cut(block(*(call("read", n=n) for n in range(6)))):
            await rounds(1)
            yield chunk

    turns = Accumulator(
        "u",
        "c",
        execution=Execution(storage=Memory(), tools=[read]),
        calls=CallOptions(max_concurrency=2),
    )
    turn = turns.process(parse_tokens(slowly()))
    async for _ in turn:
        pass
    assert most == 2
    assert [each.value for each in turn.result.executions] == list(range(6))


# Agents


class Slow:
    """A model that writes its answers slowly."""

    def __init__(self, bench: Bench, *answers: list[Any]) -> None:
        self._bench, self._answers = bench, iter(answers)

    def stream(self, request: Any) -> Any:
        return self._bench.chunks(next(self._answers))


def deltas(*names: str, size: int = 5) -> list[Any]:
    pieces: list[Any] = []
    for number, name in enumerate(names):
        pieces.append(ToolCallDelta(number, f"id{number}", name, ""))
        pieces += [
            ToolCallDelta(number, None, None, each) for each in cut(f'{{"n": {number}}}', size)
        ]
    return [*pieces, Finish("tool_calls")]


@pytest.mark.parametrize("eager", [True, False])
async def test_with_native_calls_an_agent_starts_each_when_its_arguments_are_complete(
    eager,
) -> None:
    bench = Bench()
    model = Slow(bench, deltas("read", "read", "write", "read"), ["fine"])
    agent = Agent(model, tools=bench.tools(), driver=NativeDriver(), calls=CallOptions(eager=eager))
    result = await agent.run("hm")
    assert result.output == "fine"
    assert bench.begun_early == ([0, 1] if eager else [])
    assert [each.status for each in result.steps[0].executions] == ["success"] * 4
    records = [each.record for each in result.steps[0].executions]
    assert [record.provider_id for record in records] == ["id0", "id1", "id2", "id3"]


async def test_native_calls_are_dropped_if_one_is_broken() -> None:
    bench, log = Bench(), Memory()
    broken = [*deltas("read", "read")[:-1], ToolCallDelta(2, "x", "read", '{"n": nope')]
    agent = Agent(Slow(bench, broken, ["fine"]), tools=bench.tools(), driver="native", storage=log)
    events = [event["type"] async for event in agent.run("hm", conversation_id="c")]
    assert bench.begun_early == [0, 1]
    assert "call" not in events
    assert "call_ready" not in events
    assert "error" in events
    records = await log.calls("c")
    assert [(each.status, each.decision) for each in records] == [("cancelled", NOT_VALID)] * 2
    rows = [row["type"] for row in (await log.read("c")).rows]
    assert rows == ["user", "error", "respond"]


@pytest.mark.parametrize("eager", [True, False])
async def test_a_batch_that_waits_for_approval_drops_the_calls_that_have_begun(eager) -> None:
    bench, log = Bench(), Memory()
    model = Slow(bench, cut(written("read", "secret")), ["fine"])
    agent = Agent(model, tools=bench.tools(), storage=log, calls=CallOptions(eager=eager))
    result = await agent.run("hm", conversation_id="c")
    assert (result.status, [each.name for each in result.waiting]) == ("waiting", ["secret"])
    assert bench.begun_early == ([0] if eager else [])
    assert [each.status for each in await log.calls("c")] == ["waiting", "waiting"]
    bench.journal.clear()
    result = await agent.resume("c", decisions={str(result.waiting[0].id): True})
    assert result.output == "fine"
    assert bench.begun_early == [0, 1]
    assert [each.status for each in await log.calls("c")] == ["success", "success"]


@pytest.mark.parametrize("eager", [True, False])
async def test_calls_that_were_dropped_do_not_count_towards_a_limit(eager) -> None:
    bench = Bench()
    broken = written("read", "read", "read")[:-11] + ", 3]</execute>"
    model = Slow(bench, cut(broken), cut(written("read", "read", "read")), ["fine"])
    agent = Agent(
        model,
        tools=bench.tools(),
        limits=RunLimits(tool_calls=2),
        calls=CallOptions(eager=eager),
        storage=Memory(),
    )
    result = await agent.run("hm")
    assert result.output == "fine"
    statuses = [[each.status for each in step.executions] for step in result.steps]
    assert statuses == [[], ["success", "success", "blocked"], []]
