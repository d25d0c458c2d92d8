"""Checks tools and calls before a batch, decides whether a call may start, and binds its arguments to its tool."""

from __future__ import annotations

import inspect
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from .._core import ArgumentSchema
from ..errors import ArgumentError, ConfigError, ToolError
from ..guards.arguments import check_list, refused
from ..types import ToolCall, ToolResult
from .cogency import injected_into

if TYPE_CHECKING:
    from .context import ToolContext


Schema = Mapping[str, Any]


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value is an object in JSON's sense."""
    return isinstance(value, dict)


def json_schema_of(tool: Any) -> Schema | None:
    """The JSON Schema of a tool's parameters; `None` if it has only cogency's flat form."""
    schemas = (getattr(tool, name, None) for name in ("json_schema", "schema"))
    return next(filter(is_json_schema, schemas), None)


def is_json_schema(schema: Any) -> TypeGuard[Schema]:
    """Whether a schema is JSON Schema, and not cogency's flat form."""
    match schema:
        case {"type": "object", "properties": {}}:
            return True
        case _:
            return False


def signature(tool: Any, schema: Schema) -> str:
    """Write a tool for a prompt.

    Returns:
        A line, `name(parameters) - description`; below it, indented, what each parameter is for, and the types that the
        parameters refer to.
    """
    parameters = ", ".join(_fields(schema, with_defaults=True))
    lines = [f"{tool.name}({parameters}) - {tool.description}".removesuffix(" - ")]
    for name, property in _properties(schema):
        if about := _about(property):
            lines.append(f"{name}: {about}")
    for name, definition in schema.get("$defs", {}).items():
        about = f" - {definition['description']}" if definition.get("description") else ""
        lines.append(f"{name} = {type_text(definition)}{about}")
        for field, property in _properties(definition):
            if about := _about(property):
                lines.append(f"{name}.{field}: {about}")
    return "\n    ".join(line for line in "\n".join(lines).splitlines() if line.strip())


def type_text(schema: Any) -> str:
    """A schema as a type expression, in the notation of TypeScript."""
    match schema:
        case {"$ref": str(reference)}:
            return reference.rpartition("/")[2]
        case {"const": value}:
            return json.dumps(value, ensure_ascii=False)
        case {"enum": [*values]}:
            return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
        case {"anyOf": [*members]} | {"oneOf": [*members]}:
            return " | ".join(dict.fromkeys(map(type_text, members)))
        case {"allOf": [*members]}:
            return " & ".join(map(_in_brackets, members))
        case {"type": [*kinds]}:
            return " | ".join(type_text({**schema, "type": kind}) for kind in kinds)
        case {"type": "array", "prefixItems": [*items]}:
            return f"[{', '.join(map(type_text, items))}]"
        case {"type": "array"}:
            return f"{_in_brackets(schema.get('items'))}[]"
        case {"type": "object", "properties": {}}:
            return f"{{{', '.join(_fields(schema))}}}"
        case {"type": "object", "additionalProperties": {**item}}:
            return f"{{[name]: {type_text(item)}}}"
        case {"type": str(kind)}:
            return kind
        case _:
            return "any"


def _in_brackets(schema: Any) -> str:
    text = type_text(schema)
    return f"({text})" if " | " in text or " & " in text else text


def _properties(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for name, property in schema.get("properties", {}).items():
        yield name, property if isinstance(property, Mapping) else {}  # true is a schema too


def _fields(schema: Schema, *, with_defaults: bool = False) -> Iterator[str]:
    required = {name for name in schema.get("required", ()) if isinstance(name, str)}
    for name, property in _properties(schema):
        mark = "" if name in required else "?"
        default = ""
        if with_defaults and property.get("default") is not None:
            default = f" = {json.dumps(property['default'], ensure_ascii=False)}"
        yield f"{name}{mark}: {type_text(property)}{default}"
    if schema.get("additionalProperties") is True:
        yield "..."


BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
    "format": "{}",
}
"""The bounds of JSON Schema, as text."""


def _about(schema: Schema) -> str:
    """What a property is for, and its bounds."""
    bounds = [text.format(schema[key]) for key, text in BOUNDS.items() if key in schema]
    if "prefixItems" in schema:  # its length is in its type
        bounds = []
    return "; ".join(filter(None, [schema.get("description"), ", ".join(bounds)]))


