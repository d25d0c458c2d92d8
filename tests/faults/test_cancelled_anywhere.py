"""Cancellation at the n-th suspension, for every n until the turn completes.

After each cancellation the log is complete, nothing runs on, and the caller gets the `CancelledError`; see
`support/interruptions.py`.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import CallOptions, Hooks, ToolResult, execute_tools, parse_tokens
from support.aftermath import KINDS, STORAGE_KINDS, Calls, Does, Scene, in_memory, on_disk
from support.interruptions import MOMENTS, Moment, cancelled_at
from support.tools import block, call, rounds, stored, with_tools
from support.turns import (
    LOGS,
    MODES,
    Chunks,
    event,
    results_in,
)
from support.waiting import until
from support.ways import in_both_ways

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Callable

pytestmark = pytest.mark.timeout(60)

CANCELLED = {"status": "failure", "content": "Cancelled"}


class Endings:
    """Tools that end in different ways, and how each call ended.

    Attributes:
        returned: the tools that returned a value.
        over: the calls whose `finally` ran to the end.
    """

    def __init__(self) -> None:
        self.returned: list[str] = []
        self.over = 0
        self.tools = {
            "instant": self._ending("instant", 0, 0),
            "short": self._ending("short", 1, 0),
            "long": self._ending("long", 4, 0),
            "tidy": self._ending("tidy", 2, 3),
            "stubborn": self._ending("stubborn", 3, 2, resists=True),
        }

    def _ending(self, name: str, works: int, cleans_up: int, *, resists: bool = False) -> Does:
        async def awaits() -> ToolResult:
            try:
                try:
                    await rounds(works)
                except asyncio.CancelledError:
                    await rounds(cleans_up)
                    if not resists:
                        raise
                self.returned.append(name)
                return ToolResult(outcome=name)
            finally:
                self.over += 1

        def blocks(_: Any) -> ToolResult:
            for _ in range(works):
                time.sleep(0)  # lets other threads run
            self.over += 1
            return ToolResult(outcome=name)

        return Does(awaits, blocks)

    def check(self, array: list[dict[str, Any]]) -> None:
        """Fail unless the results agree with how the calls ended. The tools must be coroutines on the event loop."""
        for item in array:
            tool = item.pop("tool")
            if tool in self.returned:
                assert item == {"status": "success", "content": tool}
            else:
                assert item == CANCELLED, tool


BATCHES = {
    "calls that do not wait": ["instant", "instant"],
    "one call": ["long"],
    "all kinds": ["instant", "short", "long", "tidy", "stubborn"],
    "a call that resists": ["stubborn", "short"],
}


class SlowChunks(Chunks):
    """A slow source, which also takes long to close."""

    def __init__(self, *items: Any) -> None:
        super().__init__(*items, pause=1)

    async def aclose(self) -> None:
        self.closed += 1
        await rounds(1)


def text_source(names: list[str]) -> tuple[SlowChunks, AsyncIterable[Any]]:
    source = SlowChunks("<think>hm</think>", "so", block(*names), "more")
    return source, parse_tokens(source)


def foreign_source(names: list[str]) -> tuple[SlowChunks, AsyncIterable[Any]]:
    calls = [event("call", stored(name)) for name in names]
    rest = [event("execute"), event("respond", "so"), *calls, event("execute"), event("end")]
    source = SlowChunks(event("respond", "so"), *calls, *rest)
    return source, source


async def consume(events: AsyncGenerator[Any, None]) -> None:
    """Read a turn as a careful consumer does, with some work for each event."""
    async with aclosing(events):
        async for _ in events:
            await rounds(1)


async def cancelled_anywhere(
    store: Callable[[], Any],
    names: list[str],
    origin: Callable[[list[str]], tuple[SlowChunks, AsyncIterable[Any]]],
    moment: Moment,
    **scenery: Any,
) -> None:
    """Cancel a turn at its n-th suspension, for every n until it completes."""
    for at in itertools.count(1):
        endings = Endings()
        async with Scene(store(), tools=endings.tools, **scenery) as scene:
            scene.note = f"cancelled at suspension {at}"
            source, events = origin(names)
            ending = await cancelled_at(consume(scene.turns.process(events)), at, moment)
            assert ending.cancelled is ending.requested, "CancelledError reaches the caller"
            assert ending.leaked == set(), "no task is left when the caller gets the CancelledError"
            # A source that was never read need not be closed.
            assert source.closed == (1 if source.asked else 0)
            if scenery.get("kind", "async") == "async":
                assert endings.over == len(scene.calls.started), "no tool is left half done"
            if scenery.get("kind", "async") == "async" and origin is text_source:
                for array in results_in(await scene.rows()):
                    endings.check(array)
        if ending.suspensions < at:
            break
    assert at > 10


SLOW_AND_INSTANT = {
    f"{name} {kind.__name__}": partial(kind, **pauses)
    for kind in LOGS
    for name, pauses in {"instant": {}, "slow": {"before": 2, "after": 1}}.items()
}

in_both_modes = pytest.mark.parametrize("mode", MODES)
at_every_moment = pytest.mark.parametrize("moment", MOMENTS)


@in_both_ways
@at_every_moment
@pytest.mark.parametrize("store", SLOW_AND_INSTANT.values(), ids=SLOW_AND_INSTANT)
@pytest.mark.parametrize("origin", [text_source, foreign_source])
@pytest.mark.parametrize("names", BATCHES.values(), ids=BATCHES)
@in_both_modes
async def test_a_turn_that_is_cancelled_anywhere(mode, names, origin, store, moment):
    await cancelled_anywhere(store, names, origin, moment, mode=mode)


class Speaking(Hooks):
    """Emits an event when a call starts, and one when it is over."""

    async def around_call(self, invocation: Any, next: Any) -> Any:
        invocation.context.emit({"type": "starts"})
        result = await next(invocation)
        invocation.context.emit({"type": "is over"})
        return result


@at_every_moment
@pytest.mark.parametrize("origin", [text_source, foreign_source])
@pytest.mark.parametrize("names", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("store", SLOW_AND_INSTANT.values(), ids=SLOW_AND_INSTANT)
async def test_a_turn_whose_calls_emit_events_that_is_cancelled_anywhere(
    store, names, origin, moment
):
    await cancelled_anywhere(store, names, origin, moment, hooks=[Speaking()])


@at_every_moment
@pytest.mark.parametrize("kind", KINDS)
@in_both_modes
@pytest.mark.concurrency
async def test_a_turn_in_a_file_that_is_cancelled_anywhere(mode, kind, moment, tmp_path):
    folders = (tmp_path / str(number) for number in itertools.count())
    await cancelled_anywhere(
        lambda: on_disk(next(folders)), ["short", "long"], text_source, moment, mode=mode, kind=kind
    )


@in_both_ways
@at_every_moment
@pytest.mark.parametrize("kind", KINDS)
@in_both_modes
@pytest.mark.concurrency
async def test_a_turn_in_sqlite_that_is_cancelled_anywhere(mode, kind, moment):
    await cancelled_anywhere(
        in_memory, ["short", "long"], text_source, moment, mode=mode, kind=kind
    )


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    "options",
    [{}, {"calls": CallOptions(max_concurrency=2)}, {"calls": CallOptions(timeout=60)}],
    ids=repr,
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", list(BATCHES.values())[1:], ids=list(BATCHES)[1:])
@pytest.mark.concurrency
async def test_a_batch_that_is_cancelled_anywhere(names, kind, options, moment):
    """`execute_tools`, without a log."""
    for at in itertools.count(1):
        endings, calls = Endings(), Calls()
        tools = [calls.tool(kind, name, does) for name, does in endings.tools.items()]
        batch = execute_tools(
            [call(name) for name in names],
            execution=with_tools(*tools),
            user_id="u",
            conversation_id="c",
            **options,
        )
        ending = await cancelled_at(batch, at, moment)
        try:
            assert ending.cancelled is ending.requested
            assert ending.leaked == set()
            await until(lambda calls=calls: calls.running == 0, "a tool still runs")
        except BaseException as error:
            error.add_note(f"cancelled at suspension {at}")
            raise
        if ending.suspensions < at:
            break
    assert at > 1


@at_every_moment
@pytest.mark.parametrize("hooks", [[], [Speaking()]], ids=["silent", "speaking"])
@pytest.mark.parametrize("origin", [text_source, foreign_source])
@pytest.mark.parametrize("store", STORAGE_KINDS.values(), ids=STORAGE_KINDS)
@in_both_modes
async def test_a_consumer_that_is_cancelled_while_it_leaves(
    mode, store, origin, hooks, moment, tmp_path
):
    """The turn is closed after n events, and cancelled at the m-th suspension of `aclose`, for every n and m."""
    for count in itertools.count(1):
        for at in itertools.count(1):
            scenery = {"mode": mode, "tools": Endings().tools, "hooks": hooks}
            async with Scene(store(tmp_path), **scenery) as scene:
                scene.note = f"left after {count} events, cancelled at suspension {at}"
                source, events = origin(["short", "long"])
                turn = scene.turns.process(events)
                seen = [await anext(turn, None) for _ in range(count)]
                ending = await cancelled_at(turn.aclose(), at, moment)
                assert ending.leaked == set(), "no task is left"
                assert source.closed == 1
            if ending.suspensions < at:
                break
        if seen[-1] is None:
            break
    assert count > 5
