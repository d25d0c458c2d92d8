"""`RunHandle`: a run that is awaited for its result, watched while it goes on, or carried out in a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Generator
from functools import partial
from inspect import CORO_CLOSED, CORO_CREATED, getcoroutinestate
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar
from weakref import ref

from ..guards.arguments import check_choice
from ..runs.result import Output, RunResult, Step
from ..types import CallMode, RunEvent, StreamMode
from .run import Run, Shown

T = TypeVar("T")


def run_in_script(run: Coroutine[Any, Any, T]) -> T:
    """Run to the end, and return the result. Ctrl-C cancels the run, and raises `KeyboardInterrupt` alone."""
    try:
        return asyncio.run(run)
    except BaseException as error:
        is_ctrl_c = isinstance(error, KeyboardInterrupt)
        if is_ctrl_c and isinstance(error.__context__, asyncio.CancelledError):
            error.__suppress_context__ = True  # where the run was waiting
        if (here := error.__traceback__) is not None:
            here.tb_next = _after_the_loop(here.tb_next)
        raise


def _after_the_loop(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that is not the event loop's own."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("asyncio."):
        trace = trace.tb_next
    return trace


class RunHandle(Coroutine[Any, Any, RunResult[Output]], Generic[Output]):
    """A run of an agent. It begins when it is awaited, or when its first event or step is asked for.

    ```python
    result = await agent.run("…")  # to its end, with nothing to watch
    async for event in agent.run("…"): ...  # its events
    async for step in agent.run("…").steps(): ...  # its steps, each when it is over
    ```

    It is a coroutine too, so `asyncio.create_task` and anything else that takes one accepts it. Awaited after it was
    watched, it goes on to its end.

    Close it if you stop watching early (`async with agent.run("…") as run`, or `aclose`): then the model's stream is
    closed, running tools are cancelled and awaited, and the log says that the run was cancelled.

    Attributes:
        conversation_id: the conversation's id, for the next run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.conversation_id: str = run.ctx.conversation_id
        # Neither refers back to the handle, so a run is closed as soon as its handle is dropped. The coroutine is made
        # at once, so that Python warns of a run that nobody awaits or watches.
        self._coroutine: Coroutine[Any, Any, RunResult[Output]] | None = _to_its_end(run)
        self._shown: Shown | None = None
        self._items: _Items | None = None
        self._sender: ref[Any] | None = None  # a task keeps its coroutine

    @property
    def result(self) -> RunResult[Output]:
        """The result of the run.

        Raises:
            RuntimeError: the run is not over, or never began.
        """
        if self._run.result is None:
            raise RuntimeError(
                _NEVER_BEGAN
                if self._is_ended
                else "the run is not over: its result is available after its last event"
            )
        return self._run.result

    def stop(self, message: str = "") -> None:
        """Ask the run to stop before its next step, when its calls have their results; from any thread."""
        self._run.stop(message)

    def cancel(self, message: str = "") -> None:
        """Stop the run at once; from any task or thread.

        The model's stream is closed, and running calls are cancelled and have their results in the log. A task that
        awaits or watches the run goes on with its result, whose status is `stopped`.
        """
        self._run.cancel(message)

    def events(
        self, mode: StreamMode = "token", *, calls: CallMode = "whole"
    ) -> AsyncGenerator[RunEvent, None]:
        """The events of the run, as dicts; see `RunEvent`.

        Besides the events of a turn there are `user` (the question), `metric` after each step (tokens and seconds of
        the `step` and in `total`), and `interrupt` and `cancelled` if the run was asked to stop.

        Args:
            mode: `"token"` for text as it arrives, as `async for event in run` has it; `"event"` for whole texts.
            calls: `"stream"` to show a call while it is written, too, whatever the driver: see `parse_tokens`.

        Raises:
            RuntimeError: the run was begun in another way, or is over.
        """
        check_choice("mode", mode, "token", "event")
        check_choice("calls", calls, "whole", "stream")
        return self._watch("tokens" if mode == "token" else "events", calls)

    def steps(self) -> AsyncGenerator[Step, None]:
        """The steps of the run, each when it is over and in the log.

        Raises:
            RuntimeError: the run was begun in another way, or is over.
        """
        return self._watch("steps")

    def __aiter__(self) -> AsyncGenerator[RunEvent, None]:
        return self.events()

    def __anext__(self) -> Awaitable[RunEvent]:
        return anext(self.events())

    async def aclose(self) -> None:
        """End the run, if it is watched and not over. One that a task awaits ends when that task is cancelled.

        Raises:
            RuntimeError: another task waits for its next event.
        """
        if self._items is not None:
            await self._items.aclose()
        elif not self._is_awaited:
            self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # What a coroutine has

    def __await__(self) -> Generator[Any, Any, RunResult[Output]]:
        return self._begun().__await__()

    def send(self, value: Any, /) -> Any:
        """Go on to where the run waits next, as `Coroutine.send` does."""
        return self._sent().send(value)

    def throw(self, kind: Any, value: Any = None, traceback: Any = None, /) -> Any:
        """Raise an exception where the run waits, as `Coroutine.throw` does."""
        error = kind if value is None else value
        return self._sent().throw(error if traceback is None else error.with_traceback(traceback))

    def close(self) -> None:
        """Give up a run that was awaited and goes on no more, as `Coroutine.close` does."""
        if self._coroutine is not None:
            self._coroutine.close()

    if not TYPE_CHECKING:  # to a type checker, it would have every attribute

        def __getattr__(self, name: str) -> Any:
            # What debuggers and asyncio's own messages ask of a coroutine: its name, its frame, what it awaits.
            if name in _OF_COROUTINES and self._coroutine is not None:
                return getattr(self._coroutine, name)
            advice = _OF_A_RESULT.format(name) if name in _FIELDS else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{advice}",
                name=name,
                obj=self,
            )

        def __iter__(self) -> Any:
            raise TypeError(_NOT_AWAITED.format("async for event in agent.run(…)"))

        def __enter__(self) -> Any:
            raise TypeError(_NOT_AWAITED.format("async with agent.run(…) as run"))

        def __exit__(self, *_: object) -> None:  # else Python speaks of this first
            pass

    @property
    def _is_awaited(self) -> bool:
        coroutine: Any = self._coroutine
        return coroutine is not None and getcoroutinestate(coroutine) != CORO_CREATED

    @property
    def _is_ended(self) -> bool:
        coroutine: Any = self._coroutine
        if coroutine is not None:
            return getcoroutinestate(coroutine) == CORO_CLOSED
        return self._items is not None and self._items.are_over

    def _begun(self) -> Coroutine[Any, Any, RunResult[Output]]:
        """What carries out the run, or the rest of one that was watched; has not begun yet."""
        if self._is_awaited:  # a second await would go on in the middle of the first
            raise self._refusal("take its result from there, or from `result` once it is over")
        if self._coroutine is None:
            if self._items is not None:
                self._items.check("await it only after that")
                self._items.share()
            self._coroutine = _to_its_end(self._run, self._items)
        return self._coroutine

    def _sent(self) -> Any:
        """What carries out the run for the task that was made of it, which is one only."""
        task: Any = asyncio.current_task()
        if self._sender is None or self._sender() is not task:
            coroutine: Any = self._begun()  # raises for a second task
            self._sender = ref(task)
        else:
            coroutine = self._coroutine
        return coroutine

    def _watch(self, shown: Shown, calls: CallMode = "whole") -> AsyncGenerator[Any, None]:
        """The items of the run. Asked for again, they are those that were not taken yet, whatever `calls` is."""
        if self._items is None:
            if self._is_awaited:
                raise self._refusal("to watch a run, iterate over it instead")
            self.close()
            self._coroutine = None
            self._shown, self._items = shown, _Items(self._run.items(shown, calls))
        else:
            self._items.share()
        if self._shown != shown:
            raise RuntimeError(
                _OVER
                if self._run.result is not None
                else f"the run is already yielding its {self._shown}, so it cannot yield its {shown} too"
            )
        return self._items

    def _refusal(self, advice: str) -> RuntimeError:
        """The error for somebody who comes too late; `advice` is for a run that is being awaited."""
        if self._run.result is not None:
            return RuntimeError(_OVER)
        if self._is_ended:
            return RuntimeError(_NEVER_BEGAN)
        return RuntimeError(f"the run is already being awaited: {advice}")


