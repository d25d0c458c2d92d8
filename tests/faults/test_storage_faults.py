"""The storage raises at its n-th save, or at the n-th statement inside SQLite, for every n."""

from __future__ import annotations

import itertools
import json
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from cogency_rs import assemble, parse_tokens
from cogency_rs.errors import StorageError
from cogency_rs.storage.sqlite import connection, writer
from support.aftermath import KINDS, SQLITE_STORAGES, Scene, on_disk
from support.tools import FAIL, OK, FunctionTool, block, stored, with_tools
from support.turns import (
    CONVERSATION,
    FULL_TURN,
    LOGS,
    MODES,
    USER,
    Chunks,
    Log,
    accumulator,
    carry_out,
    check_answered,
    event,
    results_in,
    types,
)
from support.ways import in_both_ways, only_at_the_end

pytestmark = [in_both_ways, pytest.mark.timeout(60)]


# A storage that fails at its n-th save, for every n


def once(at: int, error: BaseException):
    return lambda attempt: error if attempt == at else None


def from_then_on(at: int, error: BaseException):
    """After `error`, raise further errors of its kind."""
    return lambda attempt: error if attempt == at else OSError(attempt) if attempt > at else None


@dataclass
class BrokenTurn:
    """A turn in which save number `at` failed with `error`, and which raised `raised`."""

    at: int
    error: BaseException
    raised: BaseException | None
    log: Log
    source: Chunks


async def broken_turns(mode: str, kind: type[Log], fails: Any) -> list[BrokenTurn]:
    turns = []
    for at in itertools.count(1):
        error = OSError("disk full")
        log = kind(fault=fails(at, error))
        source = Chunks("<think>hm</think>so", block("ok", "fail"))
        work = accumulator(with_tools(OK, FAIL, storage=log), stream=mode)
        raised = None
        try:
            await carry_out(work, parse_tokens(source), log.journal)
        except Exception as caught:
            raised = caught
        if log.attempts < at:
            break
        turns.append(BrokenTurn(at, error, raised, log, source))
    assert len(turns) > 2
    return turns


on_every_storage = pytest.mark.parametrize("kind", LOGS)
in_both_modes = pytest.mark.parametrize("mode", MODES)
however_often = pytest.mark.parametrize("fails", [once, from_then_on])


