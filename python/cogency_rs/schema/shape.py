"""A shape: what JSON Schema says of a value, and the reader that makes a Python value of one that fits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

from .._core import ArgumentSchema
from .values import WORDS, kind_of

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
    "tuple_of",
]

Schema = dict[str, Any]
"""A JSON Schema."""

Reader = Callable[[Any], Any]
"""A JSON value that fits its schema to the Python value; raises `Mismatch` for what no schema can say."""


class Mismatch(Exception):  # noqa: N818  # a finding, which becomes the result of a call
    """A value that fits its schema, and still is not one of those that were asked for.

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


def read_at(place: str | int, read: Reader, value: Any) -> Any:
    """Read a part of a value; a mismatch says where it is."""
    try:
        return read(value)
    except Mismatch as error:
        error.path.insert(0, place)
        raise


# Single values


def _as_it_is(value: Any) -> Any:
    return value


def _read_int(value: Any) -> int:
    # As JSON Schema has it, 1.0 is a whole number.
    return int(value) if isinstance(value, float) else value


def _read_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Mismatch("must be a number that a float can hold, and was larger") from None


def _scalar(kind: str, read: Reader) -> Shape:
    return Shape({"type": kind}, read, (kind,), WORDS[kind])


NULL = _scalar("null", _as_it_is)

SCALARS: dict[Any, Shape] = {
    NoneType: NULL,
    bool: _scalar("boolean", _as_it_is),
    int: _scalar("integer", _read_int),
    float: _scalar("number", _read_float),
    str: _scalar("string", _as_it_is),
}
"""The types that JSON has a word for."""

ANYTHING = Shape({}, _as_it_is)


def choice(options: Sequence[tuple[Any, Any]]) -> Shape:
    """One of several single values, given as pairs of what the model writes and what the function gets."""
    values = [value for value, _ in options]
    kinds = _merged((kind_of(value),) for value in values)
    wanted = " or ".join(json.dumps(value, ensure_ascii=False) for value in values)

    def read(value: Any) -> Any:
        # In Python, but not in JSON, true equals 1.
        return next(
            meant
            for option, meant in options
            if isinstance(value, bool) == isinstance(option, bool) and value == option
        )

    kind = {"type": kinds[0]} if len(kinds) == 1 else {}
    return Shape({**kind, "enum": values}, read, kinds, wanted)


# Values with others inside


def array_of(item: Shape, build: Callable[[list[Any]], Any]) -> Shape:
    """An array of items of one shape."""

    def read(value: Any) -> Any:
        return build([read_at(place, item.read, each) for place, each in enumerate(value)])

    return Shape({"type": "array", "items": item.schema}, read, ("array",), "an array")


def tuple_of(items: Sequence[Shape]) -> Shape:
    """An array with a shape for each place."""
    count = len(items)

    def read(value: Any) -> tuple[Any, ...]:
        return tuple(read_at(place, items[place].read, each) for place, each in enumerate(value))

    places = {"prefixItems": [item.schema for item in items]} if items else {}
    schema = {"type": "array", **places, "minItems": count, "maxItems": count}
    return Shape(schema, read, ("array",), "an array")


def object_of(item: Shape) -> Shape:
    """An object whose values have one shape."""

    def read(value: Any) -> dict[str, Any]:
        return {name: read_at(name, item.read, each) for name, each in value.items()}

    schema = {"type": "object", "additionalProperties": item.schema}
    return Shape(schema, read, ("object",), "an object")


def any_of(members: Sequence[Shape], definitions: Mapping[str, Schema]) -> Shape:
    """The first of several shapes that fits, from left to right.

    Args:
        members: the shapes.
        definitions: what a `$ref` in their schemas names; complete by the time that a value is read.
    """
    wanted = " or ".join(dict.fromkeys(member.wanted for member in members))
    checks: list[ArgumentSchema] = []

    def read(value: Any) -> Any:
        if not checks:
            checks.extend(_check(member, definitions) for member in members)
        problem: Mismatch | None = None
        for member, check in zip(members, checks, strict=True):
            if check.faults(value):
                continue
            try:
                return member.read(value)
            except Mismatch as error:  # and yet it does not: the next one may
                problem = problem or error
        raise problem or Mismatch(f"must be {wanted}")

    has_any = any(not member.kinds for member in members)
    kinds = () if has_any else _merged(member.kinds for member in members)
    return Shape({"anyOf": [member.schema for member in members]}, read, kinds, wanted)


def _check(member: Shape, definitions: Mapping[str, Schema]) -> ArgumentSchema:
    return ArgumentSchema({**member.schema, "$defs": definitions}, form="json schema")


def nullable(shape: Shape) -> Shape:
    """The shape, or null: of what is `None` when it is not given, whatever its hint says."""
    if shape is ANYTHING or "null" in shape.kinds:
        return shape
    schema = dict(shape.schema)
    description = schema.pop("description", None)
    said = {"description": description} if description else {}

    def read(value: Any) -> Any:
        return None if value is None else shape.read(value)

    return Shape(
        {"anyOf": [schema, NULL.schema], **said},
        read,
        _merged([shape.kinds, NULL.kinds]) if shape.kinds else (),
        f"{shape.wanted} or {NULL.wanted}",
    )


def _merged(kinds: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for each in kinds for kind in each))
