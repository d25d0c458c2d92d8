"""What tools tell the run while their calls run."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import StopRun
from .shielded_wait import outlast

if TYPE_CHECKING:
    from ..tools.context import RunSignals


logger: logging.Logger = logging.getLogger(__name__)

OnEvent = Callable[[dict[str, Any]], None]
"""Called with each event that a tool emits, on the event loop of the batch."""


class HeldRun:
    """Holds back what a call tells its run until it is known that the call counts.

    Args:
        run: the run, which is notified then.
    """

    def __init__(self, run: RunSignals) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._held: list[Callable[[], None]] | None = []

    def emit(self, event: dict[str, Any]) -> None:
        """Hand on an event."""
        self._say(partial(self._run.emit, event))

    def stop(self, why: StopRun) -> None:
        """Ask that the run ends."""
        self._say(partial(self._run.stop, why))

    def release(self) -> None:
        """The call counts: hand on what was held back, and everything that follows."""
        with self._lock:
            held, self._held = self._held or [], None
        for say in held:
            say()

    def _say(self, say: Callable[[], None]) -> None:
        with self._lock:
            if self._held is not None:
                self._held.append(say)
                return
        say()


class ToolEvents:
    """The events and stop requests of one batch's tools, in order, from any thread.

    Args:
        on_event: called with each event; `None` to keep the events for `until`.

    Attributes:
        stopped: the first request to end the run; `None` if there was none.
    """

    def __init__(self, on_event: OnEvent | None = None) -> None:
        self.stopped: StopRun | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._queue: asyncio.Queue[dict[str, Any] | None] | None = None  # made when needed
        self._on_event = on_event

    def emit(self, event: dict[str, Any]) -> None:
        """Hand on an event; see `ToolContext.emit`."""
        self._on_loop(self._hand_on, event)

    def stop(self, why: StopRun) -> None:
        """Ask that the run ends."""
        self._on_loop(self._stop, why)

    async def until(self, over: Awaitable[None]) -> AsyncGenerator[dict[str, Any], None]:
        """Yield events until `over` is done.

        Raises:
            asyncio.CancelledError: the caller was cancelled; by then `over` has been cancelled and awaited.

        An exception of `over` is raised here. If the generator is closed early, it cancels and awaits `over`, too.
        """
        queue = self._kept()
        waiting = asyncio.ensure_future(over)
        waiting.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            if not waiting.done():
                waiting.cancel()
                await outlast([waiting])
        waiting.result()

    def _on_loop(self, call: Callable[[Any], None], value: Any) -> None:
        if threading.get_ident() == self._thread:
            call(value)
            return
        try:
            self._loop.call_soon_threadsafe(call, value)
        except RuntimeError:
            logger.debug("A tool emitted an event after its event loop was closed: %r", value)

    def _kept(self) -> asyncio.Queue[dict[str, Any] | None]:
        if self._queue is None:
            self._queue = asyncio.Queue()
        return self._queue

    def _hand_on(self, event: dict[str, Any]) -> None:
        try:
            (self._on_event or self._kept().put_nowait)(event)
        except Exception:
            logger.exception("on_event failed for %r", event)

    def _stop(self, why: StopRun) -> None:
        if self.stopped is None:
            self.stopped = why
