"""Tools from plain functions: `@tool` reads a function's hints and docstring, and calls it with what they ask for.

What a function gets is decided by its signature alone: the model's arguments, and a `ToolContext` if it asks for one.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import FrameType, UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    overload,
)

from ..calls.tool_result import is_result
from ..errors import ConfigError
from ..guards.arguments import TOOL_NAMES, refuse_misnamed
from ..guards.json import is_record, json_value
from ..outside import uuid7
from ..types import ToolCall, ToolResult
from .cogency import without_injected
from .context import ToolContext
from .hints import HintError, Shapes, is_field, resolve
from .options import NO_OPTIONS, ToolKeywords, ToolOptions
from .registry import CheckedTool, check_name, compiled
from .schema import ABSENT, Fields, Mismatch, read_docstring


@dataclass(frozen=True)
class Parameters:
    """The parameters of one function.

    Attributes:
        fields: the arguments that the model gives.
        json_schema: `fields` as JSON Schema.
        flat_schema: `fields` in cogency's form.
        contexts: the names of the parameters that get the call's `ToolContext`; they are in no schema.
        has_receiver: whether the first parameter, `self` or `cls`, is left out of all these.
    """

    fields: Fields
    json_schema: dict[str, Any]
    flat_schema: dict[str, Any]
    contexts: tuple[str, ...]
    has_receiver: bool

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        tool: str,
        about: Mapping[str, str],
        frame: FrameType | None,
    ) -> Parameters:
        """Read the signature of a function.

        Args:
            function: a function or a bound method.
            tool: the name it has as a tool.
            about: what its docstring says of the parameters.
            frame: the frame in which it becomes a tool. If it was defined there too, hints written as text may use
                the names of that frame.

        Raises:
            ConfigError: a model could not give one of the parameters.
        """
        names = _names_around(function, frame)
        shapes, fields, contexts = Shapes(names), Fields(), list[str]()
        parameters = list(_signature(function).parameters.values())
        has_receiver = bool(parameters) and parameters[0].name in ("self", "cls")
        for parameter in parameters[has_receiver:]:
            name = parameter.name
            is_required = parameter.default is parameter.empty
            if parameter.kind is parameter.VAR_KEYWORD:
                fields.is_open = True
                continue
            try:
                _check(parameter)
                hint = resolve(parameter.annotation, function, names)
                if _is_context(hint):
                    contexts.append(name)
                    continue
                if getattr(get_origin(hint) or hint, "__name__", "") == "RunContext":
                    raise HintError("is a RunContext; write ToolContext, which has deps too")
                shape = shapes.of(hint)
            except HintError as error:
                raise ConfigError(
                    f"parameter '{name}' of tool '{tool}' {error}", cause=error
                ) from error
            fields.add(
                name,
                shape,
                required=is_required,
                default=ABSENT if is_required else parameter.default,
                description=about.get(name),
            )
        definitions = {"$defs": shapes.definitions} if shapes.definitions else {}
        json_schema = fields.schema() | definitions
        return cls(fields, json_schema, fields.flat(), tuple(contexts), has_receiver)

    def asked(self, given: Mapping[str, Any], tool: str) -> dict[str, Any]:
        """Take the model's arguments out of all that cogency's executor gave to the tool of this name."""
        return without_injected(given, tool, self.fields.shapes)

    def read(self, args: Mapping[str, Any], context: ToolContext[Any] | None) -> dict[str, Any]:
        """Read arguments that fit the schema into those that the function is called with.

        Raises:
            Mismatch: a reader refuses its argument all the same.
        """
        try:
            arguments = self.fields.read(args)
        except RecursionError as error:
            raise Mismatch("are nested too deep") from error
        if self.contexts:
            arguments.update(dict.fromkeys(self.contexts, context))
        return arguments


def _is_context(hint: Any) -> bool:
    if hint is ToolContext or get_origin(hint) is ToolContext:
        return True
    if get_origin(hint) in (Union, UnionType, Annotated):
        return any(map(_is_context, get_args(hint)))
    return False


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """A function's signature. If a hint has an undefined name, all hints are text."""
    try:
        return inspect.signature(function)
    except (AttributeError, NameError):
        # From Python 3.14 on, hints are evaluated when they are read, and the result's hint with them.
        if sys.version_info >= (3, 14):
            from annotationlib import Format

            return inspect.signature(function, annotation_format=Format.STRING)
        raise


