"""A turn that is cancelled while the model writes: the log has the text that was shown, but not an unfinished block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cogency_rs import Accumulator, Execution, Memory, parse_tokens

pytestmark = pytest.mark.concurrency

TEXT = '<think>a < b, it seems</think>Hello <b>there</b>. <execute>[{"name": "add", "args": {"a": 1}}]</execute>'
WHOLE = [("think", "a < b, it seems"), ("respond", "Hello <b>there</b>.")]


async def left_after(
    piece: str, **options: Any
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The events of a text that breaks off, and the rows that its turn left."""
    is_waiting = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        yield piece
        is_waiting.set()
        await asyncio.Event().wait()

    log = Memory()
    shown: list[tuple[str, str]] = []

    async def read() -> None:
        turn = Accumulator("u", "c", execution=Execution(storage=log, tools=[]), stream="token")
        async for event in turn.process(parse_tokens(source(), stream="token", **options)):
            if shown and shown[-1][0] == event["type"]:
                event["content"] = shown.pop()[1] + event["content"]
            shown.append((event["type"], event["content"]))

    task = asyncio.create_task(read())
    await is_waiting.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return shown, [(row["type"], row["content"]) for row in (await log.read("c")).rows]


@pytest.mark.parametrize("errors", ["respond", "event"])
async def test_the_log_has_what_was_shown(errors):
    for cut in range(len(TEXT) - len("</execute>")):
        shown, rows = await left_after(TEXT[:cut], errors=errors)
        assert [(kind, text.rstrip()) for kind, text in rows] == [
            (kind, text.rstrip()) for kind, text in shown
        ], TEXT[:cut]
        for (kind, text), (expected, whole) in zip(rows, WHOLE, strict=False):
            assert kind == expected
            assert whole.startswith(text.rstrip()), "the row holds a tag or an error report"


BEGUN = {
    ("hermes", "<tool_call>"): "",
    ("llama3-json", '{"name": "add", '): "",
    ("llama3-json", "<|python_tag|>{"): "",
    ("json-plain", '{"name": "add", '): "",
    ("json-plain", "```json\n{"): "```json\n",
    ("json-plain", "<|python_tag|>{"): "<|python_tag|>",
}
"""The texts with which a block begins in a dialect, without that block. In other dialects they are plain text."""


@pytest.mark.parametrize(
    "text", ['{"name": "add", ', "<tool_call>", "```json\n{", "<|python_tag|>{"]
)
@pytest.mark.parametrize("dialect", ["hermes", "llama3-json", "mistral", "json-plain"])
async def test_an_unfinished_block_is_neither_shown_nor_logged(dialect, text):
    shown, rows = await left_after(text, dialect=dialect)
    plain = BEGUN.get((dialect, text), text)
    assert rows == shown == ([("respond", plain)] if plain else [])
