"""A parameter's description and bounds, which a hint cannot express."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ...guards.json_values import pydantic
from .shape import Schema, Shape

__all__ = ["Param", "bounded", "is_bounded_by", "param_in"]


@dataclass(frozen=True)
class Param:
    """A parameter's description and bounds for the model: `Annotated[int, Param("how many", ge=1)]`.

    Args:
        description: what the parameter is for. A plain string in `Annotated` does the same.
        ge: the least value of a number.
        le: the greatest value of a number.
        min_length: the least number of characters in a string, or of items in an array or object.
        max_length: the greatest number of them.

    cogency's `ToolParam` in `Annotated` is read the same way.

    pydantic reads it too, in the hints that are left to pydantic and in fields of its models.
    """

    __is_annotated_types_grouped_metadata__: ClassVar[bool] = True
    """The mark of the package annotated_types by which pydantic unpacks this object into its own constraints."""

    description: str = ""
    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None

    def __iter__(self) -> Iterator[Any]:
        """The same as a `Field` of pydantic, which must be installed."""
        bounds = {name: getattr(self, name) for name in NAMES if name != "description"}
        yield pydantic().Field(description=self.description or None, **bounds)


NAMES = [each.name for each in dataclasses.fields(Param)]

BOUNDS = {
    "integer": {"ge": "minimum", "le": "maximum"},
    "number": {"ge": "minimum", "le": "maximum"},
    "string": {"min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
}
"""The names of the bounds in JSON Schema, for each JSON type."""


def param_in(note: Any) -> Param | None:
    """An item of `Annotated` as a `Param`; `None` for an item that is not about the parameter."""
    if isinstance(note, str):
        return Param(note)
    if isinstance(note, Param):
        return note
    if dataclasses.is_dataclass(note) and all(hasattr(note, name) for name in NAMES):
        return Param(**{name: getattr(note, name) for name in NAMES})
    return None


def is_bounded_by(shape: Shape, name: str) -> bool:
    """Whether a bound of this name applies to any JSON type that the shape may have."""
    return any(name in BOUNDS.get(kind, {}) for kind in shape.kinds)


def bounded(shape: Shape, param: Param) -> Shape:
    """The shape with a description and bounds."""
    schema: Schema = dict(shape.schema)
    for kind in shape.kinds:
        for name, key in BOUNDS.get(kind, {}).items():
            if (bound := getattr(param, name)) is not None:
                schema[key] = bound
    if param.description:
        schema["description"] = param.description
    return dataclasses.replace(shape, schema=schema)
