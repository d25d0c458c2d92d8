"""Errors that repeat: a model that makes the same one again and again will not stop on its own."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import StopReason, StopRun

__all__ = ["Repetition"]

ErrorKey = tuple[str, str]
"""The kind of an error, and its tool; "" for no tool."""


class Repetition:
    """Counts equal errors in a row.

    Args:
        limit: after how many of them a run stops; `None` for never.
    """

    __slots__ = ("_count", "_last", "_limit")

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._last: ErrorKey | None = None
        self._count = 0

    def enter(self, errors: Iterable[tuple[ErrorKey, str] | None]) -> StopRun | None:
        """Take the events of a step, in order: errors with their messages, or `None` for a success.

        Equal errors of one step count once: the model has not yet read the first.

        Returns:
            A signal, if the limit is reached.
        """
        counted: ErrorKey | None = None  # in this step
        for error in errors:
            if error is None:
                self._last, self._count, counted = None, 0, None
                continue
            key, message = error
            if key == counted:
                continue
            counted = key
            self._count = self._count + 1 if key == self._last else 1
            self._last = key
            if self._limit is not None and self._count >= self._limit:
                kind, tool = key
                if kind == "truncated":
                    return StopRun(
                        _CUT.format(self._count), reason=StopReason.TRUNCATED, source="recovery"
                    )
                of = f" of '{tool}'" if tool else ""
                text = f"{self._count} equal errors in a row: {kind}{of}: {_quoted(message)}"
                return StopRun(text, reason=StopReason.RETRY_LIMIT, source="recovery")
        return None


_CUT = (
    "the answer was cut {} times in a row and is not whole: raise the model's limit on output, such as max_tokens, or "
    "ask for less"
)

_MOST = 300
"""How many characters of an error are quoted."""


def _quoted(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
