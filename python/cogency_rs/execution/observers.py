"""Tells a program when calls start and end. An observer that fails harms no call."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from typing import Any

from ..types import ToolCall, ToolResult

__all__ = ["Observers", "OnToolEnd", "OnToolStart"]

logger: logging.Logger = logging.getLogger(__name__)

OnToolStart = Callable[[ToolCall], Any]
"""Called with a call when it starts; sync or async. It runs in the tool's own context, so the tool sees the context
variables that it sets."""

OnToolEnd = Callable[[ToolCall, ToolResult, float], Any]
"""Called with a call, its result and the seconds it took; sync or async."""


class Observers:
    """The observers of one batch.

    They are told of every call: a refused call starts and ends when it is refused.
    """

    def __init__(self, on_start: OnToolStart | None, on_end: OnToolEnd | None) -> None:
        self._on_start = on_start
        self._on_end = on_end
        self._started: dict[int, float] = {}

    async def start(self, index: int, call: ToolCall) -> None:
        """Tell that a call starts, at its first attempt."""
        if index in self._started:
            return
        self._started[index] = time.perf_counter()
        if self._on_start is not None:
            await _tell(self._on_start, call)

    def forget(self, first: int) -> None:
        """Forget the calls from `first` on, which do not count; others take their places."""
        self._started = {index: at for index, at in self._started.items() if index < first}

    async def end(self, index: int, call: ToolCall, result: ToolResult) -> None:
        """Tell that a call is over."""
        await self.start(index, call)
        if self._on_end is not None:
            seconds = time.perf_counter() - self._started[index]
            await _tell(self._on_end, call, result, seconds)


async def _tell(observer: Callable[..., Any], *what: Any) -> None:
    try:
        answer = observer(*what)
        if inspect.isawaitable(answer):
            await answer
    except Exception:
        logger.exception("An observer of tool calls failed; the call goes on")
