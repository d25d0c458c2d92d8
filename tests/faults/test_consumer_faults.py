"""A turn whose storage fails at its n-th save, and one whose consumer leaves, for every n."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from tools import (
    FAIL,
    OK,
    FunctionTool,
    block,
    stored,
    with_tools,
)
from turns import (
    FULL_TURN,
    LOGS,
    MODES,
    Chunks,
    Log,
    accumulator,
    carry_out,
    check_answered,
    event,
    results_in,
    types,
)

from cogency_rs import (
    parse_tokens,
)

pytestmark = pytest.mark.timeout(20)


# A storage that fails at its n-th save, for every n


def once(at: int, error: BaseException):
    return lambda attempt: error if attempt == at else None


def from_then_on(at: int, error: BaseException):
    """After `error`, others of the kind."""
    return lambda attempt: error if attempt == at else OSError(attempt) if attempt > at else None


@dataclass
class BrokenTurn:
    """A turn in which save `at` failed with `error`; `raised` came out of it."""

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
in_both_ways = pytest.mark.parametrize("fails", [once, from_then_on])


@in_both_ways
@on_every_storage
@in_both_modes
async def test_the_storage_s_error_is_the_turn_s(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        assert turn.raised is turn.error, f"save {turn.at}"


@in_both_ways
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
async def test_calls_that_were_saved_have_their_results_also_when_the_next_save_failed(mode, kind):
    *turns, results_failed = await broken_turns(mode, kind, once)
    assert types(results_failed.log.rows) == ["think", "respond", "call", "call"]
    for turn in turns:
        with explained(f"save {turn.at}"):
            check_answered(turn.log.rows)


@in_both_ways
@on_every_storage
@in_both_modes
async def test_nothing_is_emitted_that_could_not_be_saved(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        done = {entry[1:] for entry in turn.log.journal if entry[0] == "saved"}
        for what, type, content in turn.log.journal:
            streams = mode == "token" and type in {"think", "respond"}
            if what == "emitted" and content is not None and not streams:
                assert (type, content) in done, f"save {turn.at}"


@in_both_ways
@on_every_storage
@in_both_modes
async def test_the_source_is_closed_when_the_storage_fails(mode, kind, fails):
    for turn in await broken_turns(mode, kind, fails):
        assert turn.source.closed == 1, f"save {turn.at}"


@on_every_storage
@in_both_modes
async def test_the_turn_after_a_storage_s_error_works(mode, kind):
    log = kind(fault=once(1, OSError("disk full")))
    turns = accumulator(with_tools(OK, FAIL, storage=log), stream=mode)
    with pytest.raises(OSError, match="disk full"):
        await carry_out(turns, parse_tokens(FULL_TURN))
    del log.saves[:]
    await carry_out(turns, parse_tokens(FULL_TURN))
    assert types(log.rows) == ["think", "respond", "call", "call", "result"]


@pytest.mark.parametrize("kind", LOGS)
async def test_a_call_that_could_not_be_saved_does_not_run(kind):
    ran: list[bool] = []
    log = kind(fault=once(1, OSError("disk full")))
    turns = accumulator(with_tools(FunctionTool("t", lambda **_: ran.append(True)), storage=log))
    with pytest.raises(OSError, match="disk full"):
        await carry_out(turns, parse_tokens(block("t", "t")))
    assert ran == []


@in_both_ways
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


# A consumer that leaves early


@pytest.mark.parametrize("leave", ["aclose", "athrow"])
@pytest.mark.parametrize("origin", ["text", "events"])
@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("mode", MODES)
class TestAConsumerThatLeaves:
    """After n events, for every n."""

    async def left_turns(self, mode, kind, origin, leave):
        for count in range(1, 100):
            log = kind(before=1, after=1)
            text = ("<think>hm</think>so", " it", f" is{block('ok', 'fail')}", "more")
            if origin == "text":
                source = Chunks(*text)
                events = parse_tokens(source)
            else:
                source = Chunks(*[item async for item in parse_tokens("".join(text))])
                events = source
            turns = accumulator(with_tools(OK, FAIL, storage=log), stream=mode)
            stream = turns.process(events)
            seen = []
            for _ in range(count):
                try:
                    seen.append((await anext(stream))["type"])
                except StopAsyncIteration:
                    return
            if leave == "aclose":
                await stream.aclose()
            else:
                with pytest.raises(ValueError, match="enough"):
                    await stream.athrow(ValueError("enough"))
            yield seen, log, source
        pytest.fail("the turn has no end")

    async def test_every_call_in_the_log_has_one_result(self, mode, kind, origin, leave):
        async for seen, log, _ in self.left_turns(mode, kind, origin, leave):
            with explained(seen):
                check_answered(log.rows)

    async def test_calls_that_did_not_run_are_cancelled(self, mode, kind, origin, leave):
        async for seen, log, _ in self.left_turns(mode, kind, origin, leave):
            ran = ["ok", "it failed"] if "result" in seen else ["Cancelled", "Cancelled"]
            for array in results_in(log.rows):
                assert [item.get("outcome", item["content"]) for item in array] == ran, seen

    async def test_the_source_is_closed(self, mode, kind, origin, leave):
        async for seen, _, source in self.left_turns(mode, kind, origin, leave):
            assert source.closed == 1, seen

    async def test_no_task_is_left(self, mode, kind, origin, leave):
        async for seen, *_ in self.left_turns(mode, kind, origin, leave):
            assert asyncio.all_tasks() == {asyncio.current_task()}, seen


class explained:  # noqa: N801
    """Adds to a failed assertion where it happened."""

    def __init__(self, where: Any) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            error.add_note(f"where: {self._where}")


def test_a_turn_that_is_abandoned_ends_with_its_loop():
    log = Log()

    async def main() -> Any:
        stream = accumulator(with_tools(OK, storage=log)).process(parse_tokens(block("ok", "ok")))
        async for item in stream:
            if item["type"] == "execute":
                return stream
        return None

    asyncio.run(main())
    check_answered(log.rows)
    assert types(log.rows) == ["call", "call", "result"]
