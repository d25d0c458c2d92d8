"""The cost of turning text into events."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence

from figures import Samples
from measure import Bench
from sides import (
    CODE,
    OURS,
    THEIRS,
    Nowhere,
    Package,
    Tool,
    block,
    cut,
    drain,
    execution,
    one_event_each,
    stream,
)

from cogency_rs import Parser

MIB = 1 << 20


async def event_mode(bench: Bench, size: int) -> Samples:
    chunks = cut(_turn(size), 4)
    return await bench.timed(
        ours=lambda: drain(OURS.parse_tokens(stream(chunks))),
        cogency=lambda: drain(THEIRS.parse_tokens(stream(chunks))),
        floor=lambda: drain(stream(chunks)),
    )


def _turn(size: int) -> str:
    """A text of one third thoughts, one third answer and one third calls."""
    third = size // 3
    call = block([("t", {"text": "y" * third})])
    return f"<think>{'hm ' * (third // 3)}</think>{'word ' * (third // 5)}{call}"


async def token_mode(bench: Bench, size: int) -> Samples:
    chunks = cut("word " * (size // 5), 4)
    return await bench.timed(
        ours=lambda: drain(OURS.parse_tokens(stream(chunks), stream="token")),
        cogency=lambda: drain(THEIRS.parse_tokens(stream(chunks))),
        floor=lambda: drain(one_event_each(chunks)),
    )


async def one_feed(bench: Bench) -> Samples:
    text = "Plain text, and not a tag in it. " * (MIB // 33)
    return await bench.timed(
        ours=lambda: _feed([text]),
        cogency=lambda: drain(THEIRS.parse_tokens(stream([text]))),
        floor=lambda: _find_and_copy(text),
    )


def _feed(chunks: Sequence[str], mode: str = "event") -> None:
    parser = Parser(stream=mode)
    feed = parser.feed
    for chunk in chunks:
        feed(chunk)
    parser.finish()


def _find_and_copy(text: str) -> None:
    text.find("<")
    text.encode()


async def one_block(bench: Bench, calls: int) -> Samples:
    content = CODE * (MIB // calls // len(json.dumps(CODE)))
    text = block([("write", {"file": "a.py", "content": content})] * calls)
    array = text.removeprefix("<execute>").removesuffix("</execute>")
    return await bench.timed(
        ours=lambda: _feed([text]),
        cogency=lambda: drain(THEIRS.parse_tokens(stream([text]))),
        floor=lambda: _reread(array),
    )


def _reread(array: str) -> None:
    json.dumps(json.loads(array))


OPEN_STRING = '<execute>[{"name": "t", "args": {"x": "'

ADVERSARIES: dict[str, tuple[str, Callable[[int], str]]] = {
    "argument": ("one argument", lambda size: OPEN_STRING + "x" * size + '"}}]</execute>'),
    "escapes": (
        "an argument of escapes",
        lambda size: OPEN_STRING + "\\n" * (size // 2) + '"}}]</execute>',
    ),
    "number": ("one number", lambda size: '<execute>[{"name": "t", "args": {"x": ' + "1" * size),
    "angles": ("`<`", lambda size: "<" * size),
    "half tags": ("`<thin`", lambda size: "<thin" * (size // 5)),
    "open think": ("an open think", lambda size: "<think>" + "x" * size),
    "open string": (
        "an open string after a literal `</execute>`",
        lambda size: OPEN_STRING + "</execute>" + "x" * size,
    ),
    "broken blocks": ("broken blocks", lambda size: "<execute>x</execute>" * (size // 20)),
    "open strings": (
        "blocks that open strings",
        lambda size: '<execute>["</execute>' * (size // 21),
    ),
    "repeated keys": (
        "nested repeated keys",
        lambda size: (
            '<execute>[{"name": "t", "args": '
            + '{"a": 1, "a": ' * 150
            + '"'
            + "x" * size
            + '"'
            + "}" * 150
            + "}]</execute>"
        ),
    ),
}
"""Texts that tempt a parser to look at the same characters again."""

SMALLER = 256
"""How many times shorter the texts for cogency are: at full length it would take hours."""


async def scaling(bench: Bench, name: str, mode: str) -> Samples:
    """The time for 2N characters divided by the time for N, fed one by one: 2 is linear, 4 is quadratic."""
    _, make = ADVERSARIES[name]
    short, long = list(make(MIB)), list(make(2 * MIB))
    less, more = list(make(MIB // SMALLER)), list(make(2 * MIB // SMALLER))
    seconds = await bench.timed(
        rounds=5,
        clock=time.thread_time,  # other programs must not disturb a ratio with a tolerance of 15 %
        ours_n=lambda: _feed(short, mode),
        ours_2n=lambda: _feed(long, mode),
        cogency_n=lambda: drain(THEIRS.parse_tokens(stream(less))),
        cogency_2n=lambda: drain(THEIRS.parse_tokens(stream(more))),
        floor_n=lambda: _look(short),
        floor_2n=lambda: _look(long),
    )
    return {
        side: [
            twice / once
            for once, twice in zip(seconds[f"{side}_n"], seconds[f"{side}_2n"], strict=False)
        ]
        for side in ("ours", "cogency", "floor")
    }


def _look(chunks: Sequence[str]) -> None:
    for chunk in chunks:
        len(chunk)


TAGS = ("<think>", "<execute>", "<results>", "<end>")

FIRST_TEXTS: dict[str, tuple[str, str]] = {
    "answer": ("", "Here is what the files say, line by line. " * 100),
    "after think": ("<think>First I look at the files.</think>", "Here is what they say. " * 100),
    "near a tag": ("", "<thinking aloud is not a tag> " * 100),
}
"""Pairs of the text that the model sends first, and the text whose beginning the user waits for."""


async def first_text(bench: Bench, name: str) -> Samples:
    """How many characters of the text are sent until the user sees the first of them."""
    before, text = FIRST_TEXTS[name]
    return {
        "ours": [await _sent_before_text(OURS, before, text)],
        "cogency": [await _sent_before_text(THEIRS, before, text)],
        "floor": [_length_of_doubt(text)],
    }


def _length_of_doubt(text: str) -> float:
    """How many characters it takes until a text cannot be a tag."""
    lengths = range(1, len(text) + 1)
    return next(n for n in lengths if not any(tag.startswith(text[:n]) for tag in TAGS))


async def _sent_before_text(package: Package, before: str, text: str) -> float:
    sent = 0

    async def model() -> AsyncIterator[str]:
        nonlocal sent
        for chunk in cut(before, 1):
            yield chunk
        for chunk in cut(text, 1):
            sent += 1
            yield chunk

    turn = package.accumulator("u", "c", execution=execution([Tool()], Nowhere()), stream="token")
    async for event in turn.process(package.parse_tokens(model(), **package.token_mode)):
        if event["type"] == "respond":
            return sent
    raise AssertionError("the text never came")
