"""Tools for tests, and short functions for calls of them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cogency_rs import Execution, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

INJECTED = {"storage", "sandbox_dir", "access", "conversation_id", "user_id", "timeout"}
"""The arguments that come from the turn, and not from the model."""

SOON = 0.1
"""A time limit in seconds for calls that wait for ever; no other call takes so long."""


@dataclass
class FunctionTool:
    """A function as a tool."""

    name: str
    execute: Callable[..., Any]
    description: str = "does something"
    schema: dict[str, Any] = field(default_factory=dict)


async def nothing(**_: Any) -> None:
    """Take any arguments, and return nothing."""


async def _ok(**arguments: Any) -> ToolResult:
    own = {name: value for name, value in arguments.items() if name not in INJECTED}
    return ToolResult(outcome="ok", content=own)


async def _fail(**_: Any) -> ToolResult:
    return ToolResult(outcome="it failed", error=True)


OK = FunctionTool("ok", _ok)
"""Succeeds; its content is the model's arguments."""

FAIL = FunctionTool("fail", _fail)
"""Returns a failure."""


def returns(value: Any, name: str = "t") -> FunctionTool:
    """Make a tool that returns `value`."""

    async def execute(**_: Any) -> Any:
        return value

    return FunctionTool(name, execute, f"returns {value!r}")


def raises(error: BaseException | type[BaseException], name: str = "t") -> FunctionTool:
    """Make a tool that raises `error`."""

    async def execute(**_: Any) -> Any:
        raise error

    return FunctionTool(name, execute, f"raises {error!r}")


class Waiting:
    """A tool whose calls all wait until they are released.

    Attributes:
        started: set when a call has begun to wait.
        release: lets all calls return.
        journal: `"started"`, then `"returned"` or `"stopped"`, for each call.
    """

    description = "waits"

    def __init__(self, name: str = "wait") -> None:
        self.name = name
        self.schema: dict[str, Any] = {}
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.journal: list[str] = []

    async def execute(self, **_: Any) -> ToolResult:
        self.journal.append("started")
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.journal.append("stopped")
            raise
        self.journal.append("returned")
        return ToolResult(outcome="waited")


def with_tools(*tools: Any, storage: Any = None, **options: Any) -> Execution:
    return Execution(storage=storage, tools=tools, **options)


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments)


def block(*calls: str | ToolCall) -> str:
    """Write an execute block, from calls or the names of calls without arguments."""
    items = (ToolCall(item, {}) if isinstance(item, str) else item for item in calls)
    array = [{"name": item.name, "args": item.args} for item in items]
    return f"<execute>{json.dumps(array)}</execute>"


def stored(name: str, **arguments: Any) -> str:
    """A call as the log holds it."""
    return json.dumps({"name": name, "args": arguments})


async def rounds(count: int) -> None:
    """Let the event loop go round `count` times."""
    for _ in range(count):
        await asyncio.sleep(0)


def outcomes(results: Iterable[ToolResult]) -> list[tuple[bool, Any]]:
    """For each result, whether it is an error, and its outcome."""
    return [(result.error, result.outcome) for result in results]


def nested_call(depth: int) -> str:
    """The text of a call whose argument is an array nested to this depth."""
    return stored("ok", x=[]).replace("[]", "[" * depth + "]" * depth)