@however_often
@on_every_storage
@in_both_modes
async def test_an_error_of_the_storage_is_raised_by_the_turn(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        assert turn.raised is turn.error, f"save {turn.at}"


@however_often
@on_every_storage
@in_both_modes
async def test_no_results_are_saved_without_their_calls(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        rows = turn.log.rows
        asked = [json.loads(row.content)["name"] for row in rows if row.type == "call"]
        for array in results_in(rows):
            assert [item["tool"] for item in array] == asked, f"save {turn.at}"


@on_every_storage
@in_both_modes
async def test_saved_calls_have_their_results_even_if_the_next_save_failed(mode, kind):
    *turns, results_failed = await broken_turns(mode, kind, once)
    assert types(results_failed.log.rows) == ["think", "respond", "call", "call"]
    for turn in turns:
        check_answered(turn.log.rows)


@however_often
@on_every_storage
@in_both_modes
async def test_an_event_whose_row_could_not_be_saved_is_not_emitted(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        saved = {entry[1:] for entry in turn.log.journal if entry[0] == "saved"}
        for what, type, content in turn.log.journal:
            streams = mode == "token" and type in {"think", "respond"}
            if what == "emitted" and content is not None and not streams:
                assert (type, content) in saved, f"save {turn.at}"


@however_often
@on_every_storage
@in_both_modes
async def test_the_source_is_closed_when_the_storage_fails(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        assert turn.source.closed == 1, f"save {turn.at}"


@on_every_storage
@in_both_modes
async def test_the_turn_after_an_error_of_the_storage_works(mode, kind):
    log = kind(fault=once(1, OSError("disk full")))
    turns = accumulator(with_tools(OK, FAIL, storage=log), stream=mode)
    with pytest.raises(OSError, match="disk full"):
        await carry_out(turns, parse_tokens(FULL_TURN))
    del log.saves[:]
    await carry_out(turns, parse_tokens(FULL_TURN))
    assert types(log.rows) == ["think", "respond", "call", "call", "result"]


@only_at_the_end("these storages keep no records, so a call that begins early is not in them")
@pytest.mark.parametrize("kind", LOGS)
async def test_a_call_that_could_not_be_saved_does_not_run(kind):
    ran: list[bool] = []
    log = kind(fault=once(1, OSError("disk full")))
    turns = accumulator(with_tools(FunctionTool("t", lambda **_: ran.append(True)), storage=log))
    with pytest.raises(OSError, match="disk full"):
        await carry_out(turns, parse_tokens(block("t", "t")))
    assert ran == []


@however_often
@on_every_storage
async def test_a_foreign_source_is_closed_when_the_storage_fails(kind, fails):
    for at in itertools.count(1):
        log = kind(fault=fails(at, OSError("disk full")))
        call_event = event("call", stored("ok"))
        source = Chunks(
            event("think", "hm"), call_event, call_event, event("execute"), event("end")
        )
        with suppress(OSError):
            await carry_out(accumulator(with_tools(OK, storage=log)), source)
        assert source.closed == 1, f"save {at}"
        if log.attempts < at:
            break
    assert at > 2


# SQLite, with tools of every kind


MOMENTS = {
    "before its rows are saved": lambda fails: {"before": fails},
    "after its rows are saved": lambda fails: {"after": fails},
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@however_often
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("storage", SQLITE_STORAGES)
@in_both_modes
async def test_a_save_that_fails_loses_nothing(mode, storage, kind, fails, moment, tmp_path):
    for at in itertools.count(1):
        error = OSError("disk full")
        async with Scene(
            storage(tmp_path / str(at)), mode=mode, kind=kind, **moment(fails(at, error))
        ) as scene:
            source = Chunks("<think>hm</think>so", block("good", "good"))
            raised = None
            try:
                await carry_out(scene.turns, parse_tokens(source))
            except OSError as caught:
                raised = caught
            assert raised is (error if scene.log.saves >= at else None)
            assert source.closed == 1
        if raised is None:
            break
    assert at > 3


class Statements:
    """Counts the statements of SQLite, and fails at the n-th one.

    Args:
        at: the number of the statement that fails.
        stays: whether all later statements fail too.

    Attributes:
        over: set by a test when no further statement is counted or fails.
    """

    def __init__(self, at: int, *, stays: bool) -> None:
        self._at, self._stays = at, stays
        self.count = 0
        self.over = False

    def connect(self, path: str) -> Any:
        return FailingConnection(connection.connect_to_write(path), self)

    def next(self) -> None:
        if self.over:
            return
        self.count += 1
        if self.count == self._at or (self._stays and self.count > self._at):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error


class FailingConnection:
    """A connection to SQLite whose statements are counted."""

    def __init__(self, inner: connection.Connection, statements: Statements) -> None:
        self._inner, self._statements = inner, statements

    def execute(self, *what: Any) -> Any:
        self._statements.next()
        return self._inner.execute(*what)

    def executemany(self, *what: Any) -> Any:
        self._statements.next()
        return self._inner.executemany(*what)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize("stays", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("storage", SQLITE_STORAGES)
@in_both_modes
async def test_a_statement_that_fails_loses_nothing(mode, storage, stays, tmp_path, monkeypatch):
    for at in itertools.count(1):
        statements = Statements(at, stays=stays)
        monkeypatch.setattr(writer, "connect_to_write", statements.connect)
        async with Scene(storage(tmp_path / str(at)), mode=mode) as scene:
            raised = None
            try:
                await carry_out(
                    scene.turns, parse_tokens(f"<think>hm</think>so{block('good', 'good')}")
                )
            except StorageError as caught:
                raised = caught
            statements.over = True
            assert raised is None or "disk I/O error" in str(raised)
        if statements.count < at:
            assert raised is None
            break
    assert at > 9


@pytest.mark.parametrize("window", [None, 10])
async def test_a_prompt_that_cannot_be_read_can_be_read_later(window, tmp_path, monkeypatch):
    for at in itertools.count(1):
        statements = Statements(at, stays=False)
        monkeypatch.setattr(connection, "connect", statements.connect)
        async with Scene(on_disk(tmp_path / str(at))) as scene:
            await carry_out(scene.turns, parse_tokens(block("good")))
            options = {"tools": [], "storage": scene.log.inner, "history_window": window}
            with suppress(StorageError):
                await assemble(USER, CONVERSATION, **options)
            statements.over = True
            assert len(await assemble(USER, CONVERSATION, **options)) == 3
        if statements.count < at:
            break
    assert at > 1
