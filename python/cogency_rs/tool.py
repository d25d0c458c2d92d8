"""Tools from plain functions: `@tool` reads a function's hints and docstring, and calls it with what they ask for.

What a function gets is decided by its signature alone: the model's arguments, read as its hints say, and of what the
turn gives to every tool (`INJECTED`) the parameters of these names.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from .docstring import read_docstring
from .errors import ConfigError
from .schema import Fields, HintError, Mismatch, Param, Shapes, json_value, resolve
from .schema.fields import ABSENT
from .schema.models import is_field
from .types import ToolResult

__all__ = ["INJECTED", "FunctionTool", "Param", "tool"]

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Receiver = TypeVar("Receiver")

INJECTED = frozenset({"storage", "sandbox_dir", "access", "conversation_id", "user_id"})
"""What the turn gives to every tool; to one named `shell` also `timeout`. The model gives none of these."""


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    blocking: bool = False,
) -> FunctionTool[P, R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, blocking: bool = False
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    blocking: bool = False,
) -> Any:
    """Make a tool of a function: `@tool`, `@tool(name=...)` or `tool(function)`.

    Every parameter is an argument of the model's, and its hint says what it must be: `str`, `int`, `float`, `bool`,
    `None`, `list[T]`, `tuple[...]`, `dict[str, T]`, `Literal`, `Enum`, `X | Y`, `Annotated[T, "what it is for"]` or
    `Annotated[T, Param(...)]`, a dataclass, a `TypedDict`; with pydantic installed (`cogency-rs[schema]`) whatever
    that knows. A parameter without a hint takes any JSON value, `**kwargs` takes arguments of any name. Parameters
    named in `INJECTED` come from the turn and are not in the schema.

    An `async def` is awaited on the caller's loop, a plain `def` runs in a worker thread.

    Args:
        function: a function, or a method; of a method, the tool is what an instance has: `tools=[box.put]`.
        name: what the model calls it by; the function's own name when not given.
        description: what it does; the docstring up to its first section when not given. Its section `Args:`
            describes the parameters.
        blocking: run an `async def` in a worker thread too, because it blocks.

    Raises:
        ConfigError: it cannot be a tool; says which parameter is in the way, and why.
    """

    def decorate(function: Callable[..., Any]) -> FunctionTool[..., Any]:
        return _make(function, name, description, blocking, sys._getframe(1))

    if function is None:
        return decorate
    return _make(function, name, description, blocking, sys._getframe(1))


class FunctionTool(Generic[P, R_co]):
    """A function as a tool; made by `tool`. Called, it is the function itself.

    Attributes:
        description: what it does, for the model.
        schema: its parameters in cogency's form, `{"arg": {"type": ..., "required": ..., ...}}`.
        json_schema: its parameters as JSON Schema, in full.
        blocking: whether an `async def` runs in a worker thread too.
    """

    def __init__(
        self,
        function: Callable[P, R_co],
        parameters: _Parameters,
        *,
        name: str,
        description: str,
        blocking: bool,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._parameters = parameters
        self._name = name
        self.description = description
        self.schema = parameters.fields.flat()
        self.json_schema = parameters.json_schema()
        self.blocking = blocking

    @property
    def name(self) -> str:
        """What the model calls it by.

        Raises:
            ConfigError: it is a method, and was not taken from an instance.
        """
        if self._parameters.has_receiver and not inspect.ismethod(self._function):
            *_, owner, method = ("", *self.__qualname__.split("."))
            raise ConfigError(
                f"{self.__qualname__} is a method: take it from an instance, as in tools=[{owner}(...).{method}]; "
                "of a classmethod, @tool stands above @classmethod"
            )
        return self._name

    @property
    def execute(self) -> Callable[..., Any]:
        """Run it with the model's arguments and the turn's; a coroutine function if the function is one.

        Arguments that do not fit are a failure that says which, and why. What the function returns is the content of
        a success, unless it is a `ToolResult`; dataclasses, pydantic models and members of an `Enum` become JSON.
        """
        return self._awaited if inspect.iscoroutinefunction(self._function) else self._called

    def describe(self, args: Mapping[str, Any]) -> str:
        """Write a call on one line, for people."""
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in args.items())})"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself: nothing is checked or converted."""
        return self._function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> FunctionTool[P, R_co]: ...
    @overload
    def __get__(
        self: FunctionTool[Concatenate[Receiver, Rest], R],
        instance: Receiver,
        owner: type | None = None,
        /,
    ) -> FunctionTool[Rest, R]: ...
    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        """Give the tool of an instance, where the function is a method."""
        if not self._parameters.has_receiver:
            return self
        bound = self._function.__get__(instance, owner)
        if not inspect.ismethod(bound):  # taken from the class
            return self
        return FunctionTool(
            bound,
            self._parameters,
            name=self._name,
            description=self.description,
            blocking=self.blocking,
        )

    def __repr__(self) -> str:
        return f"<tool {self.__qualname__}>"

    async def _awaited(self, /, **given: Any) -> Any:
        try:
            arguments = self._parameters.read(given)
        except Mismatch as mismatch:
            return self._refusal(mismatch)
        return _result(await self._function(**arguments))

    def _called(self, /, **given: Any) -> Any:
        try:
            arguments = self._parameters.read(given)
        except Mismatch as mismatch:
            return self._refusal(mismatch)
        value = self._function(**arguments)
        return _result_of(value) if inspect.isawaitable(value) else _result(value)

    def _refusal(self, mismatch: Mismatch) -> ToolResult:
        return ToolResult(f"Invalid arguments for tool '{self._name}': {mismatch}", error=True)


