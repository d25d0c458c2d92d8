"""Turns type hints into JSON Schema, and JSON values into values of the hints' types.

A `Shape` is both sides of one hint: the schema that tells a model what to write, and the reader that turns a value that
fits the schema into the Python value. The core checks that it fits; the readers convert, and check only what no schema
can express: what a class's own constructor or pydantic's validators refuse.

Scalars, lists, dicts, `Literal`, `X | None` and dataclasses are described here, so that a tool needs nothing but the
standard library. Every other hint is left to pydantic, which is imported when the first such hint is met.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import InitVar
from types import NoneType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

from ..guards.json import json_value, pydantic
from .schema import (
    ABSENT,
    ANYTHING,
    SCALARS,
    WORDS,
    Fields,
    Mismatch,
    Schema,
    Shape,
    array_of,
    bounded,
    choice,
    is_bounded_by,
    object_of,
    optional,
    param_in,
    read_docstring,
    received,
)


def is_model(hint: type) -> bool:
    """Whether a class is pydantic's own: a model, or a dataclass that it checks."""
    return hasattr(hint, "__pydantic_core_schema__")


def is_field(default: object) -> bool:
    """Whether a default is made by pydantic's `Field(...)`, which has a meaning only in its models."""
    kind = type(default)
    return kind.__name__ == "FieldInfo" and kind.__module__.partition(".")[0] == "pydantic"


def is_bound(note: object) -> bool:
    """Whether an item of `Annotated` is a bound of the package annotated_types, which pydantic enforces."""
    return type(note).__module__.partition(".")[0] == "annotated_types"


class HintRefusedError(Exception):
    """A hint that pydantic cannot read or describe."""


class Adapter:
    """One hint, described and read by pydantic.

    Args:
        hint: any hint. pydantic must be installed.

    Attributes:
        schema: its JSON Schema, with its own definitions.

    Raises:
        HintRefusedError: pydantic does not know the hint.
    """

    def __init__(self, hint: Any) -> None:
        self._pydantic = pydantic()
        try:
            self._adapter = self._pydantic.TypeAdapter(hint)
            self.schema: dict[str, Any] = self._adapter.json_schema()
        except Exception as error:  # pydantic raises several kinds
            raise HintRefusedError(str(error).partition("\n")[0]) from error

    def read(self, value: Any) -> Any:
        """Read a JSON value.

        Raises:
            Mismatch: the first thing that pydantic finds wrong.
        """
        try:
            return self._adapter.validate_python(value)
        except self._pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            if first["type"] == "missing":
                problem = "is required, but was not given"
            else:
                problem = f"is not valid: {first['msg']}; it was {received(first['input'])}"
            raise Mismatch(problem, *first["loc"]) from error


REFERENCE = "#/$defs/"


class HintError(Exception):
    """A hint has no meaning in JSON. The message is the predicate after the name of the thing with the hint."""


def resolve(hint: Any, function: Callable[..., Any], namespace: Mapping[str, Any]) -> Any:
    """Replace each name that is written as text in a hint by what it names.

    Args:
        hint: a hint of the function's signature.
        function: the function.
        namespace: names that the hint may use, besides those of the function's module.

    Raises:
        HintError: a name is not defined.
    """
    holder = types.SimpleNamespace(__annotations__={"hint": hint})
    names = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return typing.get_type_hints(holder, names, dict(namespace), include_extras=True)["hint"]
    except Exception as error:
        raise HintError(
            f"has the hint {_shown(hint)}, which cannot be resolved: {error}. "
            "Define or import what it names before the tool is made"
        ) from error