def _check(parameter: inspect.Parameter) -> None:
    """Refuse a parameter that cannot be given by name, or whose default is pydantic's `Field`."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
        raise HintError(
            "is positional, and a model gives arguments by name: make it an ordinary parameter"
        )
    if is_field(parameter.default):
        raise HintError("has a Field as its default: write Annotated[..., Field(...)]")


def _names_around(function: Callable[..., Any], frame: FrameType | None) -> dict[str, Any]:
    """The names of the scopes that a function was defined in, which hints written as text may use.

    Args:
        function: the function.
        frame: the frame in which it became a tool. It counts only if the function was defined there.
    """
    function = inspect.unwrap(function)
    names: dict[str, Any] = {}
    scope = function.__qualname__
    while frame is not None:
        scope, _, _ = scope.rpartition(".")
        is_class = not scope.endswith(".<locals>")
        scope = scope.removesuffix(".<locals>")
        if not scope or frame.f_code.co_qualname != scope:
            break
        names = {**frame.f_locals, **names}
        frame = frame.f_back if is_class else None
    code = getattr(function, "__code__", None)
    for name, cell in zip(
        code.co_freevars if code else (), function.__closure__ or (), strict=True
    ):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # a name that is bound later
            continue
    return names


P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Receiver = TypeVar("Receiver")


class Decorator(Protocol):
    """The type of `@tool(...)`."""

    @overload
    def __call__(
        self, function: classmethod[Any, P, R] | staticmethod[P, R], /
    ) -> FunctionTool[..., R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    function: classmethod[Any, P, R] | staticmethod[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolKeywords],
) -> FunctionTool[..., R]: ...
@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolKeywords],
) -> FunctionTool[P, R]: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolKeywords],
) -> Decorator: ...
def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolKeywords],
) -> Any:
    """Make a tool of a function: `@tool`, `@tool(name=...)` or `tool(function)`.

    Every parameter is an argument that the model gives, and its hint says what it must be: `str`, `int`, `float`,
    `bool`, `None`, `list[T]`, `dict[str, T]`, `Literal`, `T | None`, `Annotated[T, "what it is for"]`,
    `Annotated[T, Param(...)]` or a dataclass. With pydantic installed (`cogency-rs[schema]`) it may be any hint that
    pydantic knows, such as an `Enum`, a tuple, `A | B`, a `TypedDict` or a model. A parameter without a hint takes
    any JSON value, `**kwargs` takes arguments of any name. A parameter annotated `ToolContext` receives the call, the
    conversation and the user, and is in no schema.

    An `async def` is awaited on the caller's loop, so it must not block; a plain `def` runs in a worker thread.

    Args:
        function: a function or a method, or a `functools.partial` of one, whose given arguments the model does not see.
            Take the tool of a method from an instance: `tools=[box.put]`.
        name: the name that the model calls; by default the function's.
        description: what the tool does; by default the docstring up to its first section. The docstring describes the
            parameters in Google's (`Args:`), NumPy's (`Parameters`) or Sphinx's form (`:param name:`).
        options: how calls are carried out; `ToolOptions` has them all.

    Raises:
        ConfigError: the function cannot be a tool; the message names the parameter and says why. Or an option has a
            wrong value.
    """
    refuse_misnamed("@tool", options, TOOL_NAMES)
    how = ToolOptions(**options) if options else NO_OPTIONS

    def decorate(function: Any) -> Any:
        frame = _caller(inspect.currentframe())
        return _make(function, name, description, how, frame)

    if function is None:
        return decorate
    frame = _caller(inspect.currentframe())
    return _make(function, name, description, how, frame)


def _caller(frame: FrameType | None) -> FrameType | None:
    return frame and frame.f_back


class FunctionTool(CheckedTool, Generic[P, R_co]):
    """A function as a tool; made by `tool`. Calling it calls the function.

    Attributes:
        name: the name that the model calls.
        description: what it does, for the model.
        schema: its parameters in cogency's form, `{"arg": {"type": ..., "required": ..., ...}}`.
        json_schema: its parameters as JSON Schema, in full.
        options: how its calls are carried out.
    """

    def __init__(
        self,
        function: Callable[P, R_co],
        parameters: Parameters,
        *,
        name: str,
        description: str,
        options: ToolOptions,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function: Any = function
        self._parameters = parameters
        self.name = name
        self.description = description
        self.schema: dict[str, Any] = parameters.flat_schema
        self.json_schema: dict[str, Any] = parameters.json_schema
        self.options = options

    async def execute(self, /, **given: Any) -> Any:
        """Run it with the model's arguments. If the tool is a plain function, this is one too.

        The arguments that cogency's executor adds, such as `storage`, are only put into a `ToolContext`.

        Returns:
            A `ToolResult`. Arguments that do not fit are a failure that says which, and why. A value that the function
            returns becomes the content of a success, unless it is a `ToolResult`; dataclasses, pydantic models and
            members of an `Enum` become JSON.

        An exception of the function is raised unchanged.
        """
        args = self._parameters.asked(given, self.name)
        if problems := self.faults(args):
            return self._refusal("; ".join(problems))
        return await self._run(args, self._context(args, given))

    async def _run(self, args: Mapping[str, Any], context: ToolContext[Any] | None) -> Any:
        """Run it with arguments in which there are no `faults`."""
        try:
            arguments = self._parameters.read(args, context)
        except Mismatch as mismatch:
            return self._refusal(str(mismatch))
        return _result(await self._function(**arguments))

    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """Say what is wrong with the model's arguments, a sentence for each fault; nothing if they fit."""
        return compiled(self._parameters, self.json_schema).faults(args)

    @property
    def takes_context(self) -> bool:
        """Whether it receives the call's `ToolContext`."""
        return bool(self._parameters.contexts)

    @property
    def run_checked(self) -> Callable[..., Any] | None:
        """The function that runs the tool with a call's arguments and context, after a check for `faults`.

        `None` if the tool has been given another `execute`, which then runs.
        """
        execute: Any = self.execute
        return self._run if getattr(execute, "__func__", None) in _EXECUTES else None

    def _context(self, args: dict[str, Any], given: Mapping[str, Any]) -> ToolContext[Any] | None:
        """The context, made from the arguments that cogency's executor adds; `None` if the tool takes none."""
        if not self.takes_context:
            return None
        return ToolContext(
            ToolCall(self.name, args),
            uuid7(),
            conversation_id=given.get("conversation_id", ""),
            user_id=given.get("user_id", ""),
            storage=given.get("storage"),
            sandbox_dir=given.get("sandbox_dir", ""),
            access=given.get("access", ""),
        )

    def describe(self, args: Mapping[str, Any]) -> str:
        """Write a call on one line, for people."""
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in args.items())})"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself: nothing is checked or converted."""
        result: R_co = self._function(*args, **kwargs)
        return result

    # These are for a method, a classmethod, and a staticmethod or plain function; the first parameter tells which.
    @overload
    def __get__(
        self: FunctionTool[Concatenate[type[Receiver], Rest], R],
        instance: Receiver | None,
        owner: type[Receiver],
        /,
    ) -> FunctionTool[Rest, R]: ...
    @overload
    def __get__(
        self: FunctionTool[Concatenate[Receiver, Rest], R],
        instance: Receiver,
        owner: type[Receiver],
        /,
    ) -> FunctionTool[Rest, R]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any], /) -> FunctionTool[P, R_co]: ...
    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        """The tool itself. A tool of a method is a `_Method`, which type checkers see as this class."""
        return self

    def __repr__(self) -> str:
        return f"<tool {self._function.__qualname__}>"

    def _refusal(self, problem: str) -> ToolResult:
        return ToolResult(f"Invalid arguments for tool '{self.name}': {problem}", error=True)