async def _result_of(awaitable: Awaitable[Any]) -> Any:
    return _result(await awaitable)


def _result(value: Any) -> Any:
    """What a function returned, as a result."""
    if not (hasattr(value, "outcome") and hasattr(value, "error")):
        return ToolResult(outcome="Success", content=json_value(value))
    content = getattr(value, "content", None)
    if content is None or isinstance(content, str) or not dataclasses.is_dataclass(value):
        return value
    return dataclasses.replace(value, content=json_value(content))


@dataclass(frozen=True)
class _Parameters:
    """What a function takes.

    Attributes:
        fields: what the model gives.
        definitions: what the schema of `fields` refers to.
        reserved: the names that the turn gives to this tool.
        injected: those of them that the function takes, and whether it must get them.
        has_receiver: whether the first one is `self` or `cls`.
    """

    fields: Fields
    definitions: dict[str, Any]
    reserved: frozenset[str]
    injected: dict[str, bool]
    has_receiver: bool

    def json_schema(self) -> dict[str, Any]:
        definitions = {"$defs": self.definitions} if self.definitions else {}
        return {**self.fields.schema(), **definitions}

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What the function is called with.

        Raises:
            Mismatch: an argument of the model's does not fit.
        """
        asked = {name: value for name, value in given.items() if name not in self.reserved}
        try:
            arguments = self.fields.read(asked)
        except RecursionError as error:
            raise Mismatch("are nested too deep") from error
        arguments.update((name, given[name]) for name in self.injected if name in given)
        if self.injected.get("user_id") and "user_id" not in given:
            arguments["user_id"] = ""  # a turn without a user does not give it
        return arguments


def _make(
    function: Any, name: str | None, description: str | None, blocking: bool, frame: FrameType
) -> FunctionTool[..., Any]:
    if isinstance(function, staticmethod):
        function = function.__func__
    plain = function.__func__ if isinstance(function, classmethod) else function
    if not (inspect.isfunction(plain) or inspect.ismethod(plain)):
        raise ConfigError(
            f"@tool makes a tool of a function, not of {function!r}; what it is called and does is said by keyword: "
            "@tool(name=..., description=...)"
        )
    name = plain.__name__ if name is None else name
    if not isinstance(name, str) or not name or name == "<lambda>":
        raise ConfigError(f"a tool needs a name, got {name!r}: tool(function, name=...)")
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise ConfigError(f"tool {name!r} yields: a tool returns one value, for example a list")
    docstring = read_docstring(plain.__doc__)
    parameters = _read_parameters(plain, name, _names_around(plain, frame), docstring.entries)
    return FunctionTool(
        function,
        parameters,
        name=name,
        description=docstring.text if description is None else description,
        blocking=blocking,
    )


def _read_parameters(
    function: Callable[..., Any], tool: str, names: Mapping[str, Any], about: Mapping[str, str]
) -> _Parameters:
    reserved = INJECTED | {"timeout"} if tool == "shell" else INJECTED
    shapes, fields, injected = Shapes(names), Fields(), dict[str, bool]()
    parameters = list(inspect.signature(function).parameters.values())
    has_receiver = bool(parameters) and parameters[0].name in ("self", "cls")
    for parameter in parameters[has_receiver:]:
        name, hint = parameter.name, parameter.annotation
        is_required = parameter.default is parameter.empty
        place = f"parameter '{name}' of tool '{tool}'"
        match parameter.kind:
            case parameter.VAR_KEYWORD:
                fields.is_open = True
                continue
            case parameter.VAR_POSITIONAL | parameter.POSITIONAL_ONLY:
                raise ConfigError(
                    f"{place} is positional, and a model gives arguments by name: make it an ordinary parameter"
                )
        if name in reserved:
            injected[name] = is_required
            continue
        if is_field(parameter.default):
            raise ConfigError(
                f"{place} has a Field as its default: write Annotated[..., Field(...)]"
            )
        try:
            shape = shapes.of(resolve(hint, function, names))
        except HintError as error:
            raise ConfigError(f"{place} {error}", cause=error) from error
        fields.add(
            name,
            shape,
            required=is_required,
            default=ABSENT if is_required else parameter.default,
            description=about.get(name),
        )
    return _Parameters(fields, shapes.definitions, reserved, injected, has_receiver)


def _names_around(function: Callable[..., Any], frame: FrameType | None) -> dict[str, Any]:
    """The names of the scopes that a function was defined in, which hints written as text may use.

    Args:
        function: the function.
        frame: where it became a tool. It counts only if that is the scope it was defined in.
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
