"""The cost of turning text into events."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from figures import Samples
from measure import Bench
from sides import OURS, THEIRS, block, cut, drain, stream

KB = 1_000


def turn(size: int) -> str:
    """A turn of about `size` characters: a third thinks, a third responds, a third calls."""
    third = size // 3
    return (
        f"<think>{'hm ' * (third // 3)}</think>"
        f"{'word ' * (third // 5)}"
        f"{block([('t', {'text': 'y' * third})])}"
    )


async def event_mode(bench: Bench) -> Samples:
    chunks = cut(turn(200 * KB))
    return await bench.timed(
        ours=lambda: drain(OURS.parse_tokens(stream(chunks))),
        cogency=lambda: drain(THEIRS.parse_tokens(stream(chunks))),
        floor=lambda: drain(stream(chunks)),
    )


async def token_mode(bench: Bench) -> Samples:
    chunks = cut("word " * (200 * KB // 5))
    return await bench.timed(
        ours=lambda: drain(OURS.parse_tokens(stream(chunks), stream="token")),
        cogency=lambda: drain(THEIRS.parse_tokens(stream(chunks))),
        floor=lambda: drain(_dicts(chunks)),
    )


async def _dicts(chunks: Sequence[str]) -> AsyncIterator[dict[str, Any]]:
    """What a parser with nothing to look for would be."""
    async for chunk in stream(chunks):
        yield {"type": "respond", "content": chunk, "timestamp": time.time()}
