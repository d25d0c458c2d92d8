"""Scripted conversations: the texts of models, the results of their tools, and the rows that the log must hold."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cogency_rs import ToolResult

SCRIPTS = 64

Row = tuple[str, Any]
"""The type and content of a row; for results, the value of the array."""


# Tools


@dataclass(frozen=True)
class Tool:
    """A slow tool.

    Attributes:
        shows: returns its result for given arguments.
    """

    name: str
    execute: Callable[..., Any]
    shows: Callable[[dict[str, Any]], dict[str, Any]]
    description: str = "works"
    schema: dict[str, Any] = field(
        default_factory=lambda: {"n": {"type": "integer", "required": True}}
    )


def latency() -> float:
    """Seconds that a tool takes: 35 ms in the median, half a second at most."""
    return min(random.expovariate(1 / 0.05), 0.5)


def done(n: int, text: str, **_: Any) -> ToolResult:
    return ToolResult(f"did {n}", text)


async def waits(**args: Any) -> ToolResult:
    await asyncio.sleep(latency())
    return done(**args)


async def instant(**args: Any) -> ToolResult:
    return done(**args)


def blocks(**args: Any) -> ToolResult:
    time.sleep(latency() / 10)
    return done(**args)


async def fails(**_: Any) -> ToolResult:
    await asyncio.sleep(latency())
    return ToolResult("it failed", error=True)


async def raises(**_: Any) -> None:
    await asyncio.sleep(latency())
    raise OSError("broken")


def success(args: dict[str, Any]) -> dict[str, Any]:
    return {"status": "success", "outcome": f"did {args['n']}", "content": args["text"]}


def failure(message: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda _: {"status": "failure", "content": message}


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("waits", waits, success),
        Tool("instant", instant, success),
        Tool("blocks", blocks, success),
        Tool("fails", fails, failure("it failed")),
        Tool("raises", raises, failure("Tool execution failed: OSError: broken")),
    )
}

CANCELLED = {"status": "failure", "content": "Cancelled"}


# Turns

NAME = "{name}"
"""A placeholder in a script for the name of the turn."""

WORDS = ["the", "log", "is", "read", "and", "each", "line", "kept", "for", "what", "was", "done"]


@dataclass(frozen=True)
class Script:
    """A model's text in a turn, in tokens of up to four characters, and the rows that the log must have then."""

    tokens: list[str]
    rows: list[Row]


def scripts(seed: int) -> tuple[Script, Script]:
    """A turn that calls tools, and one that answers when their results are there."""
    pick = random.Random(seed)

    def prose(length: int) -> str:
        return " ".join([NAME, *pick.choices(WORDS, k=length)])

    think, respond, answer = prose(40), prose(40), prose(60)
    calls = [
        {
            "name": pick.choice([*TOOLS]),
            "args": {"n": pick.randrange(10**6), "text": " ".join(pick.choices(WORDS, k=9))},
        }
        for _ in range(pick.randrange(1, 5))
    ]
    results = [{"tool": each["name"], **TOOLS[each["name"]].shows(each["args"])} for each in calls]
    text = f"<think>{think}</think>{respond}<execute>{json.dumps(calls)}</execute>"
    rows = [("think", think), ("respond", respond), *(("call", json.dumps(each)) for each in calls)]
    return (
        Script(tokens_of(text), [*rows, ("result", results)]),
        Script(tokens_of(f"{answer}<end>"), [("respond", answer)]),
    )


def tokens_of(text: str) -> list[str]:
    first, *rest = (
        [part[at : at + 4] for at in range(0, len(part), 4)] for part in text.split(NAME)
    )
    return first + [token for part in rest for token in (NAME, *part)]


def rows_of(script: Script, name: str) -> list[Row]:
    texts = {"think", "respond"}
    return [
        (kind, content.replace(NAME, name) if kind in texts else content)
        for kind, content in script.rows
    ]


def turns(
    conversation: str, library: list[tuple[Script, Script]]
) -> Iterator[tuple[str, list[Script]]]:
    """An endless conversation: the user's questions, which name the turns, and the turns."""
    for count in itertools.count():
        yield f"[{conversation}.{count}]", [*library[(int(conversation) + count) % len(library)]]


def expected_rows(conversation: str, library: list[tuple[Script, Script]]) -> Iterator[Row]:
    for name, asked in turns(conversation, library):
        yield ("user", name)
        for script in asked:
            yield from rows_of(script, name)
