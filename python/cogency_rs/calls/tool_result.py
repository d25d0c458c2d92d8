"""Makes a `ToolResult` of whatever a tool returned or raised, or the world says of a call that was cut short."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .._core import check_json
from ..errors import BlockTool, DeniedError, StopRun, ToolError, UnknownOutcome
from ..guards.arguments import check_count, check_seconds, refused
from ..types import CallEnd, ToolResult


def failure(
    message: str, exception: BaseException | None = None, status: CallEnd = "failure"
) -> ToolResult:
    """Make the result of a call that failed, in this way."""
    return ToolResult(outcome=message, error=True, exception=exception, status=status)


def status_of(result: ToolResult) -> CallEnd:
    """How a call with this result ended."""
    if not result.error:
        return "success"
    status: CallEnd | None = getattr(result, "status", None)  # cogency's own results lack it
    return "failure" if status in (None, "success") else status


def exception_of(result: object) -> BaseException | None:
    """The cause of a failure, if it is known. A result of another class, such as cogency's, may not hold it."""
    return getattr(result, "exception", None)


def cancelled(error: BaseException | None = None) -> ToolResult:
    """Make the result of a call that was stopped together with its batch."""
    return failure("Cancelled", error, "cancelled")


def failure_of(error: BaseException) -> ToolResult:
    """Make the result of a call whose tool raised. How it ended is told from the exception here, and nowhere else."""
    return failure(f"Tool execution failed: {reason(error)}", error, _end_of(error))


def _end_of(error: BaseException) -> CallEnd:
    match error:
        case BlockTool():
            return "blocked"
        case DeniedError():
            return "denied"
        case UnknownOutcome():
            return "unknown"
        case ToolError(timeout=True):
            return "timeout"
        case asyncio.CancelledError():
            return "cancelled"
        case _:
            return "failure"


def unknown(name: str, why: str = "") -> ToolResult:
    """Make the result of a call that was running when its program ended.

    Args:
        name: the tool's name.
        why: why that could not be found out.
    """
    asked = f", and {why}" if why else ""
    text = (
        f"It is not known whether the call to '{name}' happened: the program that ran it ended{asked}. It was not run "
        "again. Find out whether it had its effect before you call it again."
    )
    return failure(text, UnknownOutcome(text), "unknown")


def stopped(error: StopRun) -> ToolResult:
    """Make the result of a call that ended the run; a success."""
    return ToolResult(outcome=f"The run is stopped{error.message and f': {error.message}'}")


def is_own_failure(error: BaseException) -> bool:
    """Whether a tool raised this to say in its own words why it failed: a `ToolError`, ours or cogency's."""
    # If cogency is not loaded, nothing can have raised its error.
    theirs = getattr(sys.modules.get("cogency.core.errors"), "ToolError", ToolError)
    return isinstance(error, (ToolError, theirs))


def reason(error: BaseException) -> str:
    """Why a tool failed: the class and text of its error; only the text if that is in the tool's own words."""
    try:
        text = str(error)
    except Exception:
        text = ""
    match error:
        case SystemExit():
            return f"the tool asked the program to exit with {error.code!r}"
        case KeyboardInterrupt():
            return "interrupted"
        case asyncio.CancelledError():
            return f"the tool cancelled itself{text and f': {text}'}"
        case _ if text and is_own_failure(error):
            return text
        case BaseExceptionGroup():
            return f"{type(error).__name__}: {text}: {_parts(error)}"
        case _:
            return f"{type(error).__name__}{text and f': {text}'}"


_MOST_PARTS = 5


def _is_group(error: object) -> bool:
    return isinstance(error, BaseExceptionGroup)


def _parts(group: BaseExceptionGroup[BaseException]) -> str:
    """Why each part of a group failed, groups in it opened; those after the first five are counted."""
    found: list[str] = []
    waiting: list[BaseException] = [group]
    while waiting:
        error = waiting.pop()
        parts: Any = getattr(error, "exceptions", ()) if _is_group(error) else ()
        waiting += reversed(parts)
        if not parts:
            found.append(reason(error))
    more = len(found) - _MOST_PARTS
    return "; ".join([*found[:_MOST_PARTS], *([f"and {more} more"] if more > 0 else [])])


def is_result(value: object) -> bool:
    """Whether a tool returned a result and not a value of its own: a `ToolResult`, ours or cogency's.

    Its class decides: a value with fields of the same names is a value.
    """
    # If cogency is not loaded, nothing can have made its result.
    theirs = getattr(sys.modules.get("cogency.core.protocols"), "ToolResult", ToolResult)
    return isinstance(value, (ToolResult, theirs))