class Shapes:
    """The shapes of one tool.

    Args:
        namespace: names that the hints in classes may use, besides those of the classes' modules.

    Attributes:
        definitions: the schemas that a `$ref` names.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.definitions: dict[str, Schema] = {}
        self._namespace = dict(namespace)
        self._classes: dict[type, Shape] = {}
        self._followed: list[Any] = []  # aliases whose meaning is being described
        self._by_origin: dict[Any, Callable[[Any], Shape]] = {
            Annotated: self._annotated,
            Literal: self._literal,
            Union: self._union,
            types.UnionType: self._union,
            **dict.fromkeys((list, Sequence, Collection, Iterable), self._list),
            **dict.fromkeys((dict, Mapping), self._dict),
        }

    def of(self, hint: Any) -> Shape:
        """The shape of a resolved hint.

        Raises:
            HintError: the hint has no shape.
        """
        if hint in (Any, object, inspect.Parameter.empty):
            return ANYTHING
        try:
            if (scalar := SCALARS.get(hint)) is not None:
                return scalar
            by_origin = self._by_origin.get(get_origin(hint) or hint)
        except TypeError:  # not hashable
            by_origin = self._by_origin.get(get_origin(hint))
        if by_origin is not None:
            return by_origin(hint)
        if _is_dataclass(hint):
            return self._classes.get(hint) or self._define(hint)
        if (meant := _meant_by(hint)) is not None:
            return self._alias(hint, meant)
        return self._by_pydantic(hint)

    def _alias(self, alias: Any, meant: Any) -> Shape:
        """Describe what an alias means; one that holds itself, by name or through others, is pydantic's."""
        if alias in self._followed:
            raise HintError(f"has the hint {_shown(alias)}, which holds itself")
        self._followed.append(alias)
        try:
            return self.of(meant)
        except HintError as error:
            if pydantic() is None:
                raise
            try:
                return self._by_pydantic(alias)
            except HintError:
                raise error from None
        finally:
            self._followed.remove(alias)

    def _annotated(self, hint: Any) -> Shape:
        inner, *notes = get_args(hint)
        params = [param for note in notes if (param := param_in(note)) is not None]
        others = [note for note in notes if param_in(note) is None]
        is_for_pydantic = others and (pydantic() is not None or any(map(is_bound, others)))
        shape = self._by_pydantic(Annotated[inner, *others]) if is_for_pydantic else self.of(inner)
        for param in params:
            for name in ("ge", "le", "min_length", "max_length"):
                if getattr(param, name) is not None and not is_bounded_by(shape, name):
                    raise HintError(f"is {shape.wanted}, which {name} cannot bound")
            shape = bounded(shape, param)
        return shape

    def _literal(self, hint: Any) -> Shape:
        options = [(json_value(value), value) for value in get_args(hint)]
        for value, _ in options:
            if not isinstance(value, str | int | float | None):
                raise HintError(
                    f"has the hint {_shown(hint)}; {value!r} is not a single JSON value"
                )
        return choice(options)

    def _union(self, hint: Any) -> Shape:
        members = get_args(hint)
        if len(members) != 2 or NoneType not in members:
            return self._by_pydantic(hint)
        return optional([self.of(member) for member in members])

    def _list(self, hint: Any) -> Shape:
        return array_of(self.of(*get_args(hint) or (Any,)), list)

    def _dict(self, hint: Any) -> Shape:
        key, value = get_args(hint) or (str, Any)
        return object_of(self.of(value)) if key in (str, Any) else self._by_pydantic(hint)

    def _define(self, cls: type) -> Shape:
        """Describe a dataclass, by reference, so that it may hold itself."""
        name = self._free_name(cls.__name__)
        fields = Fields()

        def read(value: Any) -> Any:
            values = fields.read(value)
            try:
                return cls(**values)
            except Exception as error:  # its own checks may raise anything
                raise Mismatch(
                    f"is not a {cls.__name__}: {error or type(error).__name__}"
                ) from error

        shape = Shape({"$ref": REFERENCE + name}, read, ("object",), "an object")
        self.definitions[name], self._classes[cls] = {}, shape
        docstring = read_docstring(_own_docstring(cls))
        hints = self._hints_of(cls)
        for each in dataclasses.fields(cls):
            if not each.init:
                continue
            try:
                item = self.of(hints[each.name])
            except HintError as error:
                raise HintError(f"is a {cls.__name__}, whose '{each.name}' {error}") from error
            default = _default_of(each)
            fields.add(
                each.name,
                item,
                required=default is ABSENT,
                default=default,
                description=docstring.entries.get(each.name),
            )
        about = {"description": docstring.text} if docstring.text else {}
        self.definitions[name].update(about | fields.schema())
        return shape

    def _hints_of(self, cls: type) -> dict[str, Any]:
        try:
            hints = typing.get_type_hints(cls, localns=self._namespace, include_extras=True)
        except Exception as error:
            raise HintError(
                f"is a {cls.__name__}, whose hints cannot be resolved: {error}"
            ) from error
        for name, hint in hints.items():
            if isinstance(hint, InitVar):
                raise HintError(
                    f"is a {cls.__name__}, whose '{name}' is an InitVar: make it a field"
                )
        return hints

    def _free_name(self, name: str) -> str:
        names = (name, *(f"{name}_{number}" for number in range(2, len(self.definitions) + 3)))
        return next(name for name in names if name not in self.definitions)

    def _by_pydantic(self, hint: Any) -> Shape:
        if isinstance(hint, list | tuple | set):
            raise HintError("is a collection of types: join them with |, as in int | str")
        if pydantic() is None:
            raise HintError(
                f"has the hint {_shown(hint)}, which needs pydantic: pip install 'cogency-rs[schema]'"
            )
        try:
            adapter = Adapter(hint)
        except HintRefusedError as error:
            raise HintError(
                f"has the hint {_shown(hint)}, which says nothing about JSON: {error}"
            ) from error
        schema = self._adopt(adapter.schema)
        kinds = self._kinds(schema)
        wanted = " or ".join(WORDS[kind] for kind in kinds) or _shown(hint)
        return Shape(schema, adapter.read, kinds, wanted)

    def _adopt(self, schema: Schema) -> Schema:
        """Move a schema's own definitions to `definitions`."""
        own: dict[str, Schema] = schema.get("$defs", {})
        names: dict[str, str] = {}
        for name, definition in own.items():
            # Equal definitions are shared; a different definition of the same name gets a new name.
            is_equal = self.definitions.get(name) == definition
            names[name] = name if is_equal else self._free_name(name)
            self.definitions.setdefault(names[name], {})
        for name, definition in own.items():
            self.definitions[names[name]] = _renamed(definition, names)
        others = {key: value for key, value in schema.items() if key != "$defs"}
        adopted: Schema = _renamed(others, names)
        return adopted

    def _kinds(self, schema: Schema) -> tuple[str, ...]:
        """The JSON types that a schema names; empty if it names none."""
        match schema:
            case {"$ref": str(reference)}:
                return self._kinds(self.definitions[reference.removeprefix(REFERENCE)])
            case {"type": str(kind)}:
                return (kind,)
            case {"anyOf": [*members]}:
                kinds = [self._kinds(member) for member in members]
                return tuple(dict.fromkeys(sum(kinds, ()))) if all(kinds) else ()
            case _:
                return ()


