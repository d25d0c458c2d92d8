"""Splits a function's parameters into those that the model fills and those that are annotated `ToolContext`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from ..errors import ConfigError
from .cogency import without_injected
from .context import ToolContext
from .schema import Fields, HintError, Mismatch, Shapes, resolve
from .schema.fields import ABSENT
from .schema.models import is_field

__all__ = ["Parameters"]


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