class _PlainTool(FunctionTool[P, R_co]):
    """A plain `def`, which runs in a worker thread because its `execute` is one."""

    def execute(self, /, **given: Any) -> Any:
        args = self._parameters.asked(given, self.name)
        if problems := self.faults(args):
            return self._refusal("; ".join(problems))
        return self._run(args, self._context(args, given))

    def _run(self, args: Mapping[str, Any], context: ToolContext[Any] | None) -> Any:
        try:
            arguments = self._parameters.read(args, context)
        except Mismatch as mismatch:
            return self._refusal(str(mismatch))
        value = self._function(**arguments)
        return _result_of(value) if inspect.isawaitable(value) else _result(value)


_EXECUTES = tuple(vars(kind)["execute"] for kind in (FunctionTool, _PlainTool))


class _Method:
    """A method as a class has it: not a tool, but each instance has a tool of it.

    Args:
        function: a function or a classmethod.
        make: makes the tool of a bound method.
    """

    def __init__(self, function: Any, make: Callable[[Any], FunctionTool[..., Any]]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._make = make

    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        bound = self._function.__get__(instance, owner)
        return self._make(bound) if inspect.ismethod(bound) else self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Say what is wrong when it is used as a tool.

        Raises:
            ConfigError: `name` is an attribute of tools.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        path: str = self._function.__qualname__
        *_, owner, method = ("", *path.split("."))
        raise ConfigError(
            f"{path} is a method: take it from an instance, as in tools=[{owner}(...).{method}]; "
            "for a classmethod, write @tool above @classmethod"
        )

    def __repr__(self) -> str:
        return f"<tool of a method {self._function.__qualname__}>"


async def _result_of(awaitable: Awaitable[Any]) -> Any:
    return _result(await awaitable)


def _result(value: Any) -> Any:
    """A function's return value as a result."""
    if not is_result(value):
        return ToolResult("Success", json_value(value))
    content = value.content
    if content is None or isinstance(content, str) or not is_record(value):
        return value
    return dataclasses.replace(value, content=json_value(content))


def _function_of(partial: functools.partial[Any]) -> Any:
    """A function like a `functools.partial`; a model cannot give the arguments that it has."""
    inner = partial.func
    if not callable(getattr(inner, "__get__", None)) or inspect.isclass(inner):
        return partial  # refused as what it is

    async def waiting(*args: Any, **kwargs: Any) -> Any:
        return await partial(*args, **kwargs)

    def plain(*args: Any, **kwargs: Any) -> Any:
        return partial(*args, **kwargs)

    function: Any = waiting if inspect.iscoroutinefunction(inner) else plain
    functools.update_wrapper(function, inner)
    signature = inspect.signature(partial)
    left = [each for name, each in signature.parameters.items() if name not in partial.keywords]
    function.__signature__ = signature.replace(parameters=left)
    return function


def _make(
    function: Any,
    name: str | None,
    description: str | None,
    options: ToolOptions,
    frame: FrameType | None,
) -> Any:
    if isinstance(function, functools.partial):
        function = _function_of(cast("functools.partial[Any]", function))
    is_wrapped = type(function) in (staticmethod, classmethod)
    plain = function.__func__ if is_wrapped else function
    if not (inspect.isfunction(plain) or inspect.ismethod(plain)):
        advice = (
            "give name and description by keyword: @tool(name=..., description=...)"
            if isinstance(function, str)
            else "write a function that calls it"
        )
        raise ConfigError(f"@tool makes a tool of a function, not of {function!r}; {advice}")
    name = plain.__name__ if name is None else name
    if not isinstance(name, str) or not name or name == "<lambda>":
        raise ConfigError(f"a tool needs a name, got {name!r}: tool(function, name=...)")
    check_name(name)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise ConfigError(f"tool {name!r} yields: a tool returns one value, for example a list")
    docstring = read_docstring(plain.__doc__)
    parameters = Parameters.of(plain, name, docstring.entries, frame)
    make = functools.partial(
        FunctionTool if inspect.iscoroutinefunction(plain) else _PlainTool,
        parameters=parameters,
        name=name,
        description=docstring.text if description is None else description,
        options=options,
    )
    if parameters.has_receiver and type(function) is not staticmethod:
        return _Method(function, make)
    return make(plain)
