"""A run as a stream of its events or of its steps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from ..runs.results import Output, RunResult, Step
from .run import Run, Shown

__all__ = ["EventStream", "RunStream", "StepStream"]

Item = TypeVar("Item")


class RunStream(Generic[Item, Output]):
    """A run as an async iterator. It begins with the first item, and goes on as items are asked for.

    Close it if you leave it early (`async with`, or `aclose`): then the model's stream is closed, running tools are
    cancelled and awaited, and the log says that the run was cancelled.

    Attributes:
        conversation_id: the conversation's id, for the next run.
    """

    def __init__(self, run: Run, shown: Shown) -> None:
        self._run = run
        # There is no reference back to the stream, so a stream that is dropped before its end is closed at once.
        self._items: AsyncGenerator[Item, None] = run.items(shown)
        self.conversation_id: str = run.ctx.conversation_id

    @property
    def result(self) -> RunResult[Output]:
        """The result of the run.

        Raises:
            RuntimeError: the run is not over.
        """
        if self._run.result is None:
            raise RuntimeError("the run is not over: its result is there after its last item")
        return self._run.result

    def stop(self, message: str = "") -> None:
        """Ask the run to stop before its next step, when its calls have their results; from any thread."""
        self._run.stop(message)

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    def __anext__(self) -> Awaitable[Item]:
        return anext(self._items)

    async def aclose(self) -> None:
        """End the run, if it is not over."""
        await self._items.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


class EventStream(RunStream[dict[str, Any], Output]):
    """The events of a run."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, "events")


class StepStream(RunStream[Step, Output]):
    """The steps of a run, each when it is over and in the log."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, "steps")