def parameters_of(tool: Any) -> dict[str, Any]:
    """The JSON Schema of a tool's parameters, even if the tool has only cogency's flat form."""
    schema = json_schema_of(tool)
    if schema is not None:
        return dict(schema)
    flat: dict[str, Any] = getattr(tool, "schema", None) or {}
    fields = {name: field for name, field in flat.items() if is_object(field)}
    properties = {
        name: {key: value for key, value in field.items() if key != "required"}
        for name, field in fields.items()
    }
    required = [name for name, field in fields.items() if field.get("required")]
    return {"type": "object", "properties": properties, "required": required}


CO_COROUTINE = inspect.CO_COROUTINE

_decode = (
    json.JSONDecoder().raw_decode
)  # a parser writes no space around it, so none has to be skipped


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

    def context(self, index: int, call: ToolCall) -> ToolContext[Any]:
        """The context of a call, by its place in the batch."""
        ...


def bound(
    tool: Any, call: ToolCall, index: int, turn: TurnInputs
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function that carries out a call whose arguments have been checked, and that function's keyword arguments.

    A tool made by `@tool` gets the model's arguments and, if it asks for it, the context. An object with
    `execute(**kwargs)` gets the model's arguments and those of the turn, except for names that its own schema declares;
    if its schema allows no further arguments, it gets only the model's.
    """
    if issubclass(type(tool), CheckedTool):
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


@dataclass(frozen=True)
class DeclaredTool:
    """What a prompt lists of a declaration: a dict with a `name` and `parameters`, or one in its `function`."""

    name: str
    description: str
    schema: dict[str, Any]

    @staticmethod
    def of(declaration: dict[str, Any]) -> DeclaredTool:
        """The tool of a declaration.

        Raises:
            ArgumentError: it has no name.
        """
        function: Any = declaration.get("function")
        inner = function if is_object(function) else declaration
        name: Any = inner.get("name")
        if not isinstance(name, str):
            raise ArgumentError(
                f"a declared tool must have a name, and this does not: {declaration!r}"
            )
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        for key in ("parameters", "input_schema", "inputSchema"):
            given: Any = inner.get(key)
            if is_object(given):
                schema |= given
                break
        return DeclaredTool(name, inner.get("description") or "", schema)


MOST_KEPT = 1024
"""How many tools' compiled schemas are kept."""

# By the tool's id, so that no tool is kept alive, and a tool that makes a new schema each time is found. Another tool
# may get the same id later, which does no harm: a compiled schema is used only if it was compiled from an equal one.
_kept: dict[int, ArgumentSchema] = {}


def compiled(tool: object, schema: dict[str, Any]) -> ArgumentSchema:
    """Compile a tool's schema, or return the kept one."""
    kept = _kept.get(id(tool))
    if kept is not None and kept.is_of(schema):
        return kept
    made = ArgumentSchema(schema)
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    _kept[id(tool)] = made
    return made


class CheckedTool:
    """A tool that checks its own arguments, and can be run without a second check.

    Whether a tool is one is asked of its type, since a mock of one passes `isinstance`. It is not an `abc.ABC`: every
    call asks, which with `abc.ABC` costs several times as much.
    """

    @abstractmethod
    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """What is wrong with the model's arguments, a sentence for each fault; empty if they fit."""

    @property
    @abstractmethod
    def takes_context(self) -> bool:
        """Whether the tool gets a `ToolContext`."""

    @property
    @abstractmethod
    def run_checked(self) -> Callable[..., Any] | None:
        """Runs the tool, given arguments without `faults` and a context or `None`; `None` to use `execute`."""


def faults(tool: Any, args: dict[str, Any]) -> list[str]:
    """What is wrong with a call's arguments, a sentence for each fault; empty if they fit.

    They are checked against the tool's `json_schema` if that is a JSON Schema, else against its `schema`, in either
    form. A tool without a schema takes all arguments. If the schema cannot be used, all arguments have a fault, which
    says why.
    """
    if issubclass(type(tool), CheckedTool):
        checked: CheckedTool = tool
        return checked.faults(args)
    schema = getattr(tool, "json_schema", None)
    if schema is None or not (is_object(schema) and schema.get("type") == "object"):
        schema = getattr(tool, "schema", None)
    if not schema or not is_object(schema):
        return []
    return compiled(tool, schema).faults(args)
