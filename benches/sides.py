"""The compared parts of cogency-rs and of cogency 3.3.0, under the same names, and the input of both."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import sys
import time
import warnings
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cogency_rs
from cogency_rs.context import to_messages

VERSION = "3.3.0"

try:
    installed = importlib.metadata.version("cogency")
except importlib.metadata.PackageNotFoundError:
    installed = "not installed"
if installed != VERSION:
    sys.exit(
        f"cogency {VERSION} is what these benchmarks compare with, and here it is {installed}. "
        "With Python 3.11 or 3.12: pip install 'cogency-rs[parity]'"
    )

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # cogency imports deprecated modules
    from cogency.context import assembly
    from cogency.core import accumulator, executor, parser, protocols
    from cogency.core.config import Execution
    from cogency.lib import sqlite

logging.getLogger("cogency").setLevel(logging.CRITICAL)  # it logs every broken block


CODE = (
    'def read(path: str) -> str:\n    with open(path, "r") as file:\n        return file.read()\n'
)
"""Text as in arguments of models: lines, indents, quotes."""


@dataclass(frozen=True)
class Package:
    """The parts that are compared."""

    parse_tokens: Callable[..., AsyncIterable[Any]]
    token_mode: dict[str, Any]
    execute_tools: Callable[..., Any]
    accumulator: Callable[..., Any]
    sqlite: Callable[..., Any]
    to_messages: Callable[..., Any]
    assemble: Callable[..., Any]


OURS = Package(
    cogency_rs.parse_tokens,
    {"stream": "token"},
    cogency_rs.execute_tools,
    cogency_rs.Accumulator,
    cogency_rs.SQLite,
    to_messages,
    cogency_rs.assemble,
)
THEIRS = Package(
    parser.parse_tokens,
    {},  # its parser has only one mode, for both modes of its accumulator
    executor.execute_tools,
    accumulator.Accumulator,
    sqlite.SQLite,
    assembly.to_messages,
    assembly.assemble,
)

ToolCall = protocols.ToolCall
ToolResult = protocols.ToolResult


class Tool:
    """A tool that does nothing."""

    description = ""

    def __init__(self, name: str = "t") -> None:
        self.name = name
        self.schema: dict[str, Any] = {}

    def describe(self, args: dict[str, Any]) -> str:
        return self.name

    async def execute(self, **_: Any) -> ToolResult:
        return ToolResult(outcome="ok")


class Nowhere:
    """A storage that does nothing."""

    async def save_message(self, *_: Any) -> str:
        return ""


def execution(tools: Sequence[Any], storage: Any = None) -> Execution:
    return Execution(
        storage=storage, tools=tuple(tools), shell_timeout=1, sandbox_dir="", access="sandbox"
    )


def block(calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    array = [{"name": name, "args": args} for name, args in calls]
    return f"<execute>{json.dumps(array)}</execute>"


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


async def stream(chunks: Sequence[str]) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk


async def one_event_each(chunks: Sequence[str]) -> AsyncIterator[dict[str, Any]]:
    async for chunk in stream(chunks):
        yield {"type": "respond", "content": chunk, "timestamp": time.time()}


async def drain(items: AsyncIterable[Any]) -> None:
    async for _ in items:
        pass
