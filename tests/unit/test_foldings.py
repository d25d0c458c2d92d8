"""A second prompt folds only the new rows, and is the same as one made from all rows."""

import gc
import json
import sqlite3
import threading
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, strategies as st

from cogency_rs import History, SQLite, assemble
from cogency_rs._core import FoldOptions
from cogency_rs.context import foldings, history as history_module, to_messages
from cogency_rs.context.assembly import StoredRows
from cogency_rs.context.history import Pin
from cogency_rs.errors import ConfigError
from cogency_rs.storage import CallRecord
from support.conversations import UNMERGED
from support.examples import examples
from support.memory_log import MemoryLog

CALL = json.dumps({"name": "t", "args": {"x": 1}, "id": "i"})
RESULT = json.dumps([{"tool": "t", "status": "success", "content": "ok"}])
INTERRUPTED = '[{"tool": "t", "status": "failure", "content": "Interrupted before completion"}]'


async def assembled(storage, user="u", conversation="c", history=UNMERGED):
    messages = await assemble(user, conversation, tools=[], storage=storage, history=history)
    return messages[1:]


class Unkept:
    """A storage with the same rows, which are loaded and folded whole for each prompt."""

    def __init__(self, storage):
        self.load_messages = storage.load_messages


@pytest.fixture
async def storage(tmp_path):
    async with SQLite(tmp_path / "store.db") as storage:
        yield storage


@pytest.fixture
def folded_rows(monkeypatch):
    """Notes every row that is folded."""
    rows, folding = [], foldings.Folding

    class Folding:
        def __init__(self, options):
            self.inner = folding(options)
            self.messages = self.inner.messages

        def extend(self, events):
            events = list(events)
            rows.extend(event["content"] for event in events)
            self.inner.extend(events)

    monkeypatch.setattr(foldings, "Folding", Folding)
    return rows


# Mostly in the order in which they came, and mostly one user's; a short turn has three rows.
times = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 5))
row = st.tuples(
    st.sampled_from(["user", "user", "respond", "respond", "think", "call", "result", "cancelled"]),
    times,
    st.sampled_from(["u", "u", "u", "v"]),
)
rows = st.lists(row, min_size=1, max_size=6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("save"), rows),
        st.tuples(st.just("elsewhere"), rows),
        st.tuples(st.just("delete"), st.integers(0, 3)),
        st.tuples(st.just("assemble"), st.sampled_from(["u", "v", ""])),
        st.tuples(st.just("begin a run"), st.sampled_from(["u", "v", ""])),
        st.tuples(st.just("go on"), st.none()),
        st.tuples(st.just("go on"), st.none()),
    ),
    max_size=25,
)


class Run:
    """The prompts of one run, each of which begins where its first one did."""

    def __init__(self, storage, user, history, form):
        self.rows = StoredRows(storage, user, "c")
        self.history, self.form, self.pin = history, form, Pin()

    async def prompt(self):
        return (await self.history.load(self.rows, FoldOptions(form=self.form), self.pin))[1]


@examples(150, suppress_health_check=list(HealthCheck))
@given(
    steps,
    st.booleans(),
    st.sampled_from([10_000, 9, 4]),
    st.sampled_from(["text", "native", "react"]),
    st.sampled_from([foldings.FEW_ROWS, 2]),
)
def test_a_prompt_from_a_kept_folding_is_the_same_as_one_from_all_rows(
    tmp_path_factory, steps, merge_roles, most, form, few
):
    import asyncio

    history = History(merge_roles=merge_roles)

    async def main():
        path = tmp_path_factory.mktemp("foldings") / "store.db"
        async with SQLite(path, synchronous="OFF") as storage:
            for kind in ("user", "respond", "user", "call", "result", "respond", "user", "respond"):
                content = {"call": CALL, "result": RESULT}.get(kind, f"first {kind}")
                await storage.save_message("c", "u", kind, content, 0.0)
            runs = [Run(each, "u", history, form) for each in (storage, Unkept(storage))]
            with closing(sqlite3.connect(path, isolation_level=None)) as other_connection:
                for number, (step, argument) in enumerate(steps):
                    match step:
                        case "assemble":
                            assert await assembled(
                                storage, argument, history=history
                            ) == await assembled(Unkept(storage), argument, history=history)
                        case "begin a run" | "go on":
                            if step == "begin a run":
                                runs = [
                                    Run(each.rows.storage, argument, history, form) for each in runs
                                ]
                            kept, unkept = [await run.prompt() for run in runs]
                            assert kept == unkept
                        case "delete":
                            other_connection.execute(
                                "DELETE FROM messages WHERE rowid IN (SELECT rowid FROM messages LIMIT ?)",
                                (argument,),
                            )
                        case _:
                            for place, (kind, time, user) in enumerate(argument):
                                text = f"{number}.{place}"
                                content = {"call": CALL, "result": RESULT}.get(kind, text)
                                at = 10.0 + number if time is None else float(time)
                                if step == "save":
                                    await storage.save_message("c", user, kind, content, at)
                                else:
                                    other_connection.execute(
                                        "INSERT INTO messages (message_id, conversation_id, user_id,"
                                        " type, content, timestamp) VALUES (?, 'c', ?, ?, ?, ?)",
                                        (f"id {text}", user, kind, content, at),
                                    )
            assert await assembled(storage, history=history) == await assembled(
                Unkept(storage), history=history
            )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_module, "MOST_ROWS", most)
        patch.setattr(foldings, "FEW_ROWS", few)
        asyncio.run(main())


