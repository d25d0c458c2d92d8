"""Hints to shapes. A hint that is not in the tables of this file is left to pydantic."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeGuard,
    Union,
    get_args,
    get_origin,
)

from ..docstring import read_docstring
from . import models
from .extra import pydantic
from .fields import ABSENT, Fields
from .param import bounded, is_bounded_by, param_in
from .shape import (
    ANYTHING,
    SCALARS,
    Mismatch,
    Schema,
    Shape,
    any_of,
    array_of,
    choice,
    object_of,
    tuple_of,
)
from .values import WORDS, json_value

__all__ = ["HintError", "Shapes", "resolve"]

REFERENCE = "#/$defs/"


class HintError(Exception):
    """A hint that says nothing about JSON; the message stands behind the name of what it is of."""


def resolve(hint: Any, function: Callable[..., Any], namespace: Mapping[str, Any]) -> Any:
    """A hint in which all that was text is what it names.

    Args:
        hint: as it stands in the signature.
        function: whose signature that is.
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
        self._by_origin: dict[Any, Callable[[Any], Shape]] = {
            Annotated: self._annotated,
            Literal: self._literal,
            Union: self._union,
            types.UnionType: self._union,
            tuple: self._tuple,
            **dict.fromkeys((list, Sequence, Collection, Iterable), self._list),
            **dict.fromkeys((dict, Mapping), self._dict),
        }

    def of(self, hint: Any) -> Shape:
        """Give the shape of a hint that has been resolved.

        Raises:
            HintError: it has none.
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
        if _is_class(hint) and not models.is_model(hint):
            if issubclass(hint, Enum):
                return self._choice(hint, list(hint))
            if typing.is_typeddict(hint) or dataclasses.is_dataclass(hint):
                return self._classes.get(hint) or self._define(hint)
        if (behind := _behind(hint)) is not None:
            return self.of(behind)
        return self._by_pydantic(hint)

    def _annotated(self, hint: Any) -> Shape:
        inner, *notes = get_args(hint)
        params = [param for note in notes if (param := param_in(note)) is not None]
        others = [note for note in notes if param_in(note) is None]
        is_for_pydantic = bool(others) and pydantic() is not None
        shape = self._by_pydantic(Annotated[inner, *others]) if is_for_pydantic else self.of(inner)
        for param in params:
            for name in ("ge", "le", "min_length", "max_length"):
                if getattr(param, name) is not None and not is_bounded_by(shape, name):
                    raise HintError(f"is {shape.wanted}, which {name} cannot bound")
            shape = bounded(shape, param)
        return shape

    def _literal(self, hint: Any) -> Shape:
        return self._choice(hint, get_args(hint))

    def _choice(self, hint: Any, values: Sequence[Any]) -> Shape:
        options = [(json_value(value), value) for value in values]
        if not options:
            raise HintError(f"has the hint {_shown(hint)}, which has no values")
        for value, _ in options:
            if not isinstance(value, str | int | float | None):
                raise HintError(f"has the hint {_shown(hint)}; {value!r} is no single JSON value")
        return choice(options)

    def _union(self, hint: Any) -> Shape:
        return any_of([self.of(arg) for arg in get_args(hint)], self.definitions)

    def _list(self, hint: Any) -> Shape:
        return array_of(self.of(*get_args(hint) or (Any,)), list)

    def _tuple(self, hint: Any) -> Shape:
        # tuple[()] has no arguments either.
        args = (Any, ...) if hint in (tuple, typing.Tuple) else get_args(hint)  # noqa: UP006
        if len(args) == 2 and args[1] is ...:
            return array_of(self.of(args[0]), tuple)
        return tuple_of([self.of(arg) for arg in args])

    def _dict(self, hint: Any) -> Shape:
        key, value = get_args(hint) or (str, Any)
        return object_of(self.of(value)) if key in (str, Any) else self._by_pydantic(hint)

    def _define(self, cls: type) -> Shape:
        """A class with fields, by reference, so that it may hold itself."""
        name = self._free_name(cls.__name__)
        fields = Fields()
        build: Callable[..., Any] = dict[str, Any] if typing.is_typeddict(cls) else cls

        def read(value: Any) -> Any:
            values = fields.read(value)
            try:
                return build(**values)
            except Exception as error:  # what its own checks raise
                raise Mismatch(f"is no {cls.__name__}: {error or type(error).__name__}") from error

        shape = Shape({"$ref": REFERENCE + name}, read, ("object",), "an object")
        self.definitions[name], self._classes[cls] = {}, shape
        docstring = read_docstring(_own_docstring(cls))
        for each in self._declared(cls):
            try:
                item = self.of(each.hint)
            except HintError as error:
                raise HintError(f"is a {cls.__name__}, whose '{each.name}' {error}") from error
            fields.add(
                each.name,
                item,
                required=each.required,
                default=each.default,
                description=docstring.entries.get(each.name),
            )
        about = {"description": docstring.text} if docstring.text else {}
        self.definitions[name].update(about | fields.schema())
        return shape

    def _declared(self, cls: type) -> Iterator[_Declared]:
        try:
            hints = typing.get_type_hints(cls, localns=self._namespace, include_extras=True)
        except Exception as error:
            raise HintError(
                f"is a {cls.__name__}, whose hints cannot be resolved: {error}"
            ) from error
        if dataclasses.is_dataclass(cls):
            return _of_dataclass(cls, hints)
        return _of_typed_dict(cls, hints)

    def _free_name(self, name: str) -> str:
        names = (name, *(f"{name}_{number}" for number in range(2, len(self.definitions) + 3)))
        return next(name for name in names if name not in self.definitions)

    def _by_pydantic(self, hint: Any) -> Shape:
        if pydantic() is None:
            raise HintError(
                f"has the hint {_shown(hint)}, which needs pydantic: pip install 'cogency-rs[schema]'"
            )
        try:
            adapter = models.Adapter(hint)
        except models.HintRefusedError as error:
            raise HintError(
                f"has the hint {_shown(hint)}, which says nothing about JSON: {error}"
            ) from error
        schema = self._adopt(adapter.schema)
        kinds = self._kinds(schema)
        wanted = " or ".join(WORDS[kind] for kind in kinds) or _shown(hint)
        return Shape(schema, adapter.read, kinds, wanted)

    def _adopt(self, schema: Schema) -> Schema:
        """Take a schema's own definitions in among these."""
        own: dict[str, Schema] = schema.get("$defs", {})
        names: dict[str, str] = {}
        for name, definition in own.items():
            # Those of equal content are one; another of the same name gets a name of its own.
            is_equal = self.definitions.get(name) == definition
            names[name] = name if is_equal else self._free_name(name)
            self.definitions.setdefault(names[name], {})
        for name, definition in own.items():
            self.definitions[names[name]] = _renamed(definition, names)
        others = {key: value for key, value in schema.items() if key != "$defs"}
        adopted: Schema = _renamed(others, names)
        return adopted

    def _kinds(self, schema: Schema) -> tuple[str, ...]:
        """The JSON types that a schema names; none when it does not say."""
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


