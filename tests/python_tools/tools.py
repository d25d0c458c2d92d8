"""The tools of the tests in Rust that embed Python; `tests/python_tools/main.rs` says what each is for."""

import asyncio
import contextvars
import functools
import gc
import sys
import threading

user = contextvars.ContextVar("user", default="nobody")


class ToolError(Exception):
    """In place of the package's class of this name: the package may not be installed here."""


class ToolResult:
    def __init__(self, outcome, content=None, error=False):
        self.outcome, self.content, self.error = outcome, content, error


async def add(a, b):
    await asyncio.sleep(0)
    return a + b


def add_in_thread(a, b):
    return {"sum": a + b, "is_on_loop": asyncio._get_running_loop() is not None}


async def echo(value=None):
    return value


def echo_in_thread(value=None):
    return value


async def fail(why):
    raise ValueError(why)


def fail_in_thread(why):
    raise ValueError(why)


async def report():
    return ToolResult("one line", content=[1, None])


async def report_failure():
    return ToolResult("in its own words", error=True)


async def fail_in_own_words():
    raise ToolError("it failed")


async def return_a_set():
    return {1}


async def return_nan():
    return {"a": [1.0, float("nan")]}


async def fail_in_many_ways():
    raise ExceptionGroup(
        "all of them",
        [ValueError(n) for n in range(3)]
        + [ExceptionGroup("more", [OSError(n) for n in range(4)])],
    )


async def leave():
    raise SystemExit(3)


async def interrupt():
    raise KeyboardInterrupt


async def break_out():
    raise BaseException("out")


def leave_in_thread():
    raise SystemExit(3)


async def cancel_itself():
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


async def read_user():
    before = user.get()
    user.set("changed in the call")
    return before


def read_user_in_thread():
    before = user.get()
    user.set("changed in the call")
    return before


async def never():
    await asyncio.Future()


def alive(loop):
    """How many tasks a loop has, how many of our coroutines there are, and how many references to a tool.

    The loop makes a pass first: asking again and again would take the interpreter from the loop's own thread.
    """
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
    gc.collect()
    tasks = [task for task in asyncio.all_tasks(loop) if not task.done()]
    coroutines = [one for one in gc.get_objects() if type(one).__name__ == "Coroutine"]
    return len(tasks), len(coroutines), sys.getrefcount(echo)


class Journal:
    """What happened to calls, and events to wait for it."""

    def __init__(self):
        self.lines = []
        self.changed = threading.Condition()

    def note(self, line):
        with self.changed:
            self.lines.append(line)
            self.changed.notify_all()

    def wait_for(self, line):
        with self.changed:
            if not self.changed.wait_for(lambda: line in self.lines, timeout=60):
                raise TimeoutError(f"{line!r} did not come; there are {self.lines}")


def waiting(journal):
    """A tool that never ends, and notes that it begins and is cancelled."""

    async def wait(name):
        journal.note(f"{name} began")
        try:
            await asyncio.Future()
        except asyncio.CancelledError:
            journal.note(f"{name} was cancelled")
            raise

    return wait


def stubborn(journal):
    """A tool that is cancelled and goes on; it keeps what it awaits alive by itself."""
    held = []

    async def wait(name):
        held.append(asyncio.get_running_loop().create_future())
        journal.note(f"{name} began")
        while True:
            try:
                await asyncio.shield(held[-1])
            except asyncio.CancelledError:
                journal.note(f"{name} was cancelled")

    return wait


def blocking(journal, gate):
    """An async tool that blocks its thread until a gate opens."""

    async def block(name):
        journal.note(f"{name} began")
        gate.wait()
        return "done"

    return block


def same_coroutine():
    """A tool that returns one coroutine each time it is called."""
    coroutine = add(1, 2)

    def again():
        return coroutine

    return again


def decorated():
    """An async tool behind a decorator that hides it."""

    @functools.wraps(add)
    def wrapper(*args, **options):
        return add(*args, **options)

    del wrapper.__wrapped__
    return wrapper


class CallableTool:
    __name__ = "object"

    async def __call__(self, a):
        return a
