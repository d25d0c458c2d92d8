"""What an agent accepts, as type checkers see it: the least that a model and a tool must have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from ..models import ModelRequest

__all__ = ["AnyModel", "ToolObject"]


class StreamingModel(Protocol):
    """A model that is an object; see `Model`."""

    @property
    def stream(self) -> Callable[[ModelRequest], Any]:
        """Asks it."""
        ...


class ToolObject(Protocol):
    """A tool made by `@tool`, one of a server, or an object of one's own; see `Tool`."""

    @property
    def name(self) -> str:
        """What the model calls it by."""
        ...

    @property
    def execute(self) -> Callable[..., Any]:
        """Carries out a call."""
        ...


AnyModel: TypeAlias = StreamingModel | Callable[[Any], Any]
"""What `Agent` can ask: an object, or a function of the messages."""
