"""A shape: the JSON Schema of a value, and the reader that makes a Python value of a JSON value that fits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

from .values import WORDS, kind_of

__all__ = [
    "ANYTHING",
    "SCALARS",
    "Mismatch",
    "Reader",
    "Schema",
    "Shape",
    "array_of",
    "choice",
    "nullable",
    "object_of",
    "optional",
    "read_at",
]

Schema = dict[str, Any]
"""A JSON Schema."""

Reader = Callable[[Any], Any]
"""Makes the Python value of a JSON value that fits its schema; raises `Mismatch` for faults that no schema shows."""


class Mismatch(Exception):  # noqa: N818  # a finding, which becomes the result of a call
    """A reader refuses a value although it fits its schema.

    Attributes:
        problem: what is wrong, as the predicate after the argument's name.
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
    """The schema and the reader of a value.

    Attributes:
        schema: its JSON Schema; `$ref` points into the definitions of the `Shapes` that made it.
        read: its reader.
        kinds: the JSON types it may have; empty for any, or if only the schema knows.
        wanted: the type as messages name it.
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


def as_it_is(value: Any) -> Any:
    """The reader of values that JSON and Python have alike."""
    return value


def _read_int(value: Any) -> int:
    # In JSON Schema, 1.0 is a whole number.
    return int(value) if isinstance(value, float) else value


def _read_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Mismatch("must be a number that a float can hold, got a larger one") from None


def _scalar(kind: str, read: Reader) -> Shape:
    return Shape({"type": kind}, read, (kind,), WORDS[kind])


NULL = _scalar("null", as_it_is)

SCALARS: dict[Any, Shape] = {
    NoneType: NULL,
    bool: _scalar("boolean", as_it_is),
    int: _scalar("integer", _read_int),
    float: _scalar("number", _read_float),
    str: _scalar("string", as_it_is),
}
"""The shapes of JSON's single values."""

ANYTHING = Shape({}, as_it_is)


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


def object_of(item: Shape) -> Shape:
    """An object whose values have one shape."""

    def read(value: Any) -> dict[str, Any]:
        return {name: read_at(name, item.read, each) for name, each in value.items()}

    schema = {"type": "object", "additionalProperties": item.schema}
    return Shape(schema, read, ("object",), "an object")


def optional(members: Sequence[Shape]) -> Shape:
    """A shape or null, given in the order in which the hint names them."""
    [read_other] = [member.read for member in members if member is not NULL]

    def read(value: Any) -> Any:
        return None if value is None else read_other(value)

    takes_any = any(not member.kinds for member in members)
    return Shape(
        {"anyOf": [member.schema for member in members]},
        read,
        () if takes_any else _merged(member.kinds for member in members),
        " or ".join(dict.fromkeys(member.wanted for member in members)),
    )


def nullable(shape: Shape) -> Shape:
    """The shape or null, for a parameter whose default is `None` although its hint does not allow it."""
    if shape is ANYTHING or "null" in shape.kinds:
        return shape
    schema = dict(shape.schema)
    description = {"description": schema.pop("description")} if schema.get("description") else {}
    made = optional([replace(shape, schema=schema), NULL])
    return replace(made, schema=made.schema | description)


def _merged(kinds: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for each in kinds for kind in each))
