"""The cost of turning text in other dialects into events."""

from __future__ import annotations

import json
from typing import Any

from figures import Samples
from measure import Bench
from sides import OURS, cut, drain, one_event_each, stream

from cogency_rs import Parser
from cogency_rs.reader import ChatReader

MIB = 1 << 20

THINK = ("<think>", "</think>")

TEXTS = {
    "hermes": (THINK, ("", ""), '<tool_call>\n{{"name": "t", "arguments": {args}}}\n</tool_call>'),
    "qwen3-coder": (
        THINK,
        ("", ""),
        "<tool_call>\n<function=t>\n<parameter=text>\n{value}\n</parameter>\n</function>\n</tool_call>",
    ),
    "forge-xml": (
        ("<thinking>", "</thinking>"),
        ("", ""),
        "<tool><tool_name>t</tool_name><arguments><text>{value}</text></arguments></tool>",
    ),
    "llama3-json": (("", ""), ("", ""), '<|python_tag|>{{"name": "t", "parameters": {args}}}'),
    "harmony": (
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
        ("<|channel|>final<|message|>", "<|end|><|start|>assistant"),
        "<|channel|>commentary to=functions.t <|constrain|>json<|message|>{args}<|call|>",
    ),
}
"""For each dialect: the marks around thoughts, the marks around text, and a call."""

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "t",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
        },
    }
]


def turn(dialect: str, size: int) -> str:
    """A text of one third thoughts, one third answer and one third calls; without reasoning, two thirds answer."""
    think, text, call = TEXTS[dialect]
    third = size // 3
    value = "y" * third
    words = "word " * (third // 5)
    thoughts = f"{think[0]}{'hm ' * (third // 3)}{think[1]}" if think[0] else words
    written = call.format(args=json.dumps({"text": value}), value=value)
    return f"{thoughts}{text[0]}{words}{text[1]}{written}"


async def event_mode(bench: Bench, dialect: str, size: int) -> Samples:
    chunks = cut(turn(dialect, size), 4)
    return await bench.timed(
        ours=lambda: drain(OURS.parse_tokens(stream(chunks), dialect=dialect, tools=TOOLS)),
        floor=lambda: drain(stream(chunks)),
    )


async def token_mode(bench: Bench, dialect: str, size: int) -> Samples:
    chunks = cut("word " * (size // 5), 4)
    opening = TEXTS[dialect][1][0]
    chunks[:0] = [opening] if opening else []
    return await bench.timed(
        ours=lambda: drain(
            OURS.parse_tokens(stream(chunks), dialect=dialect, tools=TOOLS, stream="token")
        ),
        floor=lambda: drain(one_event_each(chunks)),
    )


async def chat_reader(bench: Bench, dialect: str, size: int) -> Samples:
    chunks = cut(turn(dialect, size), 4)
    return await bench.timed(
        ours=lambda: _read(ChatReader(dialect, TOOLS), chunks),
        floor=lambda: _read(Parser(dialect=dialect, tools=TOOLS, stream="token"), chunks),
    )


def _read(reader: ChatReader | Parser, chunks: list[str]) -> None:
    feed = reader.feed
    for chunk in chunks:
        feed(chunk)
    reader.finish("stop")


async def one_feed(bench: Bench, dialect: str) -> Samples:
    text = TEXTS[dialect][1][0] + "Plain text, and not a mark in it. " * (MIB // 34)
    return await bench.timed(
        ours=lambda: _feed(dialect, [text]), floor=lambda: _find_and_copy(text)
    )


def _feed(dialect: str, chunks: list[str]) -> None:
    parser = Parser(dialect=dialect)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish()


def _find_and_copy(text: str) -> None:
    text.find("<")
    text.encode()
