"""One turn of a model: its events, the calls that it makes, and its rows in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import CircuitBreaker
from ..loading import lazy_names

if TYPE_CHECKING:
    from .turn import Turn as Turn, TurnResult as TurnResult

__all__ = ["CircuitBreaker", "Turn", "TurnResult"]

__getattr__, __dir__ = lazy_names(__name__, {".turn": ("Turn", "TurnResult")})
