"""The source of a model's text raises, hangs, yields something else, is cancelled, or is dropped while it waits."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import parse_tokens
from support.aftermath import KINDS, Scene, in_memory
from support.tools import block, rounds
from support.turns import MODES, carry_out, types
from support.ways import in_both_ways

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

pytestmark = [in_both_ways, pytest.mark.timeout(60), pytest.mark.usefixtures("quick_collection")]

CALLS = block("good", "good")

WHEN = {
    "before any text": [],
    "after text": ["so", " it is"],
    "in a thought": ["<think>h", "m"],
    "in a tag": ["so", "<exec"],
    "in a block": ["so", CALLS[:30]],
    "in a string in a block": ["so", CALLS[:20]],
}
"""Where in the turn the fault happens, and the chunks before it."""


class Source:
    """Chunks of text, then a fault.

    Attributes:
        waiting: set when the source has reached the fault.
        closed: how often the source was closed.
    """

    def __init__(self, chunks: list[Any], fault: Callable[[], Awaitable[Any]]) -> None:
        self._chunks, self._fault = iter(chunks), fault
        self.waiting = asyncio.Event()
        self.closed = 0

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> Any:
        await rounds(1)
        for chunk in self._chunks:
            return chunk
        self.waiting.set()
        return await self._fault()

    async def aclose(self) -> None:
        self.closed += 1


def generator_of(source: Source) -> AsyncGenerator[Any, None]:
    """The same source as an async generator."""

    async def generate() -> AsyncGenerator[Any, None]:
        try:
            async for chunk in source:
                yield chunk
        finally:
            await source.aclose()

    return generate()


def plain(source: Source) -> Source:
    return source


def raising(kind: type[BaseException], *says: str) -> Callable[[], Awaitable[Any]]:
    async def fault() -> Any:
        raise kind(*says)

    return fault


def giving(value: Any) -> Callable[[], Awaitable[Any]]:
    async def fault() -> Any:
        return value

    return fault


async def hanging() -> Any:
    await asyncio.Event().wait()


async def cancelling() -> Any:
    """Cancel the task that reads."""
    asyncio.current_task().cancel()
    await rounds(1)


@dataclass(frozen=True)
class Fault:
    """What the source does, what the turn then raises, and a pattern for its text."""

    does: Callable[[], Awaitable[Any]]
    raises: type[BaseException]
    says: str | None


FAULTS = {
    "raises": Fault(raising(OSError, "line broke"), OSError, "line broke"),
    "raises a timeout": Fault(raising(TimeoutError, "too slow"), TimeoutError, "too slow"),
    "raises a BaseException": Fault(raising(KeyboardInterrupt), KeyboardInterrupt, None),
    "raises CancelledError": Fault(
        raising(asyncio.CancelledError, "lost"), asyncio.CancelledError, "lost"
    ),
    "gives None": Fault(
        giving(None), TypeError, "must be str, ReasoningDelta or Finish, not NoneType"
    ),
    "gives bytes": Fault(
        giving(b"so"), TypeError, "must be str, ReasoningDelta or Finish, not bytes"
    ),
    "gives a number": Fault(giving(7), TypeError, "must be str, ReasoningDelta or Finish, not int"),
    "gives an event": Fault(
        giving({"type": "end"}), TypeError, "must be str, ReasoningDelta or Finish, not dict"
    ),
    "cancels its reader": Fault(cancelling, asyncio.CancelledError, None),
}

in_both_modes = pytest.mark.parametrize("mode", MODES)
at_every_place = pytest.mark.parametrize("chunks", WHEN.values(), ids=WHEN)
of_every_shape = pytest.mark.parametrize("shape", [plain, generator_of])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@of_every_shape
@at_every_place
@in_both_modes
async def test_a_source_that_fails(mode, chunks, shape, fault):
    async with Scene(in_memory(), mode=mode) as scene:
        source = Source(chunks, fault.does)
        with pytest.raises(fault.raises, match=fault.says):
            await carry_out(scene.turns, parse_tokens(shape(source)))
        asyncio.current_task().uncancel()
        assert scene.calls.started == [], "no call of an incomplete block runs"
        assert source.closed == 1


@of_every_shape
@at_every_place
@in_both_modes
async def test_a_source_that_hangs_until_the_turn_is_cancelled(mode, chunks, shape):
    async with Scene(in_memory(), mode=mode) as scene:
        source = Source(chunks, hanging)
        turn = asyncio.create_task(carry_out(scene.turns, parse_tokens(shape(source))))
        await source.waiting.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert source.closed == 1


class HangsOnClose(Source):
    """A source whose `aclose` never returns."""

    async def aclose(self) -> None:
        self.closed += 1
        self.waiting.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("text", [CALLS, "so<end>"])
@in_both_modes
async def test_a_source_that_hangs_while_it_is_closed(mode, text, both_ways):
    """The source is not asked a second time, and the turn can be cancelled."""
    async with Scene(in_memory(), mode=mode) as scene:
        source = HangsOnClose([text], hanging)
        turn = asyncio.create_task(carry_out(scene.turns, parse_tokens(source)))
        await source.waiting.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert source.closed == 1
        assert both_ways.is_eager or scene.calls.started == []


@in_both_modes
async def test_a_source_that_hangs_while_others_go_on(mode):
    async with Scene(in_memory(), mode=mode) as scene:
        source = Source(["so"], hanging)
        turn = asyncio.create_task(carry_out(scene.turns, parse_tokens(source)))
        await source.waiting.wait()
        events = await carry_out(scene.turns, parse_tokens(CALLS))
        assert types(events) == ["call", "call", "execute", "result"]
        turn.cancel()
        await asyncio.wait([turn])


# Dropped while it waits


@of_every_shape
@in_both_modes
async def test_events_that_are_dropped_before_their_end_close_their_source(mode, shape):
    async with Scene(in_memory(), mode=mode) as scene:
        source = Source(["<think>hm</think>", "so", "more"], hanging)
        events = parse_tokens(shape(source), stream=mode)
        await anext(events)
        del events
        gc.collect()
        await scene.quiet()
        assert source.closed == 1


@of_every_shape
@pytest.mark.parametrize("kind", KINDS)
@in_both_modes
async def test_a_turn_that_is_dropped_after_any_event(mode, kind, shape):
    """The turn is dropped after n events, for every n."""
    for count in range(1, 20):
        async with Scene(in_memory(), mode=mode, kind=kind) as scene:
            source = Source(["<think>hm</think>so", f" it is{CALLS}", "more"], hanging)
            turn = scene.turns.process(parse_tokens(shape(source)))
            seen = []
            with suppress(StopAsyncIteration):
                while len(seen) < count:
                    seen.append((await anext(turn))["type"])
            del turn
            await scene.quiet()
            assert source.closed == 1
        if len(seen) < count:
            assert seen[-1] == "result"
            return
    pytest.fail("the turn did not end")


@of_every_shape
@at_every_place
@in_both_modes
async def test_a_turn_that_is_dropped_while_its_source_waits(mode, chunks, shape):
    """Nothing refers to the task, or to what it waits for. Python reports it, and closes its coroutines if it can."""
    async with Scene(in_memory(), mode=mode) as scene:
        scene.tolerates = {
            "Task was destroyed but it is pending!",
            "Task exception was never retrieved",  # from the tasks in which Python closes the generators
        }
        source = Source(chunks, hanging)

        async def read() -> None:
            async for _ in scene.turns.process(parse_tokens(shape(source))):
                pass

        turn = weakref.ref(asyncio.create_task(read()))
        await source.waiting.wait()
        await rounds(1)
        gc.collect()
        await scene.quiet()
        assert turn() is None, "something refers to the turn"


@pytest.mark.parametrize("reads", [0, 1, 9])
@in_both_modes
async def test_an_object_that_refers_to_a_source_and_its_events_can_be_collected(mode, reads):
    class Model:
        def __init__(self) -> None:
            self.events = parse_tokens(self, stream=mode)

        async def __aiter__(self) -> AsyncGenerator[str, None]:
            yield "<think>hm</think>so"

    async with Scene(in_memory(), mode=mode) as scene:
        model = Model()
        for _ in range(reads):
            await anext(model.events, None)
        collected = weakref.ref(model)
        del model
        gc.collect()
        await scene.quiet()
        gc.collect()
        assert collected() is None