async def test_only_new_rows_are_folded(storage, folded_rows):
    for number in range(5):
        await storage.save_message("c", "u", "user", str(number))
    await assembled(storage)
    await storage.save_message("c", "u", "respond", "5")
    del folded_rows[:]
    await assembled(storage)
    assert folded_rows == ["5"]


async def test_only_messages_after_the_last_settled_question_are_merged_again(storage, monkeypatch):
    merges, merged = [], foldings.merged

    def noted(messages):
        merges.append([message["content"] for message in messages])
        return merged(messages)

    for kind, content in [("user", "1"), ("respond", "2"), ("call", CALL), ("result", RESULT)]:
        await storage.save_message("c", "u", kind, content)
    await storage.save_message("c", "u", "user", "more")
    first = await assembled(storage, history=History())
    assert [message["role"] for message in first] == ["user", "assistant", "user"]
    assert first[2]["content"].endswith("\n\nmore")
    await storage.save_message("c", "u", "respond", "3")
    monkeypatch.setattr(foldings, "merged", noted)
    assert (await assembled(storage, history=History()))[:3] == first
    assert merges == [[first[2]["content"].removesuffix("\n\nmore"), "more", "3"]]


async def test_a_row_with_an_older_time_follows_and_costs_one_row(storage, folded_rows):
    await storage.save_message("c", "u", "user", "first", 2.0)
    await assembled(storage)
    await storage.save_message("c", "u", "user", "second", 1.0)
    assert [message["content"] for message in await assembled(storage)] == ["first", "second"]
    assert folded_rows == ["first", "second"]


async def test_rows_of_one_time_keep_their_order(storage):
    for number in range(4):
        await storage.save_message("c", "u", "user", str(number), 1.0)
        contents = [message["content"] for message in await assembled(storage)]
        assert contents == [str(number) for number in range(number + 1)]


async def test_a_deleted_conversation_is_empty_and_may_begin_again(storage):
    await storage.save_message("c", "u", "user", "old", 1.0)
    await assembled(storage)
    with closing(sqlite3.connect(storage.db_path, isolation_level=None)) as other_connection:
        other_connection.execute("DELETE FROM messages")
    assert await assembled(storage) == []
    await storage.save_message("c", "u", "user", "new", 1.0)
    assert await assembled(storage) == [{"role": "user", "content": "new"}]


