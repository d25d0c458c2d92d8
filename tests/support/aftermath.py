"""Checks what must hold after every fault, whatever the fault was.

    async with Scene(open_storage(), mode="token") as scene:
        ...  # a fault in a turn of `scene.turns`

Then, at the end of the block:

1. No row that the storage acknowledged is lost: the log has it, as often as it was acknowledged.
2. Every call that started is in the log, and every call there has one result, in call order. Results may be missing
   only if the storage failed to save them, or the program died; even then the next prompt has one for each call.
   In the table of calls, calls with a result are settled and the others are open.
3. No task and no thread is left, and the event loop has reported nothing.
4. The next turn works.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from cogency_rs import SQLite, ToolResult, parse_tokens
from cogency_rs._core import Folding, FoldOptions
from cogency_rs.calls.record import CallRecord
from cogency_rs.execution import worker_threads
from cogency_rs.storage.log import is_log
from support.begun import is_dropped, is_eager
from support.tools import INJECTED, FunctionTool, block, rounds, stored, with_tools
from support.turns import (
    CONVERSATION,
    USER,
    BatchLog,
    Log,
    Row,
    accumulator,
    carry_out,
    check_answered,
)
from support.waiting import until

# Storages


def on_disk(folder: Path) -> SQLite:
    """A log in a file, which need not survive a power failure."""
    return SQLite(folder / "store.db", synchronous="OFF")


def in_memory(_: Path | None = None) -> SQLite:
    return SQLite(":memory:")


SQLITE_STORAGES = [on_disk, in_memory]
"""A SQLite log in each of its places."""

STORAGE_KINDS: dict[str, Callable[[Path], Any]] = {
    "row by row": lambda _: Log(before=1, after=1),
    "in batches": lambda _: BatchLog(before=1, after=1),
    "SQLite": in_memory,
}
"""A storage of every kind of interface; the saves of a `Log` wait, before and after the rows are in it."""

Fault = Callable[[int], BaseException | None]
"""Gets the number of a save, from 1; returns what to raise, or `None`."""


def no_fault(_: int) -> None:
    return None


class Witness:
    """A storage with only `save_message`, which notes the rows that it acknowledged and those that it did not.

    Args:
        storage: saves the rows.
        before: what a save raises instead of saving.
        after: what a save raises after the rows were saved.
    """

    def __init__(self, storage: Any, before: Fault = no_fault, after: Fault = no_fault) -> None:
        self.inner = storage
        self.before, self.after = before, after
        self.saves = 0
        self.has_failed = False
        self.acknowledged: list[Row] = []
        self.unconfirmed: list[Row] = []

    async def save_message(self, *row: Any) -> Any:
        return await self._save([Row(*row)], lambda: self.inner.save_message(*row))

    async def _save(self, rows: list[Row], save: Callable[[], Awaitable[Any]]) -> Any:
        self.saves += 1
        number = self.saves
        self.unconfirmed += rows
        try:
            if error := self.before(number):
                raise error
            saved = await save()
            if error := self.after(number):
                raise error
        except Exception:
            self.has_failed = True
            raise
        for row in rows:
            self.unconfirmed.remove(row)
        self.acknowledged += rows
        return saved


class BatchWitness(Witness):
    """A `Witness` that also has `save_messages`."""

    async def save_messages(self, rows: Iterable[Iterable[Any]]) -> Any:
        rows = [Row(*row) for row in rows]
        return await self._save(rows, lambda: self.inner.save_messages(rows))


class LogWitness(BatchWitness):
    """A `Witness` that has all of the protocol `Log`."""

    async def append(
        self, conversation_id: str, *, user_id: str, rows: Any, calls: Any = ()
    ) -> Any:
        whole = [Row(conversation_id, user_id, *row) for row in rows]
        save = partial(self.inner.append, conversation_id, user_id=user_id, rows=rows, calls=calls)
        if not rows and {call.status for call in calls} == {"ended"}:
            # As often as calls end apart, so it is not counted. It fails with the save after it, and nothing is lost.
            if error := self.before(self.saves + 1):
                raise error
            return await save()
        return await self._save(whole, save)

    async def read(self, conversation_id: str, **options: Any) -> Any:
        return await self.inner.read(conversation_id, **options)

    async def calls(self, conversation_id: str, **options: Any) -> Any:
        return await self.inner.calls(conversation_id, **options)

    def claim(self, conversation_id: str, **options: Any) -> Any:
        return self.inner.claim(conversation_id, **options)


def witness_of(storage: Any, **faults: Fault) -> Witness:
    if is_log(storage):
        return LogWitness(storage, **faults)
    kind = BatchWitness if hasattr(type(storage), "save_messages") else Witness
    return kind(storage, **faults)


async def rows_in(storage: Any) -> list[Row]:
    """The rows of the log, each with its true time; if it is a file, they are read from it, not through the storage."""
    if isinstance(storage, Log):
        return storage.rows
    if storage.db_path == ":memory:":
        page = await storage.read(CONVERSATION, user_id=USER)
        return [
            Row(
                *(CONVERSATION, USER, row["type"], row["content"]),
                row.get("written_at", row["timestamp"]),
            )
            for row in page.rows
        ]
    return rows_in_file(storage.db_path)


def rows_in_file(path: Any) -> list[Row]:
    if not Path(path).exists():
        return []
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages'").fetchone():
            return []
        columns = ", ".join(Row._fields).replace("timestamp", "COALESCE(written_at, timestamp)")
        found = connection.execute(
            f"SELECT {columns} FROM messages ORDER BY conversation_id, rowid"
        ).fetchall()
        by_time = connection.execute(
            f"SELECT {columns} FROM messages ORDER BY conversation_id, timestamp"
        ).fetchall()
        assert found == by_time, "the stored times are not in the order of the rows"
        return [Row(*row) for row in found]


# Tools

KINDS = ["async", "plain", "blocking"]
"""A coroutine function, a plain function, and a coroutine function that is marked as blocking."""


@dataclass(frozen=True)
class Does:
    """What a tool does as a coroutine function, and as a plain function, which gets `Calls.release`."""

    awaits: Callable[[], Awaitable[Any]]
    blocks: Callable[[threading.Event], Any]


def does(action: Callable[[], Any]) -> Does:
    """What a tool does if both its functions do the same; the coroutine function waits a little first."""

    async def awaits() -> Any:
        await rounds(1)
        return action()

    return Does(awaits, lambda _: action())


GOOD = does(lambda: ToolResult("good"))


@dataclass
class Calls:
    """How the calls of a scene went.

    Attributes:
        started: the calls that started, as the log holds them.
        running: how many calls have not ended.
        release: set when the scene is over.
    """

    started: list[str] = field(default_factory=list)
    running: int = 0
    release: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tool(self, kind: str, name: str, what: Does) -> Any:
        """Make a tool of one of the `KINDS` that does `what`."""

        async def awaits(**arguments: Any) -> Any:
            self._begin(name, arguments)
            try:
                return await what.awaits()
            finally:
                self._end()

        def blocks(**arguments: Any) -> Any:
            self._begin(name, arguments)
            try:
                return what.blocks(self.release)
            finally:
                self._end()

        tool = FunctionTool(name, blocks if kind == "plain" else awaits)
        tool.blocking = kind == "blocking"
        return tool

    def _begin(self, name: str, arguments: dict[str, Any]) -> None:
        own = {key: value for key, value in arguments.items() if key not in INJECTED}
        with self._lock:
            self.started.append(stored(name, **own))
            self.running += 1

    def _end(self) -> None:
        with self._lock:
            self.running -= 1


# The check


class Scene:
    """A conversation in which something goes wrong.

    Args:
        storage: a `SQLite`, which is closed at the end, or a `Log`.
        mode: "event" or "token".
        kind: the kind of its tools, one of `KINDS`.
        tools: what the tools do, by name; `good`, which succeeds, is added to them.
        before: see `Witness`.
        after: see `Witness`.
        options: options of the accumulator.

    Attributes:
        log: the storage, as the accumulator and the tools see it.
        calls: how the calls went.
        turns: the accumulator.
        has_died: set by a test that ends the program or its event loop: then results may be missing in the log, and the
            tasks are gone with their loop.
        tolerates: messages that the event loop may report.
        note: where in the turn the fault was, for the report of a failed test.
    """

    def __init__(
        self,
        storage: Any,
        *,
        mode: str = "event",
        kind: str = "async",
        tools: dict[str, Does] | None = None,
        before: Fault = no_fault,
        after: Fault = no_fault,
        **options: Any,
    ) -> None:
        self.log = witness_of(storage, before=before, after=after)
        self.calls = Calls()
        behaviours = {"good": GOOD, **(tools or {})}
        made = [self.calls.tool(kind, name, what) for name, what in behaviours.items()]
        self.turns = accumulator(
            with_tools(*made, storage=self.log), stream=mode, **{"max_failures": 99, **options}
        )
        self.has_died = False
        self.tolerates: set[str] = set()
        self.note = ""
        self._threads = threads()
        self._tasks: set[Any] = set()
        self._reported: list[tuple[str, str]] = []

    async def __aenter__(self) -> Self:
        self._tasks = asyncio.all_tasks()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._report)
        return self

    def _report(self, _: object, context: dict[str, Any]) -> None:
        # As text: a reference would keep the task alive, and from Python 3.14 on `asyncio.all_tasks` would return it.
        self._reported.append((context["message"], repr(context)))

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.calls.release.set()
        try:
            if error is None:
                await self.check()
                await self._close()
                await until(lambda: threads() <= self._threads, "a thread is left")
        except BaseException as failed:
            error = failed
            raise
        finally:
            if error is not None:
                error.add_note(self.note)
                await self._close()

    async def _close(self) -> None:
        if isinstance(self.log.inner, SQLite):
            await self.log.inner.close()

    async def quiet(self) -> None:
        """Wait until the event loop has done what is left to do, such as closing dropped generators."""
        await rounds(5)
        await until(lambda: self._others() == set(), "a task is left")

    def _others(self) -> set[Any]:
        return asyncio.all_tasks() - self._tasks - {asyncio.current_task()}

    async def rows(self) -> list[Row]:
        """The rows that the log has now."""
        return await rows_in(self.log.inner)

    async def check(self) -> None:
        """Fail unless everything holds that must hold."""
        assert self._others() == set(), "a task is left"
        reported = [text for message, text in self._reported if message not in self.tolerates]
        assert reported == []
        assert pool_threads() <= worker_threads(), "too many threads"
        await until(lambda: self.calls.running == 0, "a tool still runs")
        if isinstance(self.log.inner, SQLite):
            # A save whose caller was cancelled may still be under way.
            await self.log.inner.delete_profile("a write after all others")
        rows = await self.rows()
        records: list[CallRecord] = []
        if is_log(self.log.inner):
            records = await self.log.inner.calls(CONVERSATION)
        early = [each for each in records if is_dropped(each) or each.status == "early"]
        # Only a table of calls, which such a storage does not have, shows the calls that began early and were dropped.
        started = None if is_eager() and not is_log(self.log.inner) else self.calls.started
        check_log(rows, self.log.acknowledged, started or (), [each.name for each in early])
        unsure = any(row.type in {"call", "result"} for row in self.log.unconfirmed)
        if not (self.has_died or unsure):
            check_answered(rows)
        if is_log(self.log.inner):
            here = [row for row in rows if row.conversation_id == CONVERSATION]
            check_calls(here, [each for each in records if each not in early])
            assert self.has_died or self.log.has_failed or all(map(is_dropped, early))
        self.log.before = self.log.after = no_fault
        await self._next_turn(rows)

    async def _next_turn(self, before: list[Row]) -> None:
        events = await carry_out(self.turns, parse_tokens(f"on{block('good', 'good')}"))
        ignored = {"respond", "starts", "is over"}
        assert [event["type"] for event in events if event["type"] not in ignored] == [
            *("call", "call", "execute", "result")
        ]
        rows = await self.rows()
        assert len(rows) == len(before) + 4
        check_log(rows, self.log.acknowledged)
        [(tools, results)] = answers(row for row in rows if row not in before)
        assert (tools, len(results)) == (["good"] * 2, 2)


def check_log(
    rows: list[Row],
    acknowledged: Iterable[Row],
    started: Iterable[str] = (),
    dropped: Iterable[str] = (),
) -> None:
    """Fail if a row is missing, a started call is not in the log, or a call has no result in the next prompt.

    Args:
        rows: those of the log.
        acknowledged: those that were saved.
        started: the calls that started.
        dropped: the names of calls that began early and have no row.
    """
    lost = Counter(acknowledged) - Counter(rows)
    assert not lost, "rows were acknowledged and are not in the log"
    unsaved = Counter(started) - Counter(row.content for row in rows if row.type == "call")
    names = Counter(json.loads(call)["name"] for call in unsaved.elements())
    assert not names - Counter(dropped), "calls started that are not in the log"
    shown = answers(rows)
    assert sum(len(tools) for tools, _ in shown) == sum(row.type == "call" for row in rows)
    for tools, results in shown:
        assert [item["tool"] for item in results] == tools
        assert {item["status"] for item in results} <= {"success", "failure"}


def check_calls(rows: Iterable[Row], calls: Iterable[CallRecord]) -> None:
    """Fail unless the table has every call of the log, unsettled until its results are in the log.

    A call whose result is saved before those of its batch has `ended`.
    """
    expected: list[tuple[str, bool]] = []
    for row in rows:
        if row.type == "call":
            expected.append((json.loads(row.content)["name"], True))
        elif row.type == "result":
            expected = [(name, False) for name, _ in expected]
    assert [(call.name, call.status in {"open", "ended"}) for call in calls] == expected
    assert len({call.id for call in calls}) == len(expected)
    for call in calls:
        assert (call.completed_at is None) == (call.status == "open")


def answers(rows: Iterable[Row]) -> list[tuple[list[str], list[dict[str, Any]]]]:
    """For each batch that the next prompt shows, the names of the called tools, and their results."""
    folding = Folding(FoldOptions())
    folding.extend(row._asdict() for row in rows)
    shown = [message["content"] for message in folding.messages()]
    return [
        ([call["name"] for call in _within("execute", asked)], _within("results", answer))
        for asked, answer in pairwise([*shown, ""])
        if asked.endswith("\n</execute>")
    ]


def _within(tag: str, text: str) -> Any:
    found = re.search(f"<{tag}>\n(.*)\n</{tag}>$", text, re.DOTALL)
    assert found, f"no <{tag}> in {text[:200]!r}"
    return json.loads(found[1])


def pool_threads() -> int:
    """How many threads there are for tools that block."""
    return sum(is_worker(thread) for thread in threading.enumerate())


def threads() -> set[threading.Thread]:
    """The threads that Python knows, without those of the core's pool, which is bounded and stays."""
    return {thread for thread in threading.enumerate() if not is_worker(thread)}


def is_worker(thread: threading.Thread) -> bool:
    return thread.name.startswith("cogency-rs-")
