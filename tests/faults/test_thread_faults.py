"""Several threads at once: event loops that share a storage while turns are cancelled or a loop is closed; parsers."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import Accumulator, CallOptions, Parser, parse_tokens
from support.aftermath import GOOD, KINDS, Calls, Does, check_log, on_disk, rows_in_file, witness_of
from support.parsing import text_runs
from support.tools import block, call, rounds, with_tools
from support.turns import MODES, Log, accumulator, carry_out, check_answered, types
from support.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.concurrency, pytest.mark.timeout(100)]

in_both_modes = pytest.mark.parametrize("mode", MODES)


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Do `work` in `count` threads that begin at once; returns what each returned, or raises what one raised."""
    barrier = threading.Barrier(count)
    returned: dict[int, Any] = {}
    raised: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait(30)
        try:
            returned[number] = work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if raised:
        raise raised[0]
    return [returned[number] for number in range(count)]


# Two loops


@pytest.mark.parametrize("kind", KINDS)
@in_both_modes
def test_two_loops_with_one_storage_and_turns_that_are_cancelled(mode, kind, tmp_path):
    """Each event loop has conversations of its own; every second turn is cancelled while its tools run."""
    storage = on_disk(tmp_path)
    log, calls = witness_of(storage), Calls()
    slow = Does(lambda: rounds(20), lambda _: time.sleep(0))
    tools = [calls.tool(kind, "good", GOOD), calls.tool(kind, "slow", slow)]

    async def turn(number: int, count: int) -> None:
        turns = Accumulator(
            "u", f"{number}", execution=with_tools(*tools, storage=log), stream=mode
        )
        text = f"<think>hm</think>so{block('good', 'slow', 'good')}"
        task = asyncio.create_task(carry_out(turns, parse_tokens(text)))
        if count % 2:
            await rounds(random.Random(count).randrange(300))
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            assert types(task.result())[-1] == "result"

    async def main(number: int) -> None:
        for count in range(25):
            await turn(number, count)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    in_threads(2, lambda number: asyncio.run(main(number)))
    asyncio.run(storage.close())
    rows = rows_in_file(tmp_path / "store.db")
    for number in range(2):
        own = [row for row in rows if row.conversation_id == f"{number}"]
        check_answered(own)
        check_log(own, [row for row in log.acknowledged if row.conversation_id == f"{number}"])
    assert len(calls.started) >= 2 * 12 * 3


@in_both_modes
def test_a_loop_that_is_closed_while_another_one_s_tools_run(mode):
    """The timers and worker threads that both loops use go on."""
    closed = threading.Event()

    def closes(_: int) -> None:
        loop = asyncio.new_event_loop()
        calls = Calls()
        waits = calls.tool("plain", "waits", Does(return_at_once, lambda release: release.wait(30)))
        turns = accumulator(
            with_tools(waits, storage=Log()), stream=mode, calls=CallOptions(timeout=60)
        )
        loop.set_exception_handler(lambda *_: None)  # the handler would report the lost turn
        turn = loop.create_task(carry_out(turns, parse_tokens(block("waits"))))
        loop.run_until_complete(until(lambda: calls.started, "the tool does not start"))
        loop.close()
        with suppress(RuntimeError):  # from the generators in which the turn waited
            turn.get_coro().close()
        closed.set()
        calls.release.set()

    def goes_on(_: int) -> list[str]:
        tools = [Calls().tool(kind, kind, Does(awaits_close, blocks_until_close)) for kind in KINDS]
        turns = accumulator(
            with_tools(*tools, storage=Log()), stream=mode, calls=CallOptions(timeout=60)
        )
        return types(asyncio.run(carry_out(turns, parse_tokens(block(*KINDS)))))

    async def awaits_close() -> None:
        await until(closed.is_set, "the other loop is not closed")

    def blocks_until_close(_: Any) -> None:
        assert closed.wait(30)

    _, events = in_threads(2, lambda number: [closes, goes_on][number](number))
    assert events == ["call"] * 3 + ["execute", "result"]


async def return_at_once() -> None:
    pass


# Parsers

TEXT = (
    "<think>hm < or <th</think>So, \N{GRINNING FACE} <b>: <results>[1]</results>\n"
    '<execute>[{"name": "x</execute>"}]</execute> again <think>a</think>'
    + block(call("good", x="</execute>"))
    + " never"
)


def cut(text: str, seed: int) -> list[str]:
    pick = random.Random(seed)
    cuts = sorted(pick.choices(range(len(text)), k=pick.randrange(len(text))))
    return [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]


@in_both_modes
def test_sixty_four_threads_that_feed_parsers_of_their_own(mode):
    expected = text_runs([TEXT], mode)
    assert len(expected) == 7

    def feed(number: int) -> None:
        for count in range(30):
            assert text_runs(cut(TEXT, 64 * count + number), mode) == expected

    in_threads(64, feed)


@in_both_modes
def test_sixty_four_threads_that_feed_one_parser(mode):
    """The chunks of the threads come in any order, but no chunk is lost, doubled or torn."""
    parser = Parser(stream=mode)

    def feed(number: int) -> list[dict[str, Any]]:
        return [event for n in range(50) for event in parser.feed(f"<think>{number}.{n}</think>")]

    thoughts = [event["content"] for events in in_threads(64, feed) for event in events]
    assert sorted(thoughts) == sorted(f"{number}.{n}" for number in range(64) for n in range(50))
    assert parser.finish() == []


@in_both_modes
def test_sixty_four_threads_with_a_turn_each(mode):
    def turn(number: int) -> list[str]:
        log = Log()
        tools = [Calls().tool(kind, kind, GOOD) for kind in KINDS]
        turns = accumulator(with_tools(*tools, storage=log), stream=mode)
        events = asyncio.run(carry_out(turns, parse_tokens(f"so{block(*KINDS)}")))
        check_answered(log.rows)
        return types(events)

    assert in_threads(64, turn) == [["respond"] + ["call"] * 3 + ["execute", "result"]] * 64
