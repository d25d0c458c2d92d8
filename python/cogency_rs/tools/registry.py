"""Checks tools and calls before a batch, decides whether a call may start, and binds its arguments to its tool."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigError, ToolError
from ..guards.arguments import check_list, refused
from ..types import ToolCall, ToolResult
from .cogency import injected_into

CO_COROUTINE = inspect.CO_COROUTINE

_decode = (
    json.JSONDecoder().raw_decode
)  # a parser writes no space around it, so none has to be skipped

if TYPE_CHECKING:
    from .context import ToolContext

__all__ = [
    "UnreadableCall",
    "bound",
    "check_calls",
    "check_name",
    "first_by_name",
    "is_blocking",
    "is_coroutine_function",
    "is_plain_function",
    "is_usable_name",
    "listed_tools",
    "name_of",
    "refusal",
    "tool_call",
    "tools_by_name",
]


def tools_by_name(tools: Iterable[Any]) -> dict[str, Any]:
    """Tools by name.

    Raises:
        ConfigError: an object cannot be a tool, or two tools have the same name.
    """
    names: dict[str, Any] = {}
    for tool in tools if isinstance(tools, list | tuple) else listed_tools(tools):
        name: Any = None
        try:
            name = tool.name
            is_fine = type(name) is str and callable(tool.execute) and not isinstance(tool, type)
        except AttributeError:
            is_fine = False
        if not is_fine:
            name = name_of(tool)
        if names.setdefault(name, tool) is not tool:
            raise ConfigError(
                f"two tools are named {name!r}, so a call of that name could mean either: rename one"
            )
    return names


def listed_tools(tools: Any) -> list[Any]:
    """Read the argument `tools`.

    Raises:
        ArgumentError: it is one tool, or cannot be a list of tools.
    """
    is_list = type(tools) in (list, tuple)  # almost always, and quick
    if not is_list and (inspect.isroutine(tools) or callable(getattr(tools, "execute", None))):
        name = getattr(tools, "name", None) or getattr(tools, "__name__", "…")
        raise refused("tools", tools, "a list of tools", f"write tools=[{name}]")
    return check_list("tools", tools, "tools")


_FUNCTIONS: tuple[type, ...] = (FunctionType, MethodType, partial)


def is_plain_function(given: Any) -> bool:
    """Whether it is a function of which `@tool` makes a tool, and none yet."""
    return any(isinstance(given, kind) for kind in _FUNCTIONS) and not hasattr(given, "execute")


def name_of(tool: Any) -> str:
    """The name of a tool.

    Raises:
        ConfigError: the object cannot be a tool.
    """
    name = getattr(tool, "name", None)
    needs_instance = isinstance(tool, type) and inspect.isfunction(
        inspect.getattr_static(tool, "execute", None)
    )
    if isinstance(name, str) and not needs_instance:
        if callable(getattr(tool, "execute", None)):
            return name
        raise ConfigError(f"tool {name!r} has no execute method")
    raise ConfigError(f"{tool!r} cannot be a tool: {_advice(tool)}")


def _advice(tool: Any) -> str:
    if inspect.isroutine(tool):
        return "make a tool of the function with @cogency_rs.tool"
    if isinstance(tool, type):
        return "hand over an instance of the class"
    return "it needs a name that is a str, and an execute method"


# Providers take letters, digits, `_` and `-`, up to 64. Calls that are written like Python's begin with no digit.
_USABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)


def is_usable_name(name: str) -> bool:
    """Whether every provider and dialect takes a tool of this name."""
    return _USABLE.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Check the name of a tool that a prompt lists.

    Raises:
        ConfigError: not every provider and dialect takes it.
    """
    if not is_usable_name(name):
        raise ConfigError(
            f"a tool cannot be named {name!r}: a name begins with a letter or _, goes on with letters, digits, _ and - "
            "of ASCII, and has at most 64 of them, since providers refuse others; give it another name"
        )


def first_by_name(tools: Iterable[Any], wanted: Iterable[Any]) -> dict[str, Any]:
    """The wanted tools by name, as cogency 3.3.0 finds them: among tools of one name, the first counts.

    It stops when all wanted tools are found, so the dict may have others too, and not all.
    """
    missing = {name if isinstance(name, str) else None for name in wanted}
    names: dict[str, Any] = {}
    for tool in tools:
        if not missing:
            break
        name = tool.name
        if name not in names:
            names[name] = tool
            missing.discard(name)
    return names


