"""An event loop in virtual time, on which simulated processes can be stopped at any await.

A task belongs to the process in its context. The loop counts the steps of each process: what it hands to `call_soon`.
A process that is stopped takes no further step. One that was killed is never resumed, so that no `finally` of it runs;
one that was only stopped goes on with the same steps, in the same order, when it is thawed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, Protocol

__all__ = ["HERE", "MOST_STEPS", "Host", "NeverEnds", "WorldLoop"]

MOST_STEPS = 60_000
"""Steps of one world: many times what any needs."""

MOST_SECONDS = 50_000.0
"""Seconds of one world, in its own time: the same."""


class NeverEnds(BaseException):
    """A world that goes on for ever, or waits for what cannot come."""


class Host(Protocol):
    """What the loop knows of a simulated process."""

    steps: int
    stops_at: int
    frozen: list[asyncio.Handle] | None

    def reached(self) -> None:
        """It has come to the step at which it stops."""


HERE: ContextVar[Host | None] = ContextVar("world_process", default=None)
"""The process that the present code is part of; `None` for the world around it."""

_OUTSIDE = Context()
"""The context of the world itself, and of its databases."""


class _Waits:
    """A selector that waits for nothing: it counts the seconds that the loop would wait.

    What is raised in a step of a task stays in that task, so this is where a world that never ends is stopped.
    """

    def __init__(self) -> None:
        self.now, self.ends = 0.0, MOST_SECONDS
        self.steps, self.last_step = 0, MOST_STEPS

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NeverEnds("nothing more can happen, and somebody still waits")
        if self.steps > self.last_step:
            raise NeverEnds(f"more than {MOST_STEPS:,} steps")
        if timeout > 0:
            self.now += timeout
            if self.now > self.ends:
                raise NeverEnds(f"more than {MOST_SECONDS:,.0f} seconds")
        return []

    def register(self, *_: Any) -> None: ...
    def modify(self, *_: Any) -> None: ...
    def unregister(self, *_: Any) -> None: ...
    def close(self) -> None: ...
    def get_map(self) -> dict[Any, Any]:
        return {}

    def get_key(self, fileobj: Any) -> Any:
        raise KeyError(fileobj)


class WorldLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still while there is something to do."""

    def __init__(self) -> None:
        self._waits = _Waits()
        super().__init__(self._waits)  # type: ignore[arg-type]
        self.set_exception_handler(lambda loop, context: None)

    def time(self) -> float:
        return self._waits.now

    def begin_again(self) -> None:
        """Let it go on for as long as a new one, to end what is left."""
        waits = self._waits
        waits.last_step, waits.ends = waits.steps + MOST_STEPS, waits.now + MOST_SECONDS

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if context is None:
            context = copy_context()
        self._waits.steps += 1
        here = context.get(HERE)
        if here is not None:
            here.steps += 1
            if here.steps == here.stops_at:
                here.reached()
            if here.frozen is not None:
                handle = asyncio.Handle(callback, args, self, context)
                here.frozen.append(handle)
                return handle
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        if context is None:
            context = copy_context()
        here = context.get(HERE)
        if here is None:
            return super().call_at(when, callback, *args, context=context)
        return super().call_at(when, self._fire, here, callback, args, context=context)

    def _fire(self, here: Host, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        if here.frozen is not None:
            here.frozen.append(asyncio.Handle(callback, args, self, copy_context()))
        else:
            callback(*args)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Do at once what a thread would do: the door of threads."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def outside(self, when: float, callback: Callable[..., object], *args: Any) -> None:
        """Call something that is part of no process."""
        super().call_at(when, callback, *args, context=_OUTSIDE)

    def thaw(self, here: Host) -> None:
        """Let a stopped process take the steps that it could not take."""
        frozen, here.frozen = here.frozen or [], None
        for handle in frozen:
            if not handle.cancelled():
                super().call_soon(handle._run)  # type: ignore[attr-defined]  # keeps its own context
