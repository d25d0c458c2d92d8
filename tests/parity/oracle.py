"""cogency 3.3.0 and cogency-rs over the same input, with outcomes that can be compared.

An outcome holds everything a caller can see (events with their keys in order, stored rows, what was raised), with
times replaced by `TIME` and reports of malformed blocks by `MALFORMED`, since both differ by nature.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import re
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from types import MappingProxyType
from typing import Any

import pytest

import cogency_rs
from cogency_rs import Execution, ToolCall, ToolResult

VERSION = "3.3.0"
TIME = "<time>"
MALFORMED = "<malformed block>"

OUR_REPORT = re.compile(
    r"Error: Malformed tool call syntax\. In the execute block: .+? at line \d+, column \d+\. "
    r"No call in it was run\. Write the whole block again, as one JSON array: "
    r'\[\{"name": "\.\.\.", "args": \{\.\.\.\}\}\]\.',
    re.DOTALL,
)
THEIR_REPORT = re.compile(
    r"Error: Malformed tool call syntax\. "
    r"(Invalid JSON in <execute> block: |Expected JSON array in <execute> block$|Call \d+ invalid: ).*",
    re.DOTALL,
)


def skip_without_cogency() -> None:
    """Skip the calling test module if cogency 3.3.0 is not installed."""
    if importlib.util.find_spec("cogency") is None:
        reason = "cogency is not installed: pip install 'cogency-rs[parity]' (Python 3.11 or 3.12)"
    elif metadata.version("cogency") != VERSION:
        reason = f"the oracle is cogency {VERSION}, not {metadata.version('cogency')}"
    else:
        return
    pytest.skip(reason, allow_module_level=True)


@cache
def cogency(name: str) -> Any:
    """The module `cogency.<name>`; the first import of cogency takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"cogency.{name}")


# What was raised.


@dataclass(frozen=True)
class Raised:
    """An exception, as far as the caller's `except` and log can tell it from another."""

    kind: str
    text: str

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        return cls(type(error).__name__, str(error))


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What `function` returns, or a `Raised`."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return Raised.of(error)


def run(awaitable: Awaitable[Any]) -> Any:
    """The outcome of an awaitable, on a loop of its own."""

    async def settle() -> Any:
        try:
            return await awaitable
        except (Exception, asyncio.CancelledError) as error:
            return Raised.of(error)

    return asyncio.run(settle())


# Events.

Shape = tuple[tuple[str, Any], ...]
"""An event's keys and values, in order."""


def shape(event: Any) -> Shape:
    if not isinstance(event, Mapping):
        return (("not an event", repr(event)),)
    return tuple((key, _value(key, value)) for key, value in event.items())


def _value(key: str, value: Any) -> Any:
    if key == "timestamp" and isinstance(value, float):
        return TIME
    if isinstance(value, dict):
        return tuple(value.items())
    return value


def event(kind: str, content: str | None = None, /, **more: Any) -> Shape:
    """The shape of an event as both parsers make it."""
    made = {"type": kind} | ({} if content is None else {"content": content})
    return shape({**made, "timestamp": 0.0, **more})


def content_of(shape: Shape) -> Any:
    return dict(shape).get("content")


def with_content(shape: Shape, content: str) -> Shape:
    return tuple((key, content if key == "content" else value) for key, value in shape)


def reports_named(shapes: Iterable[Shape], report: re.Pattern[str]) -> list[Shape]:
    """Shapes with each whole `report` of a malformed block replaced by `MALFORMED`."""
    return [
        with_content(shape, MALFORMED)
        if isinstance(content := content_of(shape), str) and report.fullmatch(content)
        else shape
        for shape in shapes
    ]


def joined(shapes: Iterable[Shape]) -> list[Shape]:
    """Shapes with each run of `think` or `respond` text as one event; a report stands alone."""
    runs: list[Shape] = []
    for shape in shapes:
        content, last = content_of(shape), runs[-1] if runs else None
        if (
            last is not None
            and MALFORMED not in (content, content_of(last))
            and dict(shape)["type"] == dict(last)["type"] in ("think", "respond")
        ):
            runs[-1] = with_content(last, content_of(last) + content)
        else:
            runs.append(shape)
    return runs


# The parser.


@dataclass(frozen=True)
class Parsed:
    """The events of a text, and the exception that was raised after them, if any."""

    events: list[Shape]
    raised: Raised | None = None

    def named(self, report: re.Pattern[str]) -> Parsed:
        return replace(self, events=reports_named(self.events, report))

    def joined(self) -> Parsed:
        return replace(self, events=joined(self.events))