async def test_the_caller_may_change_the_messages(storage):
    await storage.save_message("c", "u", "user", "hello")
    messages = await assembled(storage)
    messages[0]["content"] = "changed"
    messages.append({"role": "user", "content": "added"})
    assert await assembled(storage) == [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(("bound", "most"), [("CONVERSATIONS", 2), ("CHARACTERS", 10)])
async def test_the_least_recently_used_conversation_is_dropped(
    storage, folded_rows, monkeypatch, bound, most
):
    monkeypatch.setattr(foldings, bound, most)
    for name in "abc":
        await storage.save_message(name, "u", "user", f"hi, {name}")
    for name in "abc":
        await assembled(storage, conversation=name)
    del folded_rows[:]
    await assembled(storage, conversation="c")
    assert folded_rows == []
    await assembled(storage, conversation="a")
    assert folded_rows == ["hi, a"]


async def test_memory_storage_is_folded_too():
    async with SQLite(":memory:") as storage:
        await storage.save_message("c", "u", "user", "hello")
        assert await assembled(storage) == [{"role": "user", "content": "hello"}]


async def test_a_storage_that_overrides_load_messages_is_read_through_it(tmp_path):
    class Loud(SQLite):
        async def load_messages(self, *args, **kwargs):
            rows = await super().load_messages(*args, **kwargs)
            return [{**row, "content": row["content"].upper()} for row in rows]

    async with Loud(tmp_path / "store.db") as storage:
        await storage.save_message("c", "u", "user", "hello")
        assert await assembled(storage) == [{"role": "user", "content": "HELLO"}]


async def test_a_call_that_is_not_json_is_shown_as_it_is(storage):
    await storage.save_message("c", "u", "call", "no json")
    for _ in range(2):
        assert await assembled(storage) == [{"role": "assistant", "content": "no json"}]


# After a process that died between calls and their results

CALLS = [("user", "go"), ("respond", "so"), ("call", CALL)]


@pytest.mark.parametrize("after", [[], [("user", "and?")]], ids=["at the end", "before a user"])
async def test_calls_without_results_are_shown_with_a_failure_each(storage, after):
    for kind, content in [*CALLS, *after]:
        await storage.save_message("c", "u", kind, content)
    messages = await assembled(storage)
    assert [message["role"] for message in messages[:3]] == ["user", "assistant", "user"]
    assert messages[1]["content"].startswith("so\n<execute>")
    assert messages[2]["content"] == f"<results>\n{INTERRUPTED}\n</results>"
    assert messages[3:] == [{"role": "user", "content": content} for _, content in after]


async def test_results_that_come_later_replace_the_failures(storage):
    for kind, content in CALLS:
        await storage.save_message("c", "u", kind, content)
    await assembled(storage)
    await storage.save_message("c", "u", "result", RESULT)
    messages = await assembled(storage)
    assert messages[2:] == [{"role": "user", "content": f"<results>\n{RESULT}\n</results>"}]


async def test_a_batch_after_one_without_results_keeps_its_own_results(storage):
    """The first batch has no results, as if saving them had failed and the program had gone on."""
    for kind, content in [*CALLS, ("respond", "again"), ("call", CALL), ("result", RESULT)]:
        await storage.save_message("c", "u", kind, content)
    messages = await assembled(storage)
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    items = json.loads(messages[2]["content"].removeprefix("<results>").removesuffix("</results>"))
    assert items == json.loads(INTERRUPTED) + json.loads(RESULT)


async def test_a_window_shows_calls_without_results_too(storage):
    for kind, content in CALLS:
        await storage.save_message("c", "u", kind, content)
    messages = await assemble("u", "c", tools=[], storage=storage, history_window=2)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]


def test_to_messages_drops_calls_without_results_as_cogency_does():
    events = [{"type": kind, "content": content} for kind, content in CALLS]
    assert [message["content"] for message in to_messages(events)] == ["go", "so"]


# Any storage


class CountingLog(MemoryLog):
    def __init__(self):
        super().__init__()
        self.pages = []

    async def read(self, conversation_id, *, user_id="", after=None):
        page = await super().read(conversation_id, user_id=user_id, after=after)
        self.pages.append((len(page.rows), page.is_whole))
        return page


async def test_any_log_is_asked_only_for_new_rows(folded_rows):
    log = CountingLog()
    for number in range(3):
        await log.append("c", user_id="u", rows=[("user", str(number), float(number))])
        contents = [message["content"] for message in await assembled(log)]
        assert contents == [str(n) for n in range(number + 1)]
    assert log.pages == [(1, True), (1, False), (1, False)]
    assert folded_rows == ["0", "1", "2"]


async def test_a_whole_page_replaces_the_kept_folding():
    log = CountingLog()
    await log.append("c", user_id="u", rows=[("user", "old", 1.0), ("respond", "old too", 2.0)])
    await assembled(log)
    await log.delete_conversation("c")
    await log.append("c", user_id="u", rows=[("user", "new", 1.0)])
    assert [message["content"] for message in await assembled(log)] == ["new"]


