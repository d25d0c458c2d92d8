"""Tools that run on Ray. They leave lines in a file that nothing else writes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from cogency_rs import ToolContext, ToolResult, tool
from cogency_rs.errors import ToolError
from cogency_rs.executors.ray import Actor
from cogency_rs.tools import Retries, ToolOptions
from support.waiting import until, wait_until

LIGHT = {"num_cpus": 0.1}
"""The options of these tools, so that none waits for a processor that another test uses."""

who: ContextVar[str] = ContextVar("who", default="nobody")


def note(file: str, line: object = "") -> int:
    """Have an effect that can be counted. Returns how many there were before."""
    with Path(file).open("a+") as lines:
        lines.seek(0)
        before = len(lines.readlines())
        lines.write(f"{line}\n")
    return before


def has_lines(file: str) -> bool:
    return Path(file).exists() and Path(file).stat().st_size > 0


def perish() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@tool(remote=LIGHT)
async def where() -> int:
    """Say which process it runs in."""
    return os.getpid()


@tool(remote=LIGHT)
def where_blocking() -> int:
    """Say which process it runs in."""
    return os.getpid()


@tool(remote=False)
def where_here() -> int:
    """Say which process it runs in."""
    return os.getpid()


@tool(remote=False)
def note_here(file: str) -> None:
    """Leave a line in a file, from the program itself."""
    note(file)


@tool(remote=LIGHT)
async def follow(file: str, name: str, after: str | None) -> str:
    """Note a name after another name was noted."""
    noted = Path(file)
    await until(
        lambda: after is None or (noted.exists() and after in noted.read_text()),
        f"{after} is not noted",
    )
    note(file, name)
    return name


@tool(remote=LIGHT)
async def hold_until(file: str, begun: str) -> None:
    """Note a line in `begun` at the start and at the end; it ends when `file` has a line."""
    note(begun, "began")
    await until(lambda: has_lines(file), "the file has no line")
    note(begun, "ended")


class UnsendableError(Exception):
    """An exception that can be pickled but not unpickled."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


@tool(remote=LIGHT)
def fail(how: str) -> Any:
    """Fail in one of many ways."""
    match how:
        case "raises":
            raise KeyError("gone")
        case "unsendable":
            raise UnsendableError("this", "that")
        case "words":
            raise ToolError("in its own words")
        case "returns":
            return ToolResult("no luck", error=True, exception=OSError("disk"))
        case "exits":
            raise SystemExit(3)
        case "cancels":
            raise asyncio.CancelledError
        case "interrupts":
            raise KeyboardInterrupt
        case _:
            return object()


@tool(remote=LIGHT)
def note_and_perish(file: str) -> None:
    """Have an effect, and lose the worker."""
    note(file)
    perish()


@tool(remote=LIGHT, idempotent=True)
def perish_once(file: str) -> str:
    """Lose the worker the first time."""
    if not note(file):
        perish()
    return "done"


@tool(remote=LIGHT, idempotent=Retries(2))
def raise_twice(file: str, context: ToolContext[Any]) -> str:
    """Raise twice, and note the id of the call."""
    if note(file, context.execution_id) < 2:
        raise OSError("not yet")
    return context.execution_id


@tool(remote=LIGHT, timeout=3600)
async def wait_for_ever(file: str) -> None:
    """Wait, and note that it was told to stop."""
    note(file, "began")
    try:
        await asyncio.Event().wait()
    finally:
        note(file, "stopped")


@tool(remote=LIGHT, timeout=3600)
def tick(file: str) -> None:
    """Block, refuse to be interrupted, and note that it lives."""
    while True:
        try:
            note(file, os.getpid())
            time.sleep(3600)
        except KeyboardInterrupt:
            pass


@tool(remote={"num_cpus": 1000}, timeout=1)
def too_big(file: str) -> None:
    """Need more resources than there are."""
    note(file)


@tool(remote=LIGHT)
def large(size: int) -> str:
    """Return this many characters."""
    return "x" * size


@tool(remote=LIGHT)
def measure(text: str) -> int:
    """Say how long a text is."""
    return len(text)


@tool(remote=LIGHT)
async def whoami() -> list[str]:
    """Say who it is called for, in which trace, and under which span of that."""
    from opentelemetry import trace

    around = trace.get_current_span().get_span_context()
    return [who.get(), f"{around.trace_id:x}", f"{around.span_id:x}"]


@tool(remote=LIGHT)
def told(context: ToolContext[Any]) -> dict[str, Any]:
    """Return its context."""
    return {
        "call": context.call.args,
        "ids": [context.execution_id, context.conversation_id, context.user_id],
        "place": [context.sandbox_dir, context.access],
        "state": dict(context.state),
    }


@tool(remote=LIGHT)
def use_deps(context: ToolContext[Any]) -> Any:
    """Use the program's `deps`."""
    return context.deps["answer"]


@tool(remote=LIGHT)
async def use_storage(context: ToolContext[Any]) -> Any:
    """Use the log."""
    return await context.storage.load_messages("c")


@tool(remote=LIGHT)
def speak(context: ToolContext[Any]) -> str:
    """Emit events while it runs, and ask that the run ends."""
    for number in range(3):
        context.emit({"type": "progress", "number": number})
    context.stop("enough")
    return "spoken"


class Plain:
    """An object that is a tool; it gets the arguments of the turn."""

    name, description, schema = "plain", "Says what it was given.", {}
    options = ToolOptions(remote=LIGHT)

    async def execute(self, **given: Any) -> list[str]:
        return sorted(given)


class Shelf:
    """State, and the tools that share it."""

    def __init__(self) -> None:
        self.things: list[str] = []
        self.users = 0
        self.most = 0

    @tool(remote=Actor(num_cpus=0.1))
    async def put(self, thing: str) -> list[str]:
        """Put a thing there."""
        self.things.append(thing)
        return self.things

    @tool(remote=Actor(num_cpus=0.1))
    def look(self) -> dict[str, Any]:
        """Look at it."""
        return {"things": self.things, "pid": os.getpid(), "most": self.most}

    @tool(remote=Actor(num_cpus=0.1))
    def use(self, file: str) -> None:
        """Use it alone until a file has a line, which cannot be interrupted."""
        self.users += 1
        self.most = max(self.most, self.users)
        wait_until(lambda: has_lines(file), "the file has no line")
        self.users -= 1

    @tool(remote=Actor(num_cpus=0.1))
    async def hold(self, file: str) -> None:
        """Hold it for ever."""
        note(file, "began")
        try:
            await asyncio.Event().wait()
        finally:
            note(file, "stopped")

    @tool(remote=Actor(num_cpus=0.1))
    def burn(self, file: str) -> None:
        """Have an effect, and end the worker."""
        note(file)
        perish()
