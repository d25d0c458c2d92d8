"""The type of a run's final answer: text, or a value that the model writes as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Protocol

from .._core import ArgumentSchema
from ..errors import ConfigError
from ..json_text import read_json
from ..schema import HintError, Mismatch, Shapes

__all__ = [
    "NO_OUTPUT",
    "Fault",
    "OutputReader",
    "TextOutput",
    "ValueOutput",
    "output_of",
    "text_of",
]

NO_OUTPUT: Any = object()
"""Stands where a run has no output yet: `None` is one, where the type of the answer may be null."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an answer does not have the type that was asked for.

    Attributes:
        message: what the model is told: what is wrong, and what to write instead.
    """

    message: str


class OutputReader(Protocol):
    """Reads the final answer.

    Attributes:
        is_text: whether any text is an answer.
    """

    is_text: bool

    @property
    def instructions(self) -> str:
        """What the system prompt says about it; "" for nothing."""
        ...

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema that a provider may be asked for; `None` for none."""
        ...

    def read(self, text: str) -> Any:
        """The value that the text of an answer means, or a `Fault`."""
        ...


class TextOutput:
    """The answer as it is."""

    is_text: bool = True
    instructions: str = ""
    schema: dict[str, Any] | None = None

    def read(self, text: str) -> str:
        """The text itself."""
        return text


_NAME = "answer"
_FENCE = re.compile(r"^```[a-z]*\n(.*?)\n?```\s*$", re.DOTALL | re.MULTILINE)


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
        """The value, or a `Fault`. The value may stand in a Markdown fence; the cost is linear."""
        fenced = _FENCE.search(text)
        written = fenced[1] if fenced else text
        try:
            value = read_json(written, strict=False, parse_constant=_refuse)
        except ValueError as error:
            return self._fault(f"it is not JSON: {error}")
        if faults := self._check.faults({_NAME: value}):
            return self._fault("; ".join(faults))
        try:
            return self._shape.read(value)
        except Mismatch as mismatch:
            return self._fault(f"{_NAME} {mismatch}")
        except RecursionError:
            return self._fault("it is nested too deep")

    def _fault(self, problem: str) -> Fault:
        return Fault(
            f"Your answer is not what was asked for: {problem}. Write it again: one JSON value that fits the schema, "
            "and nothing else."
        )


def _refuse(constant: str) -> Any:
    """Refuse NaN and the infinities, which Python's reader takes."""
    raise ValueError(f"JSON has no {constant}")


def _flattened(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Replace a schema that is a reference by its target: providers want an object at the top."""
    reference = schema.get("$ref", "")
    return dict(definitions.get(reference.rpartition("/")[2], schema)) if reference else schema


def text_of(output: Any) -> str:
    """An output as text: a string as it is, any other value as JSON; "" if there is no output."""
    if isinstance(output, str):
        return output
    if output is NO_OUTPUT:
        return ""
    return json.dumps(output, ensure_ascii=False, default=str)


def output_of(output_type: Any) -> OutputReader:
    """Return the reader for answers of a type; for `None` and `str` that of text."""
    return TextOutput() if output_type in (None, str) else ValueOutput(output_type)