@dataclasses.dataclass
class _Declared:
    """A field as a class declares it."""

    name: str
    hint: Any
    required: bool
    default: Any = ABSENT


def _of_dataclass(cls: type, hints: Mapping[str, Any]) -> Iterator[_Declared]:
    for name, hint in hints.items():
        if isinstance(hint, InitVar):
            raise HintError(f"is a {cls.__name__}, whose '{name}' is an InitVar: make it a field")
    for each in dataclasses.fields(cls):
        if not each.init:
            continue
        default = ABSENT if each.default is dataclasses.MISSING else each.default
        if each.default_factory is not dataclasses.MISSING:
            default = each.default_factory()
        yield _Declared(each.name, hints[each.name], default is ABSENT, default)


def _of_typed_dict(cls: Any, hints: Mapping[str, Any]) -> Iterator[_Declared]:
    for name, hint in hints.items():
        required = name in cls.__required_keys__
        # Where hints are text, the class itself has not seen these.
        while get_origin(hint) in (Required, NotRequired):
            required = get_origin(hint) is Required
            [hint] = get_args(hint)
        yield _Declared(name, hint, required)


def _is_class(hint: Any) -> TypeGuard[type[Any]]:
    return isinstance(hint, type)


def _behind(hint: Any) -> Any:
    """What a `NewType` or a `type` alias stands for."""
    return getattr(hint, "__supertype__", None) or (
        None if isinstance(hint, type) else getattr(hint, "__value__", None)
    )


def _own_docstring(cls: type) -> str | None:
    """The docstring that someone wrote; where there is none, `dataclass` makes one of the signature."""
    docstring = vars(cls).get("__doc__")
    # From Python 3.15 on it is made when it is first read, by an object that stands there until then.
    if not isinstance(docstring, str) or docstring.startswith(f"{cls.__name__}("):
        return None
    return docstring


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    """A schema whose references have other names."""
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