async def test_a_storage_without_positions_is_told_what_to_add():
    class Old(MemoryLog):
        async def read(self, *args, **options):
            page = await super().read(*args, **options)
            for row in page.rows:
                del row["position"]
            return page

    log = Old()
    await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
    with pytest.raises(ConfigError, match=r'Old.*add.*"position".*commit'):
        await assembled(log)


async def test_an_object_with_read_that_is_not_a_log_is_read_through_load_messages():
    class File:
        def read(self):
            raise AssertionError("it is not a log")

        async def load_messages(self, *_, **__):
            return [{"type": "user", "content": "hello"}]

    assert await assembled(File()) == [{"role": "user", "content": "hello"}]


async def test_foldings_with_different_options_are_kept_apart(storage):
    row = json.dumps([{"tool": "t", "status": "success", "content": "<b>"}])
    for kind, content in [("user", "go"), ("call", CALL), ("result", row)]:
        await storage.save_message("c", "u", kind, content)
    for escape_tags in (False, True, False, True):
        messages = await assemble("u", "c", tools=[], storage=storage, escape_tags=escape_tags)
        assert ("<b>" in messages[-1]["content"]) is not escape_tags


async def test_the_kept_foldings_of_a_storage_are_dropped_with_it():
    log = MemoryLog()
    await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
    await assembled(log)
    key = id(log)
    assert key in foldings._kept
    del log
    gc.collect()
    assert key not in foldings._kept


async def test_a_log_without_weak_references_is_folded_whole_each_time():
    class Bare:
        __slots__ = ("inner",)

        def __init__(self, inner):
            self.inner = inner

        append = calls = claim = None

        async def read(self, *args, **options):
            assert options["after"] is None
            return await self.inner.read(*args, **options)

    log = MemoryLog()
    await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
    for _ in range(2):
        assert await assembled(Bare(log)) == [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("rows", "off_the_loop"), [(foldings.FEW_ROWS, False), (foldings.FEW_ROWS + 1, True)]
)
async def test_many_rows_are_folded_off_the_event_loop(monkeypatch, rows, off_the_loop):
    on_main_thread, folding = set(), foldings.Folding

    class Folding:
        def __init__(self, options):
            self.inner = folding(options)
            self.messages = self.inner.messages

        def extend(self, events):
            on_main_thread.add(threading.current_thread() is threading.main_thread())
            self.inner.extend(events)

    monkeypatch.setattr(foldings, "Folding", Folding)
    log = MemoryLog()
    await log.append("c", user_id="u", rows=[("user", str(n), float(n)) for n in range(rows)])
    assert len(await assembled(log)) == rows
    assert on_main_thread == {not off_the_loop}


async def test_many_messages_are_merged_off_the_event_loop(monkeypatch):
    on_main_thread, merged = [], foldings.merged

    def noted(messages):
        on_main_thread.append((threading.current_thread() is threading.main_thread(), messages))
        return merged(messages)

    monkeypatch.setattr(foldings, "merged", noted)
    log = MemoryLog()
    kinds = ["user", "respond"] * 1000
    rows = [(kind, str(number), float(number)) for number, kind in enumerate(kinds)]
    await log.append("c", user_id="u", rows=rows)
    assert len(await assembled(log, history=History())) == len(rows)
    assert (
        sum(len(messages) for is_main, messages in on_main_thread if is_main) <= foldings.FEW_ROWS
    )


async def test_ids_of_records_are_loaded_only_for_calls_that_lack_one():
    loaded = []

    class Log(MemoryLog):
        async def calls(self, conversation_id, *, user_id=""):
            loaded.append(user_id)
            return [CallRecord(id="r", batch="b", position=0, name="t")]

    log, options = Log(), FoldOptions(form="native")
    conversation = StoredRows(log, "u", "c")
    bare = json.dumps({"name": "t", "args": {}})
    for call, ids, loads in [
        (CALL, ["i"], 0),
        (bare, ["i", "r"], 1),
        (CALL, ["i", "r", "call00002"], 1),
    ]:
        await log.append("c", user_id="u", rows=[("user", "?", 1.0), ("call", call, 1.0)])
        for _ in range(2):
            messages = (await History().load(conversation, options))[1]
            shown = [call["id"] for each in messages for call in each.get("tool_calls", ())]
            assert (shown, len(loaded)) == (ids, loads)
