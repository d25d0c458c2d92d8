"""A shape: what JSON Schema says of a value, and the reader that takes exactly that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, NoReturn

from ..signature import is_object
from .values import WORDS, came, is_array, kind_of

__all__ = [
    "ANYTHING",
    "SCALARS",
    "Mismatch",
    "Reader",
    "Schema",
    "Shape",
    "any_of",
    "array_of",
    "choice",
    "nullable",
    "object_of",
    "read_at",
    "refuse",
    "tuple_of",
]

Schema = dict[str, Any]
"""A JSON Schema."""

Reader = Callable[[Any], Any]
"""A JSON value to the Python value; raises `Mismatch`."""


class Mismatch(Exception):  # noqa: N818  # a finding, which becomes the result of a call
    """A value that does not fit.

    Attributes:
        problem: what is wrong, as it stands behind the argument's name.
        path: where in the arguments it is, outermost first: names, and places in arrays; empty for all of them.
    """

    def __init__(self, problem: str, *path: str | int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[str | int] = list(path)

    def __str__(self) -> str:
        if not self.path:
            return f"the arguments {self.problem}"
        first, *others = self.path
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in others)
        return f"argument '{first}{''.join(steps)}' {self.problem}"


@dataclass(frozen=True)
class Shape:
    """What a value must be.

    Attributes:
        schema: its JSON Schema; `$ref` points into the definitions of the `Shapes` that made it.
        read: its reader.
        kinds: the JSON types it may have; empty for any, or where only the schema knows.
        wanted: the same in words.
    """

    schema: Schema
    read: Reader
    kinds: tuple[str, ...] = ()
    wanted: str = "any JSON value"


def refuse(wanted: str, value: Any) -> NoReturn:
    """Raise what is wrong with a value that is something else."""
    raise Mismatch(f"must be {wanted}, and was {came(value)}")


def read_at(place: str | int, read: Reader, value: Any) -> Any:
    """Read a part of a value; a mismatch says where it is."""
    try:
        return read(value)
    except Mismatch as error:
        error.path.insert(0, place)
        raise


# Single values


def _read_none(value: Any) -> None:
    if value is not None:
        refuse("null", value)


def _read_bool(value: Any) -> bool:
    return value if isinstance(value, bool) else refuse("a boolean", value)


def _read_int(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    # As JSON Schema has it, 1.0 is a whole number.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return refuse("an integer", value)


def _read_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse("a number", value)
    try:
        return float(value)
    except OverflowError:
        raise Mismatch("must be a number that a float can hold, and was larger") from None


def _read_str(value: Any) -> str:
    return value if isinstance(value, str) else refuse("a string", value)


def _scalar(kind: str, read: Reader) -> Shape:
    return Shape({"type": kind}, read, (kind,), WORDS[kind])


NULL = _scalar("null", _read_none)

SCALARS: dict[Any, Shape] = {
    NoneType: NULL,
    bool: _scalar("boolean", _read_bool),
    int: _scalar("integer", _read_int),
    float: _scalar("number", _read_float),
    str: _scalar("string", _read_str),
}
"""The types that JSON has a word for."""

ANYTHING = Shape({}, lambda value: value)


def choice(options: Sequence[tuple[Any, Any]]) -> Shape:
    """One of several single values, given as pairs of what the model writes and what the function gets."""
    values = [value for value, _ in options]
    kinds = _merged((kind_of(value),) for value in values)
    wanted = " or ".join(json.dumps(value, ensure_ascii=False) for value in values)

    def read(value: Any) -> Any:
        for option, meant in options:
            # In Python, but not in JSON, true equals 1.
            if isinstance(value, bool) == isinstance(option, bool) and value == option:
                return meant
        return refuse(wanted, value)

    kind = {"type": kinds[0]} if len(kinds) == 1 else {}
    return Shape({**kind, "enum": values}, read, kinds, wanted)


# Values with others inside


def array_of(item: Shape, build: Callable[[list[Any]], Any]) -> Shape:
    """An array of items of one shape."""

    def read(value: Any) -> Any:
        if not is_array(value):
            refuse("an array", value)
        return build([read_at(place, item.read, each) for place, each in enumerate(value)])

    return Shape({"type": "array", "items": item.schema}, read, ("array",), "an array")


def tuple_of(items: Sequence[Shape]) -> Shape:
    """An array with a shape for each place."""
    count = len(items)

    def read(value: Any) -> tuple[Any, ...]:
        if not is_array(value):
            refuse("an array", value)
        if len(value) != count:
            raise Mismatch(f"must have {count} items, and had {len(value)}")
        return tuple(read_at(place, items[place].read, each) for place, each in enumerate(value))

    places = {"prefixItems": [item.schema for item in items]} if items else {}
    schema = {"type": "array", **places, "minItems": count, "maxItems": count}
    return Shape(schema, read, ("array",), "an array")


def object_of(item: Shape) -> Shape:
    """An object whose values have one shape."""

    def read(value: Any) -> dict[str, Any]:
        if not is_object(value):
            refuse("an object", value)
        return {name: read_at(name, item.read, each) for name, each in value.items()}

    schema = {"type": "object", "additionalProperties": item.schema}
    return Shape(schema, read, ("object",), "an object")


def any_of(members: Sequence[Shape]) -> Shape:
    """The first of several shapes that fits, from left to right."""
    wanted = " or ".join(dict.fromkeys(member.wanted for member in members))

    def read(value: Any) -> Any:
        deepest: Mismatch | None = None
        for member in members:
            try:
                return member.read(value)
            except Mismatch as error:
                if len(error.path) > (len(deepest.path) if deepest else 0):
                    deepest = error
        if deepest is not None:  # it was meant for that member
            raise deepest
        return refuse(wanted, value)

    has_any = any(not member.kinds for member in members)
    kinds = () if has_any else _merged(member.kinds for member in members)
    return Shape({"anyOf": [member.schema for member in members]}, read, kinds, wanted)


def nullable(shape: Shape) -> Shape:
    """The shape, or null: of what is `None` when it is not given, whatever its hint says."""
    try:
        shape.read(None)
    except Mismatch:
        schema = dict(shape.schema)
        description = schema.pop("description", None)
        either = any_of([replace(shape, schema=schema), NULL])
        said = {"description": description} if description else {}
        return replace(either, schema={**either.schema, **said})
    return shape


def _merged(kinds: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for each in kinds for kind in each))