_OVER = "the run is over: `result` has its result, and `agent.run` begins another run"
_NOT_AWAITED = (
    "a run is watched in an async function: write `{}`; anywhere else, agent.run_sync(…) waits for its "
    "result"
)
_OF_A_RESULT = (
    ", which its result has: write (await agent.run(…)).{0}, or agent.run_sync(…).{0} outside of async "
    "functions"
)
_FIELDS = frozenset(
    ("has_output", "output", "run_id", "status", "text", "usage", "waiting", "with_output")
)
_NEVER_BEGAN = "the run was closed, or failed, before it began: `agent.run` begins another run"


class _Items(AsyncGenerator[Any, None]):
    """What a run yields, to one loop at a time.

    `__anext__` is that of the generator itself until the run is asked for twice: a check costs a tenth of an event.
    """

    __slots__ = ("__anext__", "_items")

    __anext__: Any

    def __init__(self, items: AsyncGenerator[Any, None]) -> None:
        self._items: Any = items
        self.__anext__ = items.__anext__

    @property
    def are_over(self) -> bool:
        return self._items.ag_frame is None

    def share(self) -> None:
        """Check from now on, before each item, that nobody else waits for it."""
        self.__anext__ = partial(_next_of, self._items)  # a method would keep a dropped run alive

    def check(self, advice: str) -> None:
        """Check that nobody waits for the next item.

        Raises:
            RuntimeError: somebody does.
        """
        _check(self._items, advice)

    def asend(self, value: Any) -> Any:
        return self._items.asend(value)

    def athrow(self, *error: Any) -> Any:
        return self._items.athrow(*error)

    async def aclose(self) -> None:
        self.check("`cancel` ends it, or the end of that task")
        await self._items.aclose()


def _next_of(items: Any) -> Any:
    _check(items, "iterate over it in one place, and await it only after that")
    return items.__anext__()


def _check(items: Any, advice: str) -> None:
    if items.ag_running:
        raise RuntimeError(f"the run is already being watched or awaited elsewhere: {advice}")


_OF_COROUTINES = frozenset(
    ("__name__", "__qualname__", "cr_await", "cr_code", "cr_frame", "cr_running", "cr_suspended")
)


async def _to_its_end(run: Run, items: _Items | None = None) -> RunResult[Any]:
    """Carry out a run, or what is left of it; returns its result."""
    left = run.items("nothing") if items is None else items
    try:
        async for _ in left:
            pass
    finally:
        await left.aclose()
    if run.result is None:
        raise RuntimeError(_NEVER_BEGAN)
    return run.result


_to_its_end.__name__ = "run"
_to_its_end.__qualname__ = "Agent.run"  # so that messages about a run name what its user called
