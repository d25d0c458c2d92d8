"""JSON from outside, which a log, a server or a model has written; and Python values as JSON holds them."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable
from enum import Enum
from typing import Any

from .._core import check_json
from ..loading import PlainData


def whole_characters(text: str) -> str:
    """A text in which halves of surrogate pairs are joined; a lone one, which nothing can store or send, is U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class TooDeepError(ValueError):
    """JSON that is nested deeper than Python reads."""


def read_json(
    text: str | bytes, *, strict: bool = True, parse_constant: Callable[[str], Any] | None = None
) -> Any:
    """The value of a text; `strict` and `parse_constant` are those of `json.loads`.

    Raises:
        ValueError: it is not JSON, an integer in it has more digits than Python reads, or it is nested too deep, for
            which `json.loads` raises a `RecursionError` that nobody expects of a text.
    """
    try:
        return json.loads(text, strict=strict, parse_constant=parse_constant)
    except RecursionError:
        raise TooDeepError("it is nested deeper than Python reads") from None


def pydantic() -> Any:
    """Import pydantic, of the extra `schema`; `None` if it is not installed. Nothing else imports it."""
    try:
        return importlib.import_module("pydantic")
    except ImportError:
        return None


def json_value(value: Any) -> Any:
    """A value as JSON holds it: dataclasses and pydantic models as objects, members of an `Enum` as their value.

    Results of runs and calls are written by their `to_dict`.

    A value that neither the standard library nor an installed pydantic can write stays as it is. The cost is linear.
    """
    if type(value) is str:  # as most results of tools
        return value
    match value:
        case Enum():
            return json_value(value.value)
        case None | str() | int() | float():
            return value
        case [*items]:
            return [json_value(item) for item in items]
        case {**fields}:
            return {
                key.value if isinstance(key, Enum) else key: json_value(item)
                for key, item in fields.items()
            }
        case _:
            pass
    if isinstance(value, PlainData):
        return json_value(value.to_dict())
    if is_record(value):
        names = [each.name for each in dataclasses.fields(value)]
        return {name: json_value(getattr(value, name)) for name in names}
    return _dumped(value)


def _dumped(value: Any) -> Any:
    """The value as pydantic writes it, if it is installed and knows the value; else the value itself."""
    if (found := pydantic()) is None:
        return value
    try:
        return found.TypeAdapter(type(value)).dump_python(value, mode="json")
    except (found.PydanticUserError, ValueError, TypeError):
        return value


def json_value_or_text(value: Any) -> Any:
    """A value as `json_value` makes it; its text, if JSON cannot hold that."""
    try:
        made = json_value(value)
        check_json(made)
    except (TypeError, ValueError, RecursionError):
        return str(value)
    return made


def is_record(value: Any) -> bool:
    """Whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)
