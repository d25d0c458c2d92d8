"""A final answer that is a value, which the model writes as JSON."""

from __future__ import annotations

import json
import re
from typing import Any

from .._core import ArgumentSchema
from ..errors import ConfigError
from ..guards.json_text import read_json
from ..tools.schema import HintError, Mismatch, Shapes, read_at
from .output import Fault

__all__ = ["ValueOutput"]

_NAME = "answer"
_OPENING = re.compile(r"^ {0,3}`{3,}[A-Za-z0-9]*[^\S\n]*\n", re.MULTILINE)
_CLOSING = re.compile(r"\n?(?<!`)`{3,}[^\S\n]*$", re.MULTILINE)


class ValueOutput:
    """The answer as a value, which the model writes as JSON.

    Args:
        hint: the type of the value; anything that a parameter of a tool may be.

    Attributes:
        is_text: whether any text is an answer: no.
        instructions: what the system prompt says about it.
        schema: the JSON Schema of the value, if it is an object; providers take no other.

    Raises:
        ConfigError: JSON cannot hold such a value; the message says why.
    """

    is_text: bool = False

    def __init__(self, hint: Any) -> None:
        shapes = Shapes({})
        try:
            self._shape = shapes.of(hint)
        except HintError as error:
            raise ConfigError(f"output_type {error}", cause=error) from error
        definitions = {"$defs": shapes.definitions} if shapes.definitions else {}
        whole = _flattened(self._shape.schema, shapes.definitions)
        if "#/$defs/" in json.dumps(whole):
            whole |= definitions
        self._check = ArgumentSchema(
            {
                "type": "object",
                "properties": {_NAME: self._shape.schema},
                "required": [_NAME],
                **definitions,
            }
        )
        self.schema: dict[str, Any] | None = whole if whole.get("type") == "object" else None
        self.instructions = (
            "Write your final answer, the one in which you call no tool, as one JSON value that fits this JSON Schema, "
            f"and write nothing else in it:\n{json.dumps(whole, ensure_ascii=False)}"
        )

    def read(self, text: str) -> Any:
        """Read the value, which may be in a Markdown fence; returns a `Fault` if there is none. Linear in the text."""
        try:
            value = read_json(_in_fence(text), strict=False, parse_constant=_refuse)
        except ValueError as error:
            return self._fault(f"it is not JSON: {error}")
        if faults := self._check.faults({_NAME: value}):
            return self._fault("; ".join(faults))
        try:
            return read_at(_NAME, self._shape.read, value)
        except Mismatch as mismatch:
            return self._fault(str(mismatch))
        except RecursionError:
            return self._fault("it is nested too deep")

    def _fault(self, problem: str) -> Fault:
        return Fault(
            f"Your answer is not what was asked for: {problem}. Write it again: one JSON value that fits the schema, "
            "and nothing else."
        )


def _in_fence(text: str) -> str:
    """What is in the first Markdown fence; the text itself if there is none.

    Linear in the text: a fence that is never closed is followed by none that is.
    """
    opening = _OPENING.search(text)
    closing = opening and _CLOSING.search(text, opening.end())
    return text[opening.end() : closing.start()] if opening and closing else text


def _refuse(constant: str) -> Any:
    """Refuse NaN and the infinities, which Python's reader takes."""
    raise ValueError(f"JSON has no {constant}")


def _flattened(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Replace a schema that is a reference by its target: providers want an object at the top."""
    reference = schema.get("$ref", "")
    return dict(definitions.get(reference.rpartition("/")[2], schema)) if reference else schema
