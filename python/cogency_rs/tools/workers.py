"""The worker threads of tools that block.

They are ordinary Python threads that live from call to call, so thread-locals last and debuggers see the threads.
Unlike those of `concurrent.futures.ThreadPoolExecutor` they are daemons: a program that ends does not wait for a tool
that cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import queue
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

from ..errors import ConfigError
from ..outside import current

CLEANUP = 0.25
"""Seconds that a cancelled coroutine in a worker thread has to stop, before it is left to itself."""


async def in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a worker thread, with the caller's context variables.

    If the caller is cancelled, the function does not start if it still waits for a thread. Once it runs it cannot be
    interrupted, and is left to end on its own.
    """
    if not current().has_threads:
        return function()
    job = _Job(function)
    _workers.submit(job)
    return _value(await job.outcome)


def end_if_given_up() -> None:
    """End the function that runs in this thread if its caller was cancelled, since nobody wants what it returns.

    Raises:
        asyncio.CancelledError: it was.
    """
    job = _job.get()
    if job is not None and job.outcome.cancelled():
        raise asyncio.CancelledError


async def on_own_loop(function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine function in a worker thread, on its own event loop.

    If the caller is cancelled, the coroutine is cancelled at its next await and has `CLEANUP` seconds to stop.
    """
    coroutine = _OwnLoop(function)
    job = _Job(coroutine.run)
    _workers.submit(job)
    try:
        return _value(await asyncio.shield(job.outcome))
    except asyncio.CancelledError:
        if job.outcome.done():
            raise  # the coroutine's own
        coroutine.cancel()
        await asyncio.wait([job.outcome], timeout=CLEANUP)
        if not job.outcome.done():
            job.outcome.cancel()
            raise
        return _value(job.outcome.result())


async def run_in_thread(execute: Callable[..., Any], args: dict[str, Any], is_async: bool) -> Any:
    """Run a tool's function in a worker thread; `is_async` if it is a coroutine function."""
    work = partial(execute, **args)
    if is_async:
        return await on_own_loop(work)
    value = await in_thread(work)
    return await value if inspect.isawaitable(value) else value


def worker_threads() -> int:
    """The maximum number of worker threads for tools that block."""
    return _workers.most


def set_worker_threads(count: int) -> None:
    """Limit the worker threads for tools that block; call it before the first call that needs one.

    Raises:
        ConfigError: `count` is below 1; or threads are already running with a different limit.
    """
    if count < 1:
        raise ConfigError(f"there must be at least 1 worker thread, got {count}")
    if _workers.started and count != _workers.most:
        raise ConfigError(
            f"worker threads are already running, at most {_workers.most}; set their number before the first tool call"
        )
    _workers.most = count


JobOutcome = tuple[Any, BaseException | None]
"""The value that a job returned, or the exception that it raised."""


def _value(outcome: JobOutcome) -> Any:
    value, error = outcome
    if isinstance(error, StopIteration):  # a coroutine cannot raise it
        raise RuntimeError(f"StopIteration: {error}") from error
    if error is not None:
        raise error
    return value


_job: ContextVar[_Job | None] = ContextVar("cogency_rs_job", default=None)


class _Job:
    """Work for a thread, whose outcome goes to the running event loop.

    Attributes:
        outcome: what the work returned or raised, as a value, since a future cannot raise every exception. If it is
            cancelled before a thread begins, the work is not done.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self._work = copy_context().run, work
        self.outcome: asyncio.Future[JobOutcome] = self._loop.create_future()

    def run(self) -> JobOutcome:
        """Do the work; in a worker thread."""
        if self.outcome.cancelled():
            return None, None
        run, work = self._work
        run(_job.set, self)
        try:
            return run(work), None
        except BaseException as error:
            return None, error

    def deliver(self, outcome: JobOutcome) -> None:
        """Hand over the outcome; in a worker thread."""
        with contextlib.suppress(RuntimeError):  # the loop was closed, so nobody waits there
            self._loop.call_soon_threadsafe(self._settle, outcome)

    def _settle(self, outcome: JobOutcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class _OwnLoop:
    """A coroutine function on its own event loop."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    def run(self) -> Any:
        return asyncio.run(self._main())

    async def _main(self) -> Any:
        with self._lock:
            if self._is_cancelled:
                raise asyncio.CancelledError
            self._task = asyncio.current_task()
        try:
            return await self._function()
        finally:
            with self._lock:
                self._task = None

    def cancel(self) -> None:
        """Cancel the coroutine at its next await; from any thread."""
        with self._lock:
            self._is_cancelled = True
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)


class _Workers:
    """A pool of threads; each is started for a job that finds no other one free.

    Args:
        most: how many threads there may be; further jobs wait for one, in order.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.begin()

    def begin(self) -> None:
        """Become a pool without threads. A forked child calls it, since its parent's threads do not run there."""
        self.started = 0
        self._idle = (
            0  # threads that wait for a job, or will as soon as they have handed over the last one
        )
        self._queued = 0
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()

    def submit(self, job: _Job) -> None:
        """Hand a job to a thread.

        Raises:
            RuntimeError: there is no thread, and the system does not start one.
        """
        with self._lock:
            if self._queued >= self._idle and self.started < self.most:
                self._start()
            self._queued += 1
            self._jobs.put(job)

    def _start(self) -> None:
        name = f"cogency-rs-{self.started + 1}"
        try:
            threading.Thread(target=self._work, name=name, daemon=True).start()
        except RuntimeError:
            if not self.started:
                raise
            return  # one of the other threads will do the job
        self.started += 1
        self._idle += 1

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            with self._lock:
                self._queued -= 1
                self._idle -= 1
            outcome = job.run()
            with self._lock:
                self._idle += (
                    1  # before anyone knows that it is done, so that the next job finds this thread
                )
            job.deliver(outcome)
            del job, outcome  # keeps nothing in memory while the thread waits


_workers = _Workers(64)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.begin)
