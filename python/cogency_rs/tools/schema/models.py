"""Hints that are left to pydantic: its models, enums, tuples, unions, and types such as `datetime`."""

from __future__ import annotations

from typing import Any

from ...guards.json_values import pydantic
from .shape import Mismatch
from .values import received

__all__ = ["Adapter", "HintRefusedError", "is_bound", "is_field", "is_model"]


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
