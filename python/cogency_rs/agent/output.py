"""What the final answer of a run is to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Fault", "OutputReader", "TextOutput"]

Value = TypeVar("Value", covariant=True)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an answer is not what was asked for.

    Attributes:
        message: what the model is told: what was wrong, and what to write instead.
    """

    message: str


class OutputReader(Protocol, Generic[Value]):
    """Reads the final answer."""

    @property
    def instructions(self) -> str:
        """What the model is told of it in the system prompt; "" for nothing."""
        ...

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema that a provider is asked for; `None` for none."""
        ...

    def read(self, text: str) -> Value | Fault:
        """The value that the text of an answer stands for."""
        ...


class TextOutput:
    """The answer as it is."""

    instructions: str = ""
    schema: dict[str, Any] | None = None

    def read(self, text: str) -> str:
        """The text itself."""
        return text
