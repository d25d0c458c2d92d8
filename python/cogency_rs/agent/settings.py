"""What all runs of an agent have in common, and the checks of an agent's arguments when it is made."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from os import PathLike, fsdecode, fspath
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from .._core import ArgumentSchema, Dialect
from ..context.history import History
from ..errors import ConfigError
from ..execution.scheduling import CallOptions
from ..guards.arguments import check_instance
from ..guards.json import read_json
from ..hooks.approval import Approval
from ..hooks.hooks import HookList
from ..runs.context import RunContext, RunLimits
from ..runs.result import NO_OUTPUT
from ..storage.log import is_log
from ..storage.memory import Memory
from ..tools.hints import HintError, Shapes
from ..tools.schema import Mismatch, read_at
from ..tools.toolbox import SortedTools
from ..types import CallMode, Dialects, Execution, StreamMode, ToolCall
from . import drivers
from .drivers import Driver, TextDriver
from .prompt import Prompts
from .run_hooks import Triggers
from .runtime import Instructions, Runtime

if TYPE_CHECKING:
    from ..telemetry.spans import Tracing
    from .serving import Serving


@dataclass(frozen=True)
class Fault:
    """Why an answer does not have the type that was asked for.

    Attributes:
        message: the message to the model: what is wrong, and what to write instead.
    """

    message: str


class OutputReader(Protocol):
    """Reads the final answer.

    Attributes:
        is_text: whether any text is an answer.
    """

    is_text: bool

    @property
    def instructions(self) -> str:
        """What the system prompt says about it; "" for nothing."""
        ...

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema that a provider may be asked for; `None` for none."""
        ...

    def read(self, text: str) -> Any:
        """The value that the text of an answer means, or a `Fault`."""
        ...


class TextOutput:
    """The answer as it is."""

    is_text: bool = True
    instructions: str = ""
    schema: dict[str, Any] | None = None

    def read(self, text: str) -> str:
        """The text itself."""
        return text


def text_of(output: Any) -> str:
    """An output as text: a string as it is, any other value as JSON; "" if there is no output."""
    if isinstance(output, str):
        return output
    if output is NO_OUTPUT:
        return ""
    return json.dumps(output, ensure_ascii=False, default=str)


_NAME = "answer"
_OPENING = re.compile(r"^ {0,3}`{3,}[A-Za-z0-9]*[^\S\n]*\n", re.MULTILINE)
_CLOSING = re.compile(r"\n?(?<!`)`{3,}[^\S\n]*$", re.MULTILINE)


class ValueOutput:
    """The answer as a value, which the model writes as JSON.

    Args:
        hint: the type of the value; anything that a parameter of a tool may be.

    Attributes:
        is_text: whether any text is an answer: no.
        instructions: what the system prompt says about it.
        schema: the JSON Schema of the value, if it is an object; providers take no other.

    Raises:
        ConfigError: JSON cannot hold such a value; the message says why.
    """

    is_text: bool = False

    def __init__(self, hint: Any) -> None:
        shapes = Shapes({})
        try:
            self._shape = shapes.of(hint)
        except HintError as error:
            raise ConfigError(f"output_type {error}", cause=error) from error
        definitions = {"$defs": shapes.definitions} if shapes.definitions else {}
        whole = _flattened(self._shape.schema, shapes.definitions)
        if "#/$defs/" in json.dumps(whole):
            whole |= definitions
        self._check = ArgumentSchema(
            {
                "type": "object",
                "properties": {_NAME: self._shape.schema},
                "required": [_NAME],
                **definitions,
            }
        )
        self.schema: dict[str, Any] | None = whole if whole.get("type") == "object" else None
        self.instructions = (
            "Write your final answer, the one in which you call no tool, as one JSON value that fits this JSON Schema, "
            f"and write nothing else in it:\n{json.dumps(whole, ensure_ascii=False)}"
        )

    def read(self, text: str) -> Any:
        """Read the value, which may be in a Markdown fence; returns a `Fault` if there is none. Linear in the text."""
        try:
            value = read_json(_in_fence(text), strict=False, parse_constant=_refuse)
        except ValueError as error:
            return self._fault(f"it is not JSON: {error}")
        if faults := self._check.faults({_NAME: value}):
            return self._fault("; ".join(faults))
        try:
            return read_at(_NAME, self._shape.read, value)
        except Mismatch as mismatch:
            return self._fault(str(mismatch))
        except RecursionError:
            return self._fault("it is nested too deep")

    def _fault(self, problem: str) -> Fault:
        return Fault(
            f"Your answer is not what was asked for: {problem}. Write it again: one JSON value that fits the schema, "
            "and nothing else."
        )