def is_plain(value: Any) -> bool:
    """Whether a value is a `ToolResult` of plain texts, as most are, in which there is nothing to check."""
    if type(value) is not ToolResult:
        return False
    content: object = value.content
    is_text = type(value.outcome) is str and (content is None or type(content) is str)
    return is_text and type(value.error) is bool


def as_result(value: Any, is_result: Callable[[object], bool] = is_result) -> ToolResult:
    """Make a result of what a tool returned: a failure, if it cannot be read or written as JSON.

    Args:
        value: what the tool returned.
        is_result: whether that is a result already, and not the content of one.
    """
    try:
        if not is_result(value):
            value = ToolResult(outcome="Success", content=value)
        elif not hasattr(value, "content"):
            value = ToolResult(outcome=value.outcome, error=value.error)
        problem = _not_json("outcome", value.outcome)
        if problem is None and not value.error:  # only the outcome of a failure is shown
            problem = _not_json("content", value.content)
    except Exception as error:
        problem = f"its result cannot be read: {reason(error)}"
    return value if problem is None else failure(f"Tool execution failed: {problem}")


def _not_json(field: str, item: Any) -> str | None:
    """Why a field of a result cannot be written as JSON, or `None`."""
    if item is None or isinstance(item, str):
        return None
    try:
        check_json(item)
    except Exception as error:
        why = str(error) or type(error).__name__
        return f"its {field} ({type(item).__name__}) is not a JSON value: {why}"
    return None


@dataclass(frozen=True)
class Happened:
    """The call had its effect.

    Attributes:
        result: what the tool would have returned; the model reads it.
    """

    result: Any = None


@dataclass(frozen=True)
class NotHappened:
    """The call had no effect, so it may run, with the same `execution_id`."""


@dataclass(frozen=True)
class Unknown:
    """It is unknown whether the call had its effect.

    Attributes:
        why: the reason; the model reads it.
        again_in: seconds after which the function is asked again, because it may be known by then; `None` if asking
            again does not help.

    Raises:
        ConfigError: `again_in` is not a time.
    """

    why: str = ""
    again_in: float | None = None

    def __post_init__(self) -> None:
        check_seconds("again_in", self.again_in)


Outcome = Happened | NotHappened | Unknown


@dataclass(frozen=True)
class UnsettledCall:
    """A call whose outcome is unknown, as a `reconcile` gets it.

    Attributes:
        id: its id in the log.
        execution_id: the `ToolContext.execution_id` of its tool.
        name: the tool's name.
        args: its arguments, as the model wrote them.
        conversation_id: the conversation that it is part of.
        user_id: whose conversation that is; may be empty.
        attempt: how many times the tool was started, as far as the log knows.
        started_at: when it was started, in UTC; `None` if that is not known.
        worker: the process that started it, `"host:pid"`.
        deps: the `deps` of the run that asks.
        waited: seconds since the function was first asked about the call in this run. The program that began the call
            was gone by then, so anything that it sent has been on its way for longer.
    """

    id: str
    execution_id: str
    name: str
    args: dict[str, Any]
    conversation_id: str
    user_id: str
    attempt: int
    started_at: datetime | None
    worker: str | None
    deps: Any = None
    waited: float = 0.0


AskOutcome = Callable[[UnsettledCall], Outcome | Awaitable[Outcome]]


@dataclass(frozen=True)
class Reconcile:
    """What `@tool(reconcile=…)` takes: a function, and how often and how long to ask it.

    The function alone stands for this with the default values.

    Attributes:
        ask: looks whether a call had its effect, without having one itself. A plain function runs in a worker thread.
        timeout: seconds that one try may take; a plain function is then abandoned, and ends on its own.
        tries: how often it is asked about one call at most, if it raises or takes too long.
        within: seconds from the first question on in which an answer `Unknown(…, again_in=…)` counts: after them, or
            when the time of the run is up, the outcome stays unknown.

    Raises:
        ConfigError: `ask` is not a function, or another value is out of range.
    """

    ask: AskOutcome
    timeout: float = 30.0
    tries: int = 3
    within: float = 120.0

    def __post_init__(self) -> None:
        if not callable(self.ask):
            raise refused("ask", self.ask, "a function of a call")
        check_seconds("timeout", self.timeout)
        check_count("tries", self.tries, or_none=False)
        given: Any = self.within
        if given is None:  # `check_seconds` takes it for no limit
            raise refused("within", self.within, "above 0 seconds and at most a year")
        check_seconds("within", self.within)

    @classmethod
    def of(cls, given: AskOutcome | Reconcile | None) -> Reconcile | None:
        """Read an option `reconcile`.

        Raises:
            ConfigError: it is something else.
        """
        if given is None or isinstance(given, Reconcile):
            return given
        if not callable(given):
            raise refused("reconcile", given, "a function of a call, a Reconcile, or None")
        return cls(given)
