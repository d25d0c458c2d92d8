"""The type of a run's final answer: text, or a value that the model writes as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from ..runs.run_result import NO_OUTPUT

__all__ = [
    "Fault",
    "OutputReader",
    "TextOutput",
    "text_of",
]


@dataclass(frozen=True)
class Fault:
    """Why an answer does not have the type that was asked for.

    Attributes:
        message: the message to the model: what is wrong, and what to write instead.
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


def text_of(output: Any) -> str:
    """An output as text: a string as it is, any other value as JSON; "" if there is no output."""
    if isinstance(output, str):
        return output
    if output is NO_OUTPUT:
        return ""
    return json.dumps(output, ensure_ascii=False, default=str)