def _is_dataclass(hint: Any) -> TypeGuard[type[Any]]:
    """Whether a hint is a dataclass, and not one of pydantic's."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint) and not is_model(hint)


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return ABSENT if field.default is dataclasses.MISSING else field.default


def _meant_by(hint: Any) -> Any:
    """The hint that a `NewType` or a `type` alias names; `None` for any other hint, and for an alias with arguments."""
    if isinstance(hint, type) or get_args(hint):
        return None
    return getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)


def _own_docstring(cls: type) -> str | None:
    """The docstring of a class; `None` for the one that `dataclass` itself makes of the signature."""
    docstring = vars(cls).get("__doc__")
    # From Python 3.15 on, `dataclass` puts an object here that makes the docstring when it is first read.
    if not isinstance(docstring, str) or docstring.startswith(f"{cls.__name__}("):
        return None
    return docstring


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    """Rename the definitions that a schema's references point to."""
    match schema:
        case str() if schema.startswith(REFERENCE):
            name = schema.removeprefix(REFERENCE)
            return REFERENCE + names.get(name, name)
        case {**properties}:
            return {key: _renamed(value, names) for key, value in properties.items()}
        case [*items]:
            return [_renamed(item, names) for item in items]
        case _:
            return schema


def _shown(hint: Any) -> str:
    return hint if isinstance(hint, str) else inspect.formatannotation(hint)