def check_calls(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls of a batch, checked, as a list.

    Raises:
        TypeError: one of them is not a call.
    """
    if isinstance(calls, ToolCall):
        raise refused("calls", calls, "a list of ToolCalls", "for one call there is execute_tool")
    listed = check_list("calls", calls, "ToolCalls")
    kinds = {*map(type, listed)}
    if len(kinds) == 1 and ToolCall in kinds:
        return listed
    for one in {type(call): call for call in listed}.values():  # cogency's own are of another class
        if not (hasattr(one, "name") and hasattr(one, "args")):
            raise refused("calls", one, "a list of ToolCalls")
    return listed


class UnreadableCall(ToolCall):
    """A call whose arguments Python cannot read; it fails without being started."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, {})
        self.problem = problem


def tool_call(text: str) -> ToolCall:
    """Read the JSON text of a call, as the parser writes it."""
    try:
        call, _ = _decode(text)
    except (ValueError, RecursionError) as error:
        # Valid JSON, but an integer has more digits, or brackets are nested deeper, than Python reads.
        name, _ = _decode(text, len('{"name": '))
        return UnreadableCall(name, str(error))
    return ToolCall(call["name"], call["args"], call.get("id"), call.get("server"))


def refusal(call: ToolCall, tool: Any, missing: Callable[[ToolCall], str]) -> ToolResult | None:
    """The result of a call that cannot start; `None` for one that can.

    Args:
        call: a resolved call.
        tool: the tool that the call means; `None` if there is none.
        missing: writes the message for a call that means no tool.
    """
    from .arguments import faults

    if tool is None:
        return _refused(missing(call))
    if isinstance(call, UnreadableCall):
        return _refused(f"Tool execution failed: its arguments cannot be read: {call.problem}")
    if not isinstance(call.args, dict):
        kind = type(call.args).__name__
        return _refused(
            f"Invalid arguments for tool '{call.name}': they must be an object, got {kind}"
        )
    if problems := faults(tool, call.args):
        return _refused(f"Invalid arguments for tool '{call.name}': {'; '.join(problems)}")
    return None


def _refused(message: str) -> ToolResult:
    from ..calls.tool_result import failure

    return failure(message, ToolError(message, validation_failed=True))


def is_blocking(tool: Any, execute: Any) -> bool:
    """Whether a tool runs in a worker thread: it has `blocking = True`, or `execute` is not a coroutine function."""
    # A mock has every attribute.
    return getattr(tool, "blocking", False) is True or not is_coroutine_function(execute)


def is_coroutine_function(function: Any) -> bool:
    """The same as `inspect.iscoroutinefunction`, but faster for an `async def`."""
    try:
        if function.__code__.co_flags & CO_COROUTINE:
            return True
    except (AttributeError, TypeError):
        pass
    return inspect.iscoroutinefunction(function)


class TurnInputs(Protocol):
    """The values that a turn gives to tools."""

    execution: Any
    injected: dict[str, Any]

    def context(self, index: int, call: ToolCall) -> ToolContext[Any]: ...


def bound(
    tool: Any, call: ToolCall, index: int, turn: TurnInputs
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function that carries out a call whose arguments have been checked, and that function's keyword arguments.

    A tool made by `@tool` gets the model's arguments and, if it asks for it, the context. An object with
    `execute(**kwargs)` gets the model's arguments and those of the turn, except for names that its own schema declares;
    if its schema allows no further arguments, it gets only the model's.
    """
    from .arguments import checks_itself
    from .signature import is_object, json_schema_of

    if checks_itself(tool):
        if (run := tool.run_checked) is None:
            own: Any = tool
            return own.execute, call.args
        return run, {
            "args": call.args,
            "context": turn.context(index, call) if tool.takes_context else None,
        }
    injected = injected_into(call.name, turn.injected, turn.execution)
    schema = getattr(tool, "schema", None)
    if not schema or not is_object(schema):
        return tool.execute, {**call.args, **injected}
    full = json_schema_of(tool)
    if full is not None and full.get("additionalProperties") is False:
        return tool.execute, call.args
    declared = schema if full is None else full.get("properties", {})
    given = {name: value for name, value in injected.items() if name not in declared}
    return tool.execute, {**call.args, **given}