def _in_fence(text: str) -> str:
    """What is in the first Markdown fence; the text itself if there is none.

    Linear in the text: a fence that is never closed is followed by none that is.
    """
    opening = _OPENING.search(text)
    closing = opening and _CLOSING.search(text, opening.end())
    return text[opening.end() : closing.start()] if opening and closing else text


def _refuse(constant: str) -> Any:
    """Refuse NaN and the infinities, which Python's reader takes."""
    raise ValueError(f"JSON has no {constant}")


def _flattened(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Replace a schema that is a reference by its target: providers want an object at the top."""
    reference = schema.get("$ref", "")
    return dict(definitions.get(reference.rpartition("/")[2], schema)) if reference else schema


@dataclass(frozen=True)
class AgentSettings:
    """The options of an agent, checked; see `Agent`."""

    model: Any
    tools: SortedTools
    serving: Serving | None
    driver: Driver
    storage: Any
    instructions: Instructions
    limits: RunLimits
    history: History
    hooks: HookList
    approve: Approval | None
    calls: CallOptions
    output: OutputReader
    name: str
    tracing: Tracing | None
    prompts: Prompts
    calls_agents: bool  # whether one of the tools is an agent

    def execution(self, ctx: RunContext[Any]) -> Execution:
        """What the tools of a run get."""
        return Execution(storage=ctx.storage, tools=self.tools, deps=ctx.deps)

    def runtime(
        self,
        ctx: RunContext[Any],
        execution: Execution,
        triggers: Triggers,
        stream: StreamMode,
        calls: CallMode,
    ) -> Runtime:
        """What the driver of a run works with."""
        # A mock has every attribute. No answer in the form of the schema calls a tool, as each must that has to.
        wants_schema = getattr(self.model, "structured_output", False) is True
        return Runtime(
            ctx=ctx,
            model=self.model,
            execution=execution,
            toolbox=self.tools.toolbox,
            triggers=triggers,
            history=self.history,
            instructions=self.instructions,
            answer_form=self.output.instructions,
            stream=stream,
            calls=calls,
            eager=self.calls.eager,
            output_schema=(
                self.output.schema if wants_schema and not ctx.limits.require_tool else None
            ),
            prompts=self.prompts,
        )

    @property
    def joins_exactly(self) -> bool:
        """Whether the driver reads text whose space is exact, even after reasoning; see `Driver`."""
        return getattr(self.driver, "joins_exactly", False) is True


DriverName = Literal["text", "native", "react"]

_DRIVERS = {"text": "TextDriver", "native": "NativeDriver", "react": "ReActDriver"}
"""The classes of drivers, by their names for an agent. Each is loaded when it is first used."""


def storage_of(storage: Any) -> Any:
    """Return the storage, if it can be the agent's log; for the path of a file or an address, the log that is there."""
    if storage is None:
        return Memory()
    if isinstance(storage, str | PathLike):
        return _log_at(fspath(cast("str | PathLike[str]", storage)))
    given: object = storage
    missing = [
        name
        for name in ("save_message", "load_messages")
        if not callable(getattr(storage, name, None))
    ]
    if isinstance(storage, type) or (missing and not is_log(storage)):
        raise ConfigError(
            f"{storage!r} cannot be the log of an agent: it needs the methods of Log, or at least "
            "save_message and load_messages; give the path of a file, or leave it out for a log in memory"
        )
    if is_log(storage) and not hasattr(type(given), "owner"):
        raise ConfigError(
            f"{storage!r} cannot be the log of an agent: it has no owner(conversation_id), which says whose a "
            "conversation is; see Log.owner"
        )
    return storage


_HOST = r"[\w.-]+:\d+(/.*)?|[\w.:-]+@[\w.:-]+/.*"
"""A host with a port, or with a user: an address that lacks its scheme."""


def _log_at(place: str | bytes) -> Any:
    """The log in a file, or in a database that an address names."""
    import re  # here, since most agents are given a log, or have one in memory
    from pathlib import Path

    place = fsdecode(place)
    if not place.strip():
        raise ConfigError(f"storage={place!r} names no file")
    from ..storage.postgres.connection import is_dsn

    if is_dsn(place):
        from ..storage.postgres import PostgreSQL

        return PostgreSQL(place)
    scheme, mark, _ = place.partition("://")
    if mark:
        raise ConfigError(
            f"storage cannot be an address that begins with {scheme}://; there is postgresql://user@host/database, and "
            "the path of a file is for SQLite"
        )
    if re.fullmatch(_HOST, place) and not Path(place).exists():
        raise ConfigError(
            f"storage={place!r} could be a file or a database on a server; write postgresql://user@host/database for "
            f"the server, and ./{place} for a file"
        )
    from ..storage.sqlite import SQLite

    return SQLite(place)


def driver_of(driver: Any, dialect: Dialects | None, model: Any) -> Driver:
    """Return the driver that an argument means; without one, the driver that suits the model."""
    if driver is None:
        driver = "native" if dialect is None and calls_natively(model) else "text"
    if driver == "text":
        driver = TextDriver()
    if isinstance(driver, TextDriver) and driver.takes_dialect:
        is_guess = dialect is None and taught_by(model) is None
        spoken = dialect_of(model) if dialect is None else dialect
        return driver.speaking(spoken, until_told=is_guess)
    if dialect is not None:
        raise ConfigError(
            'dialect is what the driver "text" speaks: leave it out, or give driver="text"'
        )
    if isinstance(driver, str):
        if driver not in _DRIVERS:
            known = ", ".join(f'"{name}"' for name in _DRIVERS)
            raise ConfigError(
                f"there is no driver {driver!r}; choose one of {known}, or give a Driver"
            )
        named: Driver = getattr(drivers, _DRIVERS[driver])()
        return named
    if not callable(getattr(driver, "step", None)) or isinstance(driver, type):
        raise ConfigError(f"{driver!r} cannot be a driver: it needs a method step(run, runtime)")
    given: Driver = driver
    return given


def calls_natively(model: Any) -> bool:
    """Whether a model says that its service has its own tool calls for it."""
    return getattr(model, "calls_natively", False) is True  # a mock has every attribute


def dialect_of(model: Any) -> str | Dialect:
    """The dialect that a model says it was taught, or else the one that suits any model."""
    return taught_by(model) or "cogency"


def taught_by(model: Any) -> Dialect | None:
    """The dialect that a model says it was taught."""
    taught: object = getattr(model, "dialect", None)
    return taught if isinstance(taught, Dialect) else None


def check_limits(limits: RunLimits, settings: AgentSettings) -> None:
    """Check that runs of an agent can keep limits.

    Raises:
        ConfigError: there is no tool to stop at, or no conversation can be claimed.
    """
    named = (ToolCall(name, {}) for name in limits.stop_at_tools)
    unknown = sorted(
        each.name for each in named if settings.tools.toolbox.resolve(each).tool is None
    )
    if unknown and settings.serving is None:  # a server may have it
        known = ", ".join(settings.tools.toolbox.names)
        raise ConfigError(
            f"stop_at_tools names {unknown[0]!r}, but there is no such tool. Tools: {known}"
        )
    storage: object = settings.storage
    if limits.on_busy == "error" and not hasattr(type(storage), "claim"):
        raise ConfigError(
            f'on_busy="error" needs a storage that can claim conversations: {storage!r} has no claim'
        )


def output_of(output_type: Any) -> OutputReader:
    """Return the reader for answers of a type; for `None` and `str` that of text."""
    if output_type in (None, str):
        return TextOutput()

    return ValueOutput(output_type)


def driver_name(driver: Driver) -> str:
    """The name by which an agent is given this driver; that of its class for a driver of another kind."""
    kind = type(driver)
    for name, ours in _DRIVERS.items():
        if kind.__name__ == ours and kind is getattr(drivers, ours):
            return name
    return kind.__name__


def dialect_names(dialect: Dialects | None) -> str | None:
    """The names of the dialects that a model may write."""
    spoken = dialect if isinstance(dialect, tuple) else (dialect,)
    names = [each if isinstance(each, str) else each.name for each in spoken if each is not None]
    return ", ".join(names) or None


def instance_of(kind: Any, name: str, given: Any) -> Any:
    """Return an option that must be of a class, or its default."""
    if given is None:
        return kind()
    check_instance(name, given, kind)
    return given
