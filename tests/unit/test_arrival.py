"""What a task awaits until the network has something for it: the task goes on where the loop learns of it."""

from __future__ import annotations

import asyncio
from asyncio.tasks import _PyTask  # pyright: ignore[reportPrivateUsage]  # that of PyPy, too
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from cogency_rs.models.http import Arrival, LoopInbox

seen_in: ContextVar[str] = ContextVar("seen_in", default="the loop's")


class Numbers:
    """An inbox that a test fills."""

    def __init__(self) -> None:
        self.ready: list[int] = []

    def take(self) -> list[int]:
        ready, self.ready = self.ready, []
        return ready


class Told:
    """An inbox of the running loop, and what tasks did that waited."""

    def __init__(self, make_task: Callable[..., asyncio.Task[Any]] = asyncio.Task) -> None:
        self.numbers = Numbers()
        self.inbox = LoopInbox(asyncio.get_running_loop())
        self.inbox.inbox = self.numbers  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        self.did: list[str] = []
        self._make_task = make_task

    def task(self, number: int, *, lets_through: type[BaseException] | None = None) -> Any:
        """A task that waits for an exchange, once."""

        async def waiting() -> None:
            seen_in.set(f"task {number}")
            arrival = self.inbox.arrival_of(number)
            try:
                await arrival
            except asyncio.CancelledError as cancelled:
                self.did.append(" ".join([f"{number} cancelled", *cancelled.args]))
                raise
            finally:
                arrival.forget()
            self.did.append(f"{number} in the context of {seen_in.get()}")
            if lets_through is not None:
                raise lets_through

        return self._make_task(waiting(), loop=asyncio.get_running_loop())

    def tell(self, *numbers: int) -> None:
        self.numbers.ready += numbers
        self.inbox._wake()


TASKS = pytest.mark.parametrize("make_task", [asyncio.Task, _PyTask], ids=["compiled", "Python's"])


async def begun() -> None:
    """Let tasks that were made begin."""
    await asyncio.sleep(0)


@TASKS
async def test_tasks_go_on_at_once_in_the_order_of_what_has_come_each_in_its_context(
    make_task: Callable[..., asyncio.Task[Any]],
):
    told = Told(make_task)
    tasks = [told.task(number) for number in (1, 2)]
    await begun()
    asyncio.get_running_loop().call_soon(told.tell, 2, 1)
    await begun()
    assert told.did == ["2 in the context of task 2", "1 in the context of task 1"]
    assert seen_in.get() == "the loop's"
    await asyncio.gather(*tasks)
    told.inbox.close()


@TASKS
async def test_a_task_that_is_cancelled_does_not_go_on_when_something_comes(
    make_task: Callable[..., asyncio.Task[Any]],
):
    told = Told(make_task)
    task = told.task(1)
    await begun()
    assert task.cancel("enough")
    assert task.cancel("again")
    asyncio.get_running_loop().call_soon(told.tell, 1)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(told.did) == 1
    assert told.did[0].startswith("1 cancelled")
    told.inbox.close()


async def test_what_comes_for_nobody_is_left_where_it_is():
    told = Told()
    told.tell(1, 2)
    assert told.did == []
    told.inbox.close()


def test_what_has_come_is_told_after_an_interrupt_too():
    loop = asyncio.new_event_loop()
    told: Told

    async def begin() -> list[Any]:
        nonlocal told
        told = Told()
        tasks = [told.task(1, lets_through=KeyboardInterrupt), told.task(2)]
        await begun()
        return tasks

    async def rest(task: Any) -> None:
        await task
        told.inbox.close()

    first, second = loop.run_until_complete(begin())
    loop.call_soon(told.tell, 1, 2)
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(second)
    loop.run_until_complete(rest(second))
    assert told.did == ["1 in the context of task 1", "2 in the context of task 2"]
    assert isinstance(first.exception(), KeyboardInterrupt)
    loop.close()


async def test_a_timeout_ends_the_wait_and_the_next_wait_sees_what_comes():
    told = Told()
    arrival = told.inbox.arrival_of(1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await arrival
    asyncio.get_running_loop().call_soon(told.tell, 1)
    await arrival
    told.inbox.close()


async def test_a_task_of_another_loop_is_refused():
    told = Told()
    arrival = told.inbox.arrival_of(1)

    async def elsewhere(awaited: Arrival) -> None:
        await awaited

    def run(work: Coroutine[Any, Any, None]) -> None:
        asyncio.run(work)

    with pytest.raises(RuntimeError, match="different loop"):
        await asyncio.to_thread(run, elsewhere(arrival))
    told.inbox.close()