async def stream(items: Iterable[Any]) -> AsyncIterator[Any]:
    """Items as they would arrive over a network; an exception among them is raised."""
    for item in items:
        if isinstance(item, BaseException):
            raise item
        yield item


def _parsed(make: Callable[[], AsyncIterator[Any]]) -> Parsed:
    """Drive a generator that waits for nothing, without a loop."""
    events: list[Shape] = []
    try:
        generator = make()
        while True:
            step = generator.__anext__()
            try:
                step.send(None)
            except StopIteration as done:
                events.append(shape(done.value))
            else:
                raise AssertionError("the parser waits for something other than its source")
    except StopAsyncIteration:
        return Parsed(events)
    except Exception as error:
        return Parsed(events, Raised.of(error))


Source = str | Sequence[Any]
"""A whole text, or its chunks; an exception among them is raised by the source."""


def their_parse(source: Source) -> Parsed:
    parse_tokens = cogency("core.parser").parse_tokens
    return _parsed(lambda: parse_tokens(source if isinstance(source, str) else stream(source)))


def our_parse(source: Source, **options: Any) -> Parsed:
    def make() -> AsyncIterator[Any]:
        return cogency_rs.parse_tokens(
            source if isinstance(source, str) else stream(source), **options
        )

    return _parsed(make)


# Tools.


@dataclass(frozen=True)
class Script:
    """A tool's behaviour when it is called.

    Attributes:
        value: what it returns, or the exception that it raises.
        how: `async` for a coroutine function, `plain` for a plain function.
        refuse: returns the tool's result for arguments that it refuses, and `None` for others.
    """

    value: Any = field(default_factory=lambda: ToolResult("done"))
    how: str = "async"
    refuse: Callable[[dict[str, Any]], Any] = lambda _: None


class Scripted:
    """A tool for both sides; it remembers what it was called with."""

    description = "acts out a script"
    schema: Mapping[str, Any] = {}

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self._script = script
        self.seen: list[dict[str, Any]] = []
        if script.how == "plain":
            self.execute = self._act
        else:
            self.execute = self._act_async

    def _act(self, **args: Any) -> Any:
        self.seen.append(args)
        if (refusal := self._script.refuse(args)) is not None:
            return refusal
        if isinstance(self._script.value, BaseException):
            raise self._script.value
        return self._script.value

    async def _act_async(self, **args: Any) -> Any:
        return self._act(**args)


