"""The consumer of a turn stops early: after n events, for every n, it closes the turn, throws into it or drops it.

For consumers that are cancelled, see `test_cancellation.py`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import parse_tokens
from support.aftermath import KINDS, STORAGE_KINDS, Scene
from support.tools import OK, block, with_tools
from support.turns import MODES, Chunks, Log, accumulator, check_answered, results_in, types
from support.ways import in_both_ways

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

pytestmark = [pytest.mark.concurrency, in_both_ways, pytest.mark.timeout(60)]

TEXT = ("<think>hm</think>so", " it", f" is{block('good', 'good')}", "more")


async def closes(_: Scene, turns: list[Any]) -> None:
    await turns[0].aclose()


async def throws(_: Scene, turns: list[Any]) -> None:
    with pytest.raises(ValueError, match="enough"):
        await turns[0].athrow(ValueError("enough"))


async def drops(scene: Scene, turns: list[Any]) -> None:
    turns.clear()
    await scene.quiet()


async def of_text() -> tuple[Chunks, AsyncIterable[Any]]:
    source = Chunks(*TEXT)
    return source, parse_tokens(source)


async def of_events() -> tuple[Chunks, AsyncIterable[Any]]:
    source = Chunks(*[event async for event in parse_tokens("".join(TEXT))])
    return source, source


@pytest.mark.parametrize("leaves", [closes, throws, drops])
@pytest.mark.parametrize("origin", [of_text, of_events])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", STORAGE_KINDS.values(), ids=STORAGE_KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_consumer_that_leaves(mode, store, kind, origin, leaves, both_ways, tmp_path):
    seen: list[str] = []
    while "result" not in seen:
        count = len(seen) + 1
        seen = []
        async with Scene(store(tmp_path), mode=mode, kind=kind) as scene:
            source, events = await origin()
            turns = [scene.turns.process(events)]
            for _ in range(count):
                seen.append((await anext(turns[0]))["type"])
            scene.note = f"the consumer had seen {seen}"
            await leaves(scene, turns)
            assert source.closed == 1
            # Calls whose results were seen have run. The others were cancelled, or had ended before.
            endings = {"good"} if "result" in seen else {"Cancelled"}
            if both_ways.is_eager:
                endings.add("good")
            for array in results_in(await scene.rows()):
                assert len(array) == 2
                assert {item["content"] for item in array} <= endings


@pytest.mark.parametrize("mode", MODES)
async def test_a_consumer_that_leaves_and_reads_the_same_turn_again(mode):
    """The turn is over: it yields no more events, and saves nothing."""
    async with Scene(Log(), mode=mode) as scene:
        turn = scene.turns.process(parse_tokens("".join(TEXT)))
        await anext(turn)
        await turn.aclose()
        before = list(await scene.rows())
        assert [event async for event in turn] == []
        assert await scene.rows() == before


@pytest.mark.parametrize("mode", MODES)
async def test_a_turn_that_is_never_read_asks_for_nothing_and_saves_nothing(mode):
    async with Scene(Log(), mode=mode) as scene:
        source = Chunks(*TEXT)
        turn = scene.turns.process(parse_tokens(source))
        del turn
        await scene.quiet()
        assert (source.asked, await scene.rows()) == (0, [])


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
