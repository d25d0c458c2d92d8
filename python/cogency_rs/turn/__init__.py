"""One turn of a model: its events, the calls that it makes, and its rows in the log."""

from .._core import CircuitBreaker

__all__ = ["CircuitBreaker"]
