"""The tests that every implementation of the protocol `Log` must pass.

    class TestMyLog(LogConformance):
        async def make_log(self):
            return MyLog(...)

Then `pytest` runs the tests. They need no plugin, since each runs its own event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any
from unittest import SkipTest

from ..agent.agent import Agent
from ..calls.record import CallRecord, CallStatus
from ..context.assembly import assemble
from ..errors import BusyError, ConfigError, StorageError
from ..outside import uuid7
from ..protocol import parse_tokens
from ..storage.log import ROW_TYPES, Part, check_positions
from ..tools.context import ToolContext
from ..tools.function_tool import tool
from ..turn.accumulator import Accumulator
from ..types import Execution
from .change_conformance import (
    ChangeConformance,
    OwnerConformance,
    Test,
    contains,
    contents_of,
    equal,
    on_a_log,
    optional,
    raised,
    save,
    shows,
)
from .scripted import ScriptedModel

PATIENCE = 60.0
"""Seconds until a test that should have ended counts as hanging."""

CALL = json.dumps({"name": "t", "args": {}})
PARTS = (
    Part("image", "image/png", b"\x89PNG\r\n\x1a\n\0", 3),
    Part("file", "application/octet-stream", bytes(range(256)), 10),
)
RESULT = json.dumps([{"tool": "t", "status": "success", "content": "ok"}])


class LogConformance(ChangeConformance, OwnerConformance):
    """The tests. A subclass must override `make_log`; tests that need other methods are skipped without them.

    If `make_log` needs fixtures of pytest, let a fixture with `autouse` set them on the instance. A log that has
    `close` is closed after its test.
    """

    async def make_log(self) -> Any:
        """Make an empty log."""
        raise TypeError(
            f"{type(self).__name__} does not say how a log is made: "
            "give it async def make_log(self), which returns an empty one"
        )

    async def reopen(self, log: Any) -> Any:
        """Make another object on the same log, as another process would; both are used until the test is over."""
        raise SkipTest("the suite does not say how a log is opened again: override reopen")

    async def lose_claim(self, log: Any, conversation_id: str) -> None:
        """Give the claim on a conversation to another process, as if this one had been stopped for too long."""
        raise SkipTest("the suite does not say how a claim is lost: override lose_claim")

    async def carry_out(self, test: Test) -> None:
        """Run a test on its own log, and close what it used."""
        self._used: list[Any] = [await self.make_log()]
        try:
            async with asyncio.timeout(PATIENCE):
                await test(self, self._used[0])
        finally:
            for log in self._used:
                if hasattr(log, "close") and inspect.isawaitable(closing := log.close()):
                    await closing

    async def opened_again(self, log: Any) -> Any:
        """What `reopen` makes; it is closed after the test."""
        again = await self.reopen(log)
        self._used.append(again)
        return again

    # Rows

    @on_a_log
    async def test_a_conversation_that_does_not_exist_is_empty(self, log: Any) -> None:
        page = await log.read("c")
        shows(page, [], "an empty page", is_whole=True)
        equal(await log.calls("c"), [], "its calls")

    @on_a_log
    async def test_rows_come_back_as_they_were_saved(self, log: Any) -> None:
        await log.append("c", user_id="u", rows=[("user", "hello", 1.5), ("think", "hm", 2.25)])
        page = await log.read("c")
        rows = [{key: row[key] for key in _row("", "", 0.0)} for row in page.rows]
        equal(rows, [_row("user", "hello", 1.5), _row("think", "hm", 2.25)], "the rows")
        equal(page.is_whole, True, "whether all rows are whole")

    # Order

    @on_a_log
    async def test_rows_come_in_the_order_of_their_commits_whatever_the_clocks_say(
        self, log: Any
    ) -> None:
        year_2100, set_back, in_1970 = 4_102_444_800.0, 1_790_000_000.0, 0.0
        await save(log, ("a", set_back), ("b", year_2100), ("c", in_1970))
        await save(log, ("d", set_back - 3600), ("e", set_back - 3600), ("f", set_back + 1))
        await save(log, ("g", -1.0))
        page = await log.read("c")
        shows(page, list("abcdefg"), "the order", is_whole=True)
        check_positions(log, page)
        _rise([row["position"] for row in page.rows], "the positions")
        _rise([row["timestamp"] for row in page.rows], "the timestamps")
        equal(page.rows[1]["timestamp"], year_2100, "the time of a row that is above the others")

    @on_a_log
    async def test_positions_rise_from_page_to_page(self, log: Any) -> None:
        seen: list[dict[str, Any]] = []
        cursor = None
        for number in range(3):
            await save(log, (f"{number}a", 5.0 - number), (f"{number}b", 5.0 - number))
            await log.append("d", user_id="u", rows=[("user", "elsewhere", 1.0)])
            page = await log.read("c", after=cursor)
            equal(page.is_whole, number == 0, "whether an earlier time makes the page whole")
            seen, cursor = seen + page.rows, page.cursor
        _rise([row["position"] for row in seen], "the positions")
        _rise([row["timestamp"] for row in seen], "the timestamps")
        if hasattr(log, "newest"):
            newest = await log.newest("c", limit=2)
            equal(newest.rows, seen[-2:], "the newest rows")

    # Parts

    @on_a_log
    async def test_the_parts_of_a_row_come_back_with_it(self, log: Any) -> None:
        await _save_parts(log)
        page = await log.read("c")
        equal([row.get("parts") for row in page.rows], [None, PARTS, None], "the parts")
        await log.append("c", user_id="u", rows=[("user", "More", 4.0, PARTS[:1])])
        new = await log.read("c", after=page.cursor)
        equal([row.get("parts") for row in new.rows], [PARTS[:1]], "the parts of a new row")
        if hasattr(log, "newest"):
            newest = await log.newest("c", limit=3)
            equal([row.get("parts") for row in newest.rows], [PARTS, None, PARTS[:1]], "the newest")

    @on_a_log
    async def test_parts_go_along_with_a_fork(self, log: Any) -> None:
        fork = optional(log, "fork")
        await _save_parts(log)
        await fork("c", "d", user_id="u", rows=2)
        if hasattr(log, "delete_conversation"):
            await log.delete_conversation("c")
        parts = [row.get("parts") for row in (await log.read("d")).rows]
        equal(parts, [None, PARTS], "the parts in the fork")

    @on_a_log
    async def test_parts_go_with_their_conversation(self, log: Any) -> None:
        delete = optional(log, "delete_conversation")
        await _save_parts(log)
        await delete("c")
        await save(log, ("a", 1.0), ("b", 2.0), ("c", 3.0))
        parts = [row.get("parts") for row in (await log.read("c")).rows]
        equal(parts, [None] * 3, "the parts of what began anew")

    # Which rows

    @on_a_log
    async def test_rows_of_other_conversations_and_users_are_not_shown(self, log: Any) -> None:
        await log.append("c", user_id="u", rows=[("user", "u's", 1.0)])
        await log.append("c", user_id="v", rows=[("user", "v's", 2.0)])
        await log.append("d", user_id="u", rows=[("user", "elsewhere", 1.0)])
        equal(contents_of(await log.read("c")), ["u's", "v's"], "everybody's rows")
        equal(contents_of(await log.read("c", user_id="u")), ["u's"], "one user's rows")
        equal(contents_of(await log.read("c", user_id="w")), [], "nobody's rows")

    @on_a_log
    async def test_every_known_type_is_kept(self, log: Any) -> None:
        rows = [(type, type, float(number)) for number, type in enumerate(ROW_TYPES)]
        await log.append("c", user_id="u", rows=rows)
        equal([row["type"] for row in (await log.read("c")).rows], list(ROW_TYPES), "types of rows")

    @on_a_log
    async def test_an_unknown_type_is_refused_with_those_that_are_known(self, log: Any) -> None:
        rows = [("user", "fine", 1.0), ("assistant", "not a type of ours", 2.0)]
        error = await raised(ConfigError, lambda: log.append("c", user_id="u", rows=rows))
        contains(str(error), "assistant", "respond")
        equal(contents_of(await log.read("c")), [], "the rows after a refusal")

    @on_a_log
    async def test_content_is_kept_to_the_character(self, log: Any) -> None:
        odd = [
            "",
            " \n",
            "nul \0 inside",
            "\u2028 \ufeff \ud7ff",
            "漢字 🦀",
            "x" * 5_000_000,
            '{"a": 1}',
        ]
        await save(log, *((content, float(number)) for number, content in enumerate(odd)))
        equal(contents_of(await log.read("c")), odd, "odd content")

    @on_a_log
    async def test_half_a_character_is_refused_and_nothing_is_written(self, log: Any) -> None:
        rows = [("user", "fine", 1.0), ("user", "half: \ud83d", 2.0)]
        await raised(StorageError, lambda: log.append("c", user_id="u", rows=rows))
        equal(contents_of(await log.read("c")), [], "the rows after a refusal")
        await save(log, ("after", 1.0))
        equal(contents_of(await log.read("c")), ["after"], "the rows after that")

    @on_a_log
    async def test_appending_nothing_has_no_effect(self, log: Any) -> None:
        await log.append("c", user_id="u", rows=[])
        equal(contents_of(await log.read("c")), [], "the rows")

    @on_a_log
    async def test_many_rows_are_saved_and_read_at_once(self, log: Any) -> None:
        await save(log, *((str(number), float(number)) for number in range(5000)))
        equal(
            contents_of(await log.read("c")), [str(number) for number in range(5000)], "many rows"
        )

    # Calls

    @on_a_log
    async def test_a_call_is_saved_with_its_row_and_settled_with_its_result(self, log: Any) -> None:
        one, two = _calls(2)
        two = two._replace(server="files", worker="host:7")
        rows = [("call", CALL, 1.0), ("call", CALL, 1.0)]
        await log.append("c", user_id="u", rows=rows, calls=[one, two])
        equal(await log.calls("c"), [one, two], "open calls")
        done = one._replace(status="success", attempt=2, started_at=1.5, completed_at=2.5)
        gone = two._replace(status="cancelled", completed_at=2.5)
        await log.append("c", user_id="u", rows=[("result", RESULT, 1.0)], calls=[done, gone])
        equal(await log.calls("c"), [done, gone], "settled calls")
        equal(len((await log.read("c")).rows), 3, "how many rows there are")

    @on_a_log
    async def test_a_call_that_begins_early_is_there_before_its_row(self, log: Any) -> None:
        one, two, three = _calls(3)
        early = [call._replace(status="early") for call in (one, two)]
        for call in early:
            await log.append("c", user_id="u", rows=[], calls=[call])
        equal(await log.calls("c"), early, "calls without rows")
        rows = [("call", CALL, 1.0)] * 2
        gone = two._replace(status="cancelled", decision='{"dropped": "why"}')
        await log.append("c", user_id="u", rows=[], calls=[gone])
        await log.append("c", user_id="u", rows=rows, calls=[one, three])
        equal(await log.calls("c"), [one, three, gone], "calls, of which two have rows")

    @on_a_log
    async def test_a_call_may_be_settled_alone(self, log: Any) -> None:
        one, two = _calls(2)
        await log.append("c", user_id="u", rows=[("call", CALL, 1.0)] * 2, calls=[one, two])
        lost = one._replace(status="unknown")
        await log.append("c", user_id="u", rows=[], calls=[lost])
        equal(await log.calls("c"), [lost, two], "the calls")
        ended = two._replace(status="ended", result='{"content": "é"}', settling='{"by": "person"}')
        await log.append("c", user_id="u", rows=[], calls=[ended])
        equal(await log.calls("c"), [lost, ended], "a call with its result")

    @on_a_log
    async def test_calls_come_in_the_order_of_their_rows(self, log: Any) -> None:
        first, second = _calls(12), _calls(2)
        for batch in (second, first):
            rows = [("call", CALL, 1.0)] * len(batch)
            await log.append("c", user_id="u", rows=rows, calls=batch[::-1])
        equal(await log.calls("c"), [*second[::-1], *first[::-1]], "the calls")

    @on_a_log
    async def test_calls_that_a_provider_gave_one_id_are_all_kept(self, log: Any) -> None:
        calls = [call._replace(id="call_0") for call in (*_calls(2), *_calls(1))]
        await log.append("c", user_id="u", rows=[("call", CALL, 1.0)] * 3, calls=calls)
        equal(await log.calls("c"), calls, "the calls")

    @on_a_log
    async def test_calls_of_other_conversations_and_users_are_not_shown(self, log: Any) -> None:
        u, v, elsewhere = _calls(1), _calls(1), _calls(1)
        for conversation, user, calls in (("c", "u", u), ("c", "v", v), ("d", "u", elsewhere)):
            await log.append(conversation, user_id=user, rows=[("call", CALL, 1.0)], calls=calls)
        equal(await log.calls("c"), [*u, *v], "everybody's calls")
        equal(await log.calls("c", user_id="v"), v, "one user's calls")

    @on_a_log
    async def test_rows_and_calls_are_saved_together_or_not_at_all(self, log: Any) -> None:
        [call] = _calls(1)
        bad = call._replace(name="half: \ud83d")
        rows = [("call", CALL, 1.0)]
        await raised(StorageError, lambda: log.append("c", user_id="u", rows=rows, calls=[bad]))
        bad_rows = [*rows, ("respond", "half: \ud83d", 1.0)]
        await raised(
            StorageError, lambda: log.append("c", user_id="u", rows=bad_rows, calls=[call])
        )
        equal((await log.read("c")).rows, [], "the rows")
        equal(await log.calls("c"), [], "the calls")

    @on_a_log
    async def test_calls_outlive_the_object_that_saved_them(self, log: Any) -> None:
        calls = _calls(2)
        await log.append("c", user_id="u", rows=[("call", CALL, 1.0)] * 2, calls=calls)
        equal(await (await self.opened_again(log)).calls("c"), calls, "the calls")

    # At the same time

    @on_a_log
    async def test_saves_that_are_begun_together_are_all_there_each_in_order(
        self, log: Any
    ) -> None:
        await asyncio.gather(
            *(save(log, *((f"{n} {part}", 1.0) for part in range(3))) for n in range(50))
        )
        contents = contents_of(await log.read("c"))
        equal(len(contents), 150, "how many rows there are")
        for n in range(50):
            own = [content for content in contents if content.split()[0] == str(n)]
            equal(own, [f"{n} {part}" for part in range(3)], "the rows of one save")

    @on_a_log
    async def test_a_reader_that_follows_a_cursor_sees_every_row_once(self, log: Any) -> None:
        async def write() -> None:
            for number in range(100):
                await save(log, (str(number), float(number)))

        writing, cursor, seen = asyncio.create_task(write()), None, list[str]()
        while True:
            is_last = writing.done()
            page = await log.read("c", after=cursor)
            seen, cursor = (list[str]() if page.is_whole else seen) + contents_of(page), page.cursor
            if is_last:
                break
            await asyncio.sleep(0)
        await writing
        equal(seen, [str(number) for number in range(100)], "what was read")

    @on_a_log
    async def test_a_save_that_is_cancelled_is_whole_or_not_there(self, log: Any) -> None:
        for rounds in range(10):
            conversation, calls = f"c{rounds}", _calls(1)
            save = asyncio.ensure_future(_save_call(log, conversation, calls))
            for _ in range(rounds):
                await asyncio.sleep(0)
            save.cancel()
            with suppress(asyncio.CancelledError):
                await save
            await log.append("d", user_id="u", rows=[("user", "a save after it", 1.0)])
            found = len((await log.read(conversation)).rows), len(await log.calls(conversation))
            contains([(0, 0), (2, 1)], found)

    # Claims

    @on_a_log
    async def test_one_run_at_a_time_has_a_conversation(self, log: Any) -> None:
        inside = 0

        async def run() -> None:
            nonlocal inside
            async with log.claim("c"):
                inside += 1
                for _ in range(5):
                    equal(inside, 1, "how many have it")
                    await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(_outside(run()) for _ in range(10)))

    @on_a_log
    async def test_another_conversation_is_free(self, log: Any) -> None:
        async with log.claim("c"), log.claim("d", wait=False):
            pass

    @on_a_log
    async def test_a_caller_that_does_not_wait_gets_a_busy_error(self, log: Any) -> None:
        async with log.claim("c"):
            error = await raised(BusyError, lambda: _outside(_claimed(log, wait=False)))
            contains(str(error), "'c'")
        await _claimed(log, wait=False)

    @on_a_log
    async def test_a_claim_inside_itself_is_an_error_and_not_a_deadlock(self, log: Any) -> None:
        async with log.claim("c"):
            await raised(BusyError, lambda: _claimed(log))
            await raised(BusyError, lambda: asyncio.create_task(_claimed(log)))
        await _claimed(log)

    @on_a_log
    async def test_what_a_consumer_starts_between_two_events_waits_for_its_turn(
        self, log: Any
    ) -> None:
        agent: Agent[Any, str] = Agent(ScriptedModel(lambda _: "Good morning."), storage=log)
        started: list[asyncio.Task[Any]] = []
        async with agent.run("first", conversation_id="c") as events:
            async for _ in events:
                if not started:
                    run = agent.run("second", conversation_id="c")
                    started.append(asyncio.create_task(run))
        [second] = started
        equal((await second).output, "Good morning.", "the answer of the other run")
        rows = [row["content"] for row in (await log.read("c")).rows]
        equal(rows, ["first", "Good morning.", "second", "Good morning."], "the rows")

    @on_a_log
    async def test_a_claim_ends_with_its_block_however_that_ends(self, log: Any) -> None:
        async def fails() -> None:
            async with log.claim("c"):
                raise LookupError("the run failed")

        await raised(LookupError, fails)
        await _claimed(log, wait=False)
        entered = asyncio.Event()
        hanging = _outside(_claimed(log, entered, hang=True))
        await entered.wait()
        hanging.cancel()
        await raised(asyncio.CancelledError, lambda: hanging)
        await _claimed(log, wait=False)

    @on_a_log
    async def test_a_caller_that_is_cancelled_while_waiting_leaves_the_line(self, log: Any) -> None:
        for rounds in range(12):
            async with log.claim("c"):
                first, second = _outside(_claimed(log)), _outside(_claimed(log))
                for _ in range(rounds):
                    await asyncio.sleep(0)
            first.cancel()
            with suppress(asyncio.CancelledError):
                await first
            await second
        await _claimed(log, wait=False)

    @on_a_log
    async def test_a_claim_that_is_cancelled_anywhere_is_released(self, log: Any) -> None:
        for rounds in range(20):
            run = _outside(_claimed(log))
            for _ in range(rounds):
                await asyncio.sleep(0)
            run.cancel()
            with suppress(asyncio.CancelledError):
                await run
            await _claimed(log)

    @on_a_log
    async def test_a_claim_holds_for_every_object_on_the_log(self, log: Any) -> None:
        again = await self.opened_again(log)
        async with log.claim("c"):
            await raised(BusyError, lambda: _outside(_claimed(again, wait=False)))
            waiting = _outside(_claimed(again))
        await waiting

    @on_a_log
    async def test_nothing_is_written_under_a_claim_that_was_lost(self, log: Any) -> None:
        async with log.claim("c"):
            await save(log, ("before", 1.0))
            await self.lose_claim(log, "c")
            error = await raised(StorageError, lambda: save(log, ("too late", 2.0)))
            contains(str(error), "claim", "'c'")
            await log.append("d", user_id="u", rows=[("user", "elsewhere", 1.0)])
        equal(contents_of(await log.read("c")), ["before"], "the rows")

    # What is optional

    @on_a_log
    async def test_a_run_begins_in_one_trip_to_the_log(self, log: Any) -> None:
        begin = optional(log, "begin")
        async with begin("c", user_id="u") as claimed:
            nothing: tuple[Any, ...] = (None, [], None)
            equal(claimed.begun, nothing, "a conversation that is not there")
            await raised(BusyError, lambda: _outside(_claimed(log, wait=False)))
            await log.append("c", user_id="v", rows=[("user", "Q", 1.0)])
        calls = _calls(2)
        rows = [("call", CALL, 2.0)] * 2
        await log.append("c", user_id="u", rows=rows, calls=calls)
        async with begin("c", user_id="u") as claimed:
            owner, found, page = claimed.begun
            equal((owner, found), ("v", calls), "the owner and the open calls of the user")
            equal(page, await log.read("c", user_id="u"), "the rows, since calls are open")
        ended = [call._replace(status="success") for call in calls]
        await log.append("c", user_id="u", rows=[("result", RESULT, 3.0)], calls=ended)
        async with begin("c", user_id="u", wait=False) as claimed:
            nothing = ("v", [], None)
            equal(claimed.begun, nothing, "a conversation without open calls")
        async with begin("c", user_id="u", resumes=True) as claimed:
            equal(claimed.begun, ("v", ended, await log.read("c", user_id="u")), "all of it")
        async with log.claim("c"):
            await raised(BusyError, lambda: _outside(_begun(log)))
        await _claimed(log, wait=False)

    @on_a_log
    async def test_the_open_calls_are_those_that_are_not_settled(self, log: Any) -> None:
        open_calls = optional(log, "open_calls")
        equal(await open_calls("c"), [], "the open calls of no conversation")
        states: tuple[CallStatus, ...] = (
            "early",
            "saved",
            "open",
            "ended",
            "waiting",
            "success",
            "failure",
            "denied",
            "unknown",
        )
        calls = [
            call._replace(status=status)
            for call, status in zip(_calls(len(states)), states, strict=True)
        ]
        await log.append("c", user_id="u", rows=[("call", CALL, 1.0)] * 2, calls=calls)
        early, saved, begun, ended, waiting = calls[:5]  # the second and the third have the rows
        expected = [saved, begun, early, ended, waiting]
        equal(await open_calls("c"), expected, "the open calls")
        equal(await open_calls("c", user_id="u"), expected, "the open calls of their user")
        equal(await open_calls("c", user_id="v"), [], "the open calls of another user")
        settled = [call._replace(status="cancelled", completed_at=2.0) for call in calls[:4]]
        await log.append("c", user_id="u", rows=[("result", "[]", 2.0)], calls=settled)
        equal(await open_calls("c"), calls[4:5], "what is still open")

    @on_a_log
    async def test_what_waits_for_a_person_is_listed_across_conversations(self, log: Any) -> None:
        unsettled = optional(log, "unsettled_calls")
        states: tuple[CallStatus, ...] = ("open", "waiting", "unknown", "saved", "ended", "success")
        expected: list[tuple[str, str, CallRecord]] = []
        for conversation, user in (("d", "v"), ("c", "u")):
            calls = _calls(len(states))
            rows = [("call", CALL, 1.0)] * len(calls)
            await log.append(conversation, user_id=user, rows=rows, calls=calls)
            now = [call._replace(status=status) for call, status in zip(calls, states, strict=True)]
            await log.append(conversation, user_id=user, rows=[], calls=now)
            expected = [*((conversation, user, call) for call in now[:3]), *expected]
        equal(await unsettled(), expected, "those of all users")
        equal(await unsettled("v"), expected[3:], "those of one user")
        async with log.claim("c"):
            equal(await unsettled(), expected[3:], "those of conversations that no run has")

    @on_a_log
    async def test_a_fork_begins_with_the_rows_of_another_conversation(self, log: Any) -> None:
        fork, origin = optional(log, "fork"), optional(log, "origin")
        await log.append("c", user_id="u", rows=[("user", "b", 2.0), ("user", "c", 2.0)])
        await log.append("c", user_id="u", rows=[("call", CALL, 1.0)], calls=_calls(1))
        await fork("c", "d", user_id="u", rows=2)
        equal(contents_of(await log.read("d")), ["b", "c"], "its rows")
        equal(await log.calls("d"), [], "its calls")
        equal(await log.owner("d"), "u", "its owner")
        equal((await origin("d"), await origin("c")), (("c", 2), None), "where it comes from")
        await log.append("d", user_id="u", rows=[("user", "e", 2.0)])
        equal(contents_of(await log.read("d")), ["b", "c", "e"], "what follows")
        equal(contents_of(await log.read("c")), ["b", "c", CALL], "the other conversation")

    @on_a_log
    async def test_conversations_are_listed_the_latest_first(self, log: Any) -> None:
        conversations = optional(log, "conversations")
        equal(await conversations(), [], "an empty log")
        await log.append("old", user_id="u", rows=[("user", "Q", 1.0), ("respond", "A", 2.0)])
        await log.append("new", user_id="v", rows=[("respond", "hi", 3.0)])
        listed = [
            (one.conversation_id, one.user_id, one.rows, one.first, one.last, one.question)
            for one in await conversations()
        ]
        old, new = ("old", "u", 2, 1.0, 2.0, "Q"), ("new", "v", 1, 3.0, 3.0, None)
        equal(listed, [new, old], "all conversations")
        [one] = await conversations(user_id="u")
        equal(one.conversation_id, "old", "those of one user")
        [one] = await conversations(limit=1)
        equal(one.conversation_id, "new", "the latest one")

    @on_a_log
    async def test_a_conversation_that_is_deleted_leaves_nothing(self, log: Any) -> None:
        delete = optional(log, "delete_conversation")
        for conversation in ("c", "d"):
            rows = [("user", "hello", 1.0), ("call", CALL, 2.0)]
            await log.append(conversation, user_id="u", rows=rows, calls=_calls(1))
            async with log.claim(conversation):
                pass
        equal([await delete("c"), await delete("c")], [2, 0], "how many rows there were")
        equal((await log.read("c")).rows, [], "its rows")
        equal(await log.calls("c"), [], "its calls")
        equal(len((await log.read("d")).rows), 2, "the rows of another one")
        await _claimed(log, wait=False)

    # A turn

    @on_a_log
    async def test_a_turn_and_its_next_prompt(self, log: Any) -> None:
        ids: list[str] = []

        @tool
        async def add(a: int, b: int, context: ToolContext[Any]) -> int:
            """Add two numbers."""
            ids.append(context.execution_id)
            return a + b

        execution = Execution(storage=log, tools=[add])
        turn = Accumulator("u", "c", execution=execution)
        await log.append("c", user_id="u", rows=[("user", "2 + 3?", 1.0)])
        calls = json.dumps([{"name": "add", "args": {"a": 2, "b": 3}}, {"name": "sub", "args": {}}])
        async for _ in turn.process(parse_tokens(f"<think>Add.</think><execute>{calls}</execute>")):
            pass
        types = [row["type"] for row in (await log.read("c")).rows]
        equal(types, ["user", "think", "call", "call", "result"], "the rows")
        added, refused = await log.calls("c")
        equal((added.name, added.status, added.attempt), ("add", "success", 1), "the call")
        equal((refused.name, refused.status, refused.attempt), ("sub", "failure", 0), "the other")
        equal(ids, [added.id], "the id that the tool got")
        for _ in range(2):
            messages = await assemble("u", "c", tools=[add], storage=log)
            equal(
                [message["role"] for message in messages],
                ["system", "user", "assistant", "user"],
                "the messages",
            )


def _row(type: str, content: str, timestamp: float) -> dict[str, Any]:
    return {"type": type, "content": content, "timestamp": timestamp}


def _rise(values: list[Any], what: str) -> None:
    """Check that each value is above the one before."""
    equal(values, sorted(set(values)), what)


async def _save_parts(log: Any) -> None:
    """Save three rows, the second of which has parts."""
    rows = [("user", "Look", 1.0), ("user", "at these: ", 2.0, PARTS), ("respond", "I see", 3.0)]
    await log.append("c", user_id="u", rows=rows)


async def _save_call(log: Any, conversation_id: str, calls: list[CallRecord]) -> None:
    rows = [("respond", "text", 1.0), ("call", CALL, 1.0)]
    await log.append(conversation_id, user_id="u", rows=rows, calls=calls)


def _calls(count: int) -> list[CallRecord]:
    """A batch of open calls."""
    batch = uuid7()
    return [CallRecord(uuid7(), batch, position, "t") for position in range(count)]


async def _claimed(
    log: Any, entered: asyncio.Event | None = None, *, wait: bool = True, hang: bool = False
) -> None:
    """A run that claims a conversation."""
    async with log.claim("c", wait=wait):
        if entered is not None:
            entered.set()
        if hang:
            await asyncio.get_running_loop().create_future()


async def _begun(log: Any) -> None:
    async with log.begin("c", wait=False):
        pass


def _outside(run: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A run that is not inside of the present one."""
    return asyncio.get_running_loop().create_task(run, context=contextvars.Context())
