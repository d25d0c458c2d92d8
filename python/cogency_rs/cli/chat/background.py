"""An event loop in a thread, so that the main thread is free to read keys and to be interrupted.

A run is watched from the main thread: its events come through a queue, and a moment without one is a separate event,
`None`, so that live lines can be redrawn.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Container, Coroutine, Iterator, Mapping
from concurrent import futures
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from time import monotonic
from typing import Any, Generic, Self, TypeVar

from ...agent import RunHandle
from ...hooks import Invocation, Next
from ...hooks.approval import preview_of
from ...runs.result import RunResult
from ...tools.toolbox import ResolvedCall
from ...types import CallMode, StreamMode, ToolCall, ToolResult
from ..exits import complain
from .events import CallBegan, CallEnded, Warned

__all__ = ["Background", "ToolWatch", "Watched", "Work"]

T = TypeVar("T")

TICK = 0.1
"""Seconds without an event after which live lines are redrawn."""

_GRACE = 1.0
"""Seconds that work left on the loop has to end when the loop is closed."""


class ToolWatch:
    """A function around calls that tells a listener when they begin and end.

    Attributes:
        listener: called on the event loop.
        edited: arguments that a person has changed, by the id of the call; they are put in further inside.
        shown: the ids of calls whose preview a person has seen; of others their tools are asked what they will do.
            Without it, none is.
    """

    def __init__(self) -> None:
        self.listener: Callable[[CallBegan | CallEnded | Warned], None] = _unheard
        self.edited: Mapping[str, dict[str, Any]] = {}
        self.shown: Container[str] | None = None

    async def __call__(self, invocation: Invocation, next: Next) -> ToolResult:
        """Carry a call out."""
        listener, began, call = self.listener, monotonic(), invocation.call
        id = invocation.id
        call = replace(call, args=self.edited.get(invocation.id, call.args))
        listener(CallBegan(id, call))
        result: ToolResult | None = None
        is_news = self.shown is not None and invocation.id not in self.shown
        preview = await _preview(invocation.tool, call) if is_news else None
        try:
            result = await next(invocation)
            return result
        finally:
            listener(CallEnded(id, call, result, monotonic() - began, preview))


async def _preview(tool: Any, call: ToolCall) -> str | None:
    with suppress(Exception):  # the call itself will say what is wrong
        return await preview_of(ResolvedCall(call, tool))
    return None


def _unheard(item: CallBegan | CallEnded | Warned) -> None:
    """Listener for the time when no run is watched; does nothing."""
    if isinstance(item, Warned):
        complain(item.text)


class Work(Generic[T]):
    """Something that is carried out on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self.over: Future[T] = Future()
        loop.call_soon_threadsafe(self._begin, work)

    def cancel(self) -> None:
        """Ask the work to end; it is over only when it has ended."""
        self._loop.call_soon_threadsafe(lambda: self._task.cancel())

    def result(self) -> T:
        """Wait for the work, a moment at a time so that Ctrl-C is noticed on every system; raises its exception."""
        while not self.over.done():
            futures.wait([self.over], timeout=TICK)
        return self.over.result()

    def _begin(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.over.set_exception(asyncio.CancelledError())
        elif error := task.exception():
            self.over.set_exception(error)
        else:
            self.over.set_result(task.result())


class Watched:
    """A run on the loop, as the main thread sees it: iterate over it for its events."""

    def __init__(
        self,
        background: Background,
        start: Callable[[], RunHandle[str]],
        mode: StreamMode = "token",
        calls: CallMode = "whole",
    ) -> None:
        self._mode: StreamMode = mode
        self._calls: CallMode = calls
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._watch = background.watch
        self._watch.listener = self._inbox.put
        self._run = background.start(self._carried_out(start))
        self._run.over.add_done_callback(lambda _: self._inbox.put(_OVER))

    def __iter__(self) -> Iterator[Any]:
        """Yield event dicts, and items of `events`, as they happen; `None` after each `TICK` without any."""
        while True:
            try:
                item = self._inbox.get(timeout=TICK)
            except queue.Empty:
                yield None
                continue
            if item is _OVER:
                self._watch.listener = _unheard
                return
            yield item

    def result(self) -> RunResult[str]:
        """The result of the run; raises its exception."""
        return self._run.result()

    def stop(self) -> Iterator[Any]:
        """Cancel the run; yields the further events until it is settled in the log."""
        self._run.cancel()
        return iter(self)

    async def _carried_out(self, start: Callable[[], RunHandle[str]]) -> RunResult[str]:
        async with start() as run:
            async for event in run.events(self._mode, calls=self._calls):
                self._inbox.put(event)
        return run.result


_OVER = object()


class Background:
    """The event loop, while the block lasts.

    Attributes:
        watch: goes around the calls of the agent that runs here.
    """

    def __init__(self) -> None:
        self.watch = ToolWatch()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name="cogency-rs chat", daemon=True)
        self._leave: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the entered contexts, the last one first, and close the loop."""
        for leave in reversed(self._leave):
            leave()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def warn(self, text: str) -> None:
        """Show a message through the view of the run, which keeps its live lines; without a run, print it."""
        self.watch.listener(Warned(text))

    def start(self, work: Coroutine[Any, Any, T]) -> Work[T]:
        """Begin something on the loop."""
        return Work(self._loop, work)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop, and wait for it. Interrupted, it is cancelled."""
        begun = self.start(work)
        try:
            return begun.result()
        except BaseException:
            begun.cancel()
            raise

    def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter a context on the loop; the task that entered it leaves it, when the block of this object ends.

        Interrupted, it is not entered.
        """
        entered: Future[T] = Future()
        leave = asyncio.Event()

        async def live() -> None:
            try:
                async with manager as value:
                    entered.set_result(value)
                    await leave.wait()
            except BaseException as error:
                if entered.done():
                    raise
                entered.set_exception(error)

        def left() -> None:
            self._loop.call_soon_threadsafe(leave.set)
            living.result()

        living = self.start(live())
        self._leave.append(left)
        try:
            while not entered.done():
                futures.wait([entered], timeout=TICK)
        except BaseException:
            living.cancel()
            raise
        return entered.result()

    def _live(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            if left := asyncio.all_tasks(self._loop):
                for task in left:
                    task.cancel()
                self._loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
