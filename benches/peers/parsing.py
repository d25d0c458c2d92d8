"""An answer with calls, and the arguments of one call, read while they come in chunks of 4 characters.

Each side is held to what was written before it is measured.
"""

from __future__ import annotations

import json
from typing import Any

from side import OURS, Run, Side

CHUNK = 4
ARGS: dict[str, Any] = {
    "path": "src/main.c",
    "content": "if (total > 2 && key == 'x') { return total * 2; } // short\n" * 32,
    "lines": [1, 120],
}
WORDS = "The sum also counts what is closed, so that is where it goes wrong. " * 8
CALLS = [{"name": "write_file", "arguments": {**ARGS, "path": f"src/{n}.c"}} for n in range(2)]
ANSWER = WORDS + "".join(f"\n<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in CALLS)

TEMPLATE = {
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>", "content": "text"},
        "tool_calls": {
            "open_pattern": "\\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": "\\s*(?:<\\|im_end\\|>)", "content": "text"},
    },
}
"""The response template of Qwen2.5 and Qwen3."""


def pieces(text: str) -> list[str]:
    """The text as it comes."""
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


def answer_ours() -> Run:
    from cogency_rs import Parser

    chunks = pieces(ANSWER)

    def read() -> list[Any]:
        parser, events = Parser(dialect="hermes"), []
        for chunk in chunks:
            events += parser.feed(chunk)
        return events + parser.finish("stop")

    calls = [json.loads(event["content"]) for event in read() if event["type"] == "call"]
    assert [call["args"] for call in calls] == [call["arguments"] for call in CALLS]
    return lambda: (read(), None)[1]


def answer_transformers() -> Run:
    from transformers.utils.chat_parsing.response_parser import ResponseParser

    chunks = pieces(ANSWER)

    def read() -> list[Any]:
        parser, events = ResponseParser(TEMPLATE, prefix=""), []
        for chunk in chunks:
            events += parser.feed(chunk)
        message, last = parser.finalize()
        return [message, *events, *last]

    assert [call["function"] for call in read()[0]["tool_calls"]] == CALLS
    return lambda: (read(), None)[1]


def arguments_ours() -> Run:
    from cogency_rs import Parser

    call = {"name": "write_file", "arguments": ARGS}
    chunks = pieces(f"<tool_call>\n{json.dumps(call)}\n</tool_call>")

    def read() -> list[Any]:
        parser, events = Parser(dialect="hermes", calls="stream"), []
        for chunk in chunks:
            events += parser.feed(chunk)
        return events + parser.finish("stop")

    calls = [json.loads(event["content"]) for event in read() if event["type"] == "call"]
    assert [call["args"] for call in calls] == [ARGS]
    return lambda: (read(), None)[1]


def arguments_jiter() -> Run:
    from jiter import from_json

    chunks = pieces(json.dumps(ARGS))

    def read() -> Any:
        text, value = "", None
        for chunk in chunks:
            text += chunk
            value = from_json(text.encode(), partial_mode="trailing-strings")
        return value

    assert read() == ARGS
    return lambda: (read(), None)[1]


def arguments_partial_json() -> Run:
    from partial_json_parser import loads

    chunks = pieces(json.dumps(ARGS))

    def read() -> Any:
        text, value = "", None
        for chunk in chunks:
            text += chunk
            value = loads(text)
        return value

    assert read() == ARGS
    return lambda: (read(), None)[1]


ANSWERS = (
    Side(OURS, answer_ours, OURS),
    Side("`ResponseParser` of transformers", answer_transformers, "transformers"),
)
ARGUMENTS = (
    Side(OURS, arguments_ours, OURS),
    Side("jiter, from the start for each chunk", arguments_jiter, "jiter"),
    Side(
        "partial-json-parser, from the start for each chunk",
        arguments_partial_json,
        "partial-json-parser",
    ),
)