class Sleeper(Scripted):
    """A tool whose calls never return.

    Attributes:
        started: set when a call has begun.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, Script())
        self.started = asyncio.Event()

    async def _act_async(self, **_: Any) -> None:
        self.started.set()
        await asyncio.Event().wait()


class ToolClass:
    """A class whose instances are tools."""

    name = "t"

    async def execute(self, **_: Any) -> ToolResult:
        return ToolResult("done")


# The executor.


@dataclass(frozen=True)
class Batch:
    """Calls, and the tools they are made to."""

    calls: tuple[tuple[Any, Any], ...]
    scripts: Mapping[str, Script]
    user_id: str = "user"


@dataclass(frozen=True)
class Executed:
    """Results in call order (or what was raised), and what each tool was called with."""

    results: Any
    seen: dict[str, list[dict[str, Any]]]


def _executed(
    batch: Batch, execute: Callable[..., Awaitable[Any]], schema: Mapping[str, Any]
) -> Executed:
    tools = [Scripted(name, script) for name, script in batch.scripts.items()]
    for tool in tools:
        tool.schema = schema
    results = run(
        execute(
            [ToolCall(*call) for call in batch.calls],
            execution=Execution("storage", tools, 7, "sandbox", "system"),
            user_id=batch.user_id,
            conversation_id="conversation",
        )
    )
    if isinstance(results, list):
        results = [result_fields(result) for result in results]
    return Executed(results, {tool.name: tool.seen for tool in tools})


def result_fields(result: Any) -> Any:
    if hasattr(result, "outcome") and hasattr(result, "error"):
        return (result.outcome, getattr(result, "content", None), result.error)
    return result


def their_execute(batch: Batch, schema: Mapping[str, Any] = MappingProxyType({})) -> Executed:
    return _executed(batch, cogency("core.executor").execute_tools, schema)


def our_execute(batch: Batch, schema: Mapping[str, Any] = MappingProxyType({})) -> Executed:
    return _executed(batch, cogency_rs.execute_tools, schema)


# The accumulator.


@dataclass(frozen=True)
class Scenario:
    """Turns of one accumulator.

    Attributes:
        turns: the events of each turn as some parser makes them; an exception among them is raised by it.
        scripts: the tools by name.
        stream: the accumulator's mode.
        max_failures: the option of the accumulator.
        failing_save: the number of the row, counted from 0, that the storage refuses.
    """

    turns: tuple[tuple[Any, ...], ...]
    scripts: Mapping[str, Script] = field(default_factory=dict)
    stream: str = "event"
    max_failures: float = 3
    failing_save: int | None = None


@dataclass(frozen=True)
class Turn:
    """The outcome of one turn.

    Attributes:
        batches: the calls and the results of each batch; only for cogency's turns.
    """

    events: list[Shape]
    rows: list[tuple[Any, ...]]
    raised: Raised | None = None
    batches: list[tuple[list[ToolCall], list[Any]]] = field(default_factory=list, compare=False)


class Log:
    """A storage that keeps its rows in a list."""

    def __init__(self, failing_save: int | None) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self._left = failing_save

    async def save_message(
        self,
        conversation_id: str,
        user_id: str,
        type: str,
        content: str,
        timestamp: float | None = None,
    ) -> str:
        if self._left is not None:
            self._left -= 1
            if self._left == -1:
                raise OSError("disk full")
        time = TIME if isinstance(timestamp, float) else timestamp
        self.rows.append((conversation_id, user_id, type, content, time))
        return "id"

    def take_rows(self) -> list[tuple[Any, ...]]:
        rows, self.rows = self.rows, []
        return rows


async def _turn(accumulator: Any, events: AsyncIterator[Any], log: Log) -> Turn:
    shapes: list[Shape] = []
    raised = None
    try:
        async for made in accumulator.process(events):
            shapes.append(shape(made))  # noqa: PERF401  # keeps the events before an error
    except (Exception, asyncio.CancelledError) as error:
        raised = Raised.of(error)
    return Turn(shapes, log.take_rows(), raised)


def _execution(scenario: Scenario, log: Log) -> Execution:
    tools = [Scripted(name, script) for name, script in scenario.scripts.items()]
    return Execution(log, tools, 7, "sandbox", "system")


def our_turns(scenario: Scenario, sources: Sequence[Any] = ()) -> list[Turn]:
    """Our turns, over `sources` if there are any, otherwise over the scenario's events."""

    async def turns() -> list[Turn]:
        log = Log(scenario.failing_save)
        accumulator = cogency_rs.Accumulator(
            "user",
            "conversation",
            execution=_execution(scenario, log),
            stream=scenario.stream,
            max_failures=scenario.max_failures,
        )
        events = sources or [stream(events) for events in scenario.turns]
        return [await _turn(accumulator, each, log) for each in events]

    return asyncio.run(turns())


def their_turns(scenario: Scenario, *, apart: bool = False) -> list[Turn]:
    """Cogency's turns. With `apart`, each turn has an accumulator of its own, and all share one circuit breaker."""
    module = cogency("core.accumulator")

    async def turns() -> list[Turn]:
        log = Log(scenario.failing_save)

        def make() -> Any:
            return module.Accumulator(
                "user",
                "conversation",
                execution=_execution(scenario, log),
                stream=scenario.stream,
                max_failures=scenario.max_failures,
            )

        accumulator = make()
        done: list[Turn] = []
        for events in scenario.turns:
            if apart:
                breaker, accumulator = accumulator.circuit_breaker, make()
                accumulator.circuit_breaker = breaker
            with _observed(module) as batches:
                turn = await _turn(accumulator, stream(events), log)
            done.append(replace(turn, batches=batches))
        return done

    return asyncio.run(turns())


class _observed:  # noqa: N801
    """Notes the batches that cogency's accumulator runs, and changes nothing."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._execute = module.execute_tools

    def __enter__(self) -> list[Any]:
        batches: list[Any] = []

        async def execute_tools(calls: list[Any], **options: Any) -> list[Any]:
            results = await self._execute(calls, **options)
            batches.append((list(calls), results))
            return results

        self._module.execute_tools = execute_tools
        return batches

    def __exit__(self, *_: object) -> None:
        self._module.execute_tools = self._execute


# The context.


class Stored:
    """A filled storage, which notes how it is read."""

    def __init__(self, events: Any, profile: Any = None) -> None:
        self._events = events
        self._profile = profile
        self.asked: list[Any] = []

    async def load_messages(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.append((args, kwargs))
        if isinstance(self._events, Exception):
            raise self._events
        return self._events

    async def load_profile(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.append((args, kwargs))
        if isinstance(self._profile, Exception):
            raise self._profile
        return self._profile


class LogOfAda(Stored):
    """A storage whose only conversation is the one named `talk`, of the user `ada`."""

    async def load_messages(self, conversation_id: str, user_id: str, **_: Any) -> Any:
        return self._events if (conversation_id, user_id) == ("talk", "ada") else []
