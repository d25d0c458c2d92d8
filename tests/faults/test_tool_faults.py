"""A tool raises, hangs, exits its thread, or returns what cannot be a result: only its call fails."""

from __future__ import annotations

import _thread
import asyncio
import ctypes
import gc
import re
import sys
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import CallOptions, ToolResult, parse_tokens
from cogency_rs.execution import worker_threads
from support.aftermath import KINDS, Does, Scene, does
from support.programs import printed
from support.tools import block
from support.turns import MODES, Log, carry_out, results_in, types
from support.waiting import until
from support.ways import in_both_ways, only_at_the_end

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [in_both_ways, pytest.mark.timeout(60)]

in_both_modes = pytest.mark.parametrize("mode", MODES)
of_every_kind = pytest.mark.parametrize("kind", KINDS)


@dataclass(frozen=True)
class Fault:
    """What a tool does, a pattern for what its result says, and the kinds of tools that can do it."""

    does: Does
    says: str
    kinds: list[str]


def fault(action: Callable[[], Any], says: str, kinds: list[str] = KINDS) -> Fault:
    return Fault(does(action), says, kinds)


def raising(kind: type[BaseException], *arguments: Any) -> Callable[[], Any]:
    def action() -> Any:
        raise kind(*arguments)

    return action


class NeitherExceptionNorExit(BaseException):
    pass


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class ResultThatRaises(ToolResult):
    def __init__(self) -> None:
        self.content, self.error = None, False

    @property
    def outcome(self) -> str:
        raise OSError("no outcome")


def recurse() -> Any:
    return recurse()


def exit_by_another_thread() -> None:
    """Have another thread raise `SystemExit` in this one, as a program does to end a thread that runs Python."""
    me, exit_ = ctypes.c_ulong(_thread.get_ident()), ctypes.py_object(SystemExit)
    killer = threading.Thread(
        target=ctypes.pythonapi.PyThreadState_SetAsyncExc, args=(me, exit_), daemon=True
    )
    killer.start()
    killer.join()
    for _ in range(1_000_000):
        pass


def list_that_contains_itself() -> list[Any]:
    result: list[Any] = []
    result.append(result)
    return result


async def stop_the_loop() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)


async def cancel_all() -> None:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(0)


def do_nothing(_: threading.Event) -> None:
    return None


THREAD_KINDS = ["plain", "blocking"]

FAULTS = {
    "raises": fault(raising(OSError, "no disk"), "no disk"),
    "raises an exception whose text cannot be made": fault(
        raising(UnprintableError), "UnprintableError"
    ),
    "raises a BaseException": fault(raising(NeitherExceptionNorExit, "odd"), "odd"),
    "raises several": fault(raising(ExceptionGroup, "two", [ValueError(), OSError()]), "two"),
    "raises CancelledError": fault(raising(asyncio.CancelledError), "the tool cancelled itself"),
    "raises GeneratorExit": fault(raising(GeneratorExit), "GeneratorExit"),
    "raises StopIteration": fault(raising(StopIteration, "early"), "early|raised StopIteration"),
    "raises StopAsyncIteration": fault(
        raising(StopAsyncIteration, "early"), "early|raised StopAsyncIteration"
    ),
    "raises MemoryError": fault(raising(MemoryError), "MemoryError"),
    "recurses without end": fault(recurse, "recursion"),
    "sys.exit": fault(lambda: sys.exit(3), "exit with 3"),
    "sys.exit without a code": fault(sys.exit, "exit with None"),
    "exits its thread": fault(_thread.exit, "exit with None"),
    "is made to exit by another thread": fault(exit_by_another_thread, "exit", THREAD_KINDS),
    "stops its loop": Fault(Does(stop_the_loop, do_nothing), "stopped before", ["blocking"]),
    "cancels every task of its loop": Fault(
        Does(cancel_all, do_nothing), "cancelled itself", ["blocking"]
    ),
    "returns an object": fault(object, "is not a JSON value"),
    "returns a list that contains itself": fault(list_that_contains_itself, "is not a JSON value"),
    "returns a set": fault(lambda: {1}, "is not a JSON value"),
    "returns bytes": fault(lambda: b"x", "is not a JSON value"),
    "returns a generator": fault(lambda: (n for n in []), "is not a JSON value"),
    "returns a class": fault(lambda: ToolResult, "is not a JSON value"),
    "returns a result that raises": fault(ResultThatRaises, "no outcome"),
    "returns a failure whose message is an object": fault(
        lambda: ToolResult(object(), error=True), "is not a JSON value"
    ),
}

FAULTS_BY_KIND = [
    pytest.param(fault, kind, id=f"{name}-{kind}")
    for name, fault in FAULTS.items()
    for kind in fault.kinds
]


@pytest.mark.parametrize(("fault", "kind"), FAULTS_BY_KIND)
@in_both_modes
async def test_a_failing_tool_does_not_affect_other_calls(mode, fault, kind):
    async with Scene(Log(), mode=mode, kind=kind, tools={"bad": fault.does}) as scene:
        events = await carry_out(scene.turns, parse_tokens(block("good", "bad", "good")))
        assert types(events) == ["call"] * 3 + ["execute", "result"]
        [[first, bad, last]] = results_in(events)
        assert first == last == {"tool": "good", "status": "success", "content": "good"}
        assert (bad["tool"], bad["status"]) == ("bad", "failure")
        assert re.search(fault.says, bad["content"])


# Tools that hang

HANGS = Does(lambda: asyncio.Event().wait(), lambda release: release.wait(30))


async def block_its_loop() -> None:
    await asyncio.sleep(0)
    threading.Event().wait(0.3)


HANGING = [
    *(pytest.param(HANGS, kind, id=kind) for kind in KINDS),
    pytest.param(Does(block_its_loop, do_nothing), "blocking", id="blocking that never awaits"),
]

LIMITS = {
    "its own time": ({"calls": CallOptions(timeout=0.05)}, "timed out after 0.05 s"),
    "the batch's time": (
        {"calls": CallOptions(batch_timeout=0.05)},
        "its batch took longer than 0.05 s",
    ),
}


@pytest.mark.parametrize(("limit", "says"), LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize(("hangs", "kind"), HANGING)
@in_both_modes
async def test_a_tool_that_hangs_runs_out_of_time(mode, hangs, kind, limit, says):
    async with Scene(Log(), mode=mode, kind=kind, tools={"bad": hangs}, **limit) as scene:
        events = await carry_out(scene.turns, parse_tokens(block("bad", "bad")))
        [array] = results_in(events)
        assert [item["status"] for item in array] == ["failure"] * 2
        assert all(says in item["content"] for item in array)


@pytest.mark.parametrize(("hangs", "kind"), HANGING)
@in_both_modes
async def test_a_tool_that_hangs_is_cancelled_with_its_turn(mode, hangs, kind):
    async with Scene(Log(), mode=mode, kind=kind, tools={"bad": hangs}) as scene:
        turn = asyncio.create_task(carry_out(scene.turns, parse_tokens(block("bad", "bad"))))
        await until(lambda: len(scene.calls.started) == 2, "the tools do not start")
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        [array] = results_in(await scene.rows())
        assert [item["content"] for item in array] == ["Cancelled"] * 2


# From 3.13 on, Python warns when it collects a coroutine that would still have to wait.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@in_both_modes
async def test_a_turn_to_which_nothing_refers_while_its_tools_hang(mode):
    """Nothing refers to the task, or to what its tools wait for: all of them are cancelled and collected."""
    async with Scene(Log(), mode=mode, tools={"bad": HANGS}) as scene:
        scene.has_died = True  # Python cannot wait in a task that is being collected
        scene.tolerates = {
            "Task was destroyed but it is pending!",
            "Task exception was never retrieved",
        }

        async def consume() -> None:
            async for _ in scene.turns.process(parse_tokens(block("bad", "bad"))):
                pass

        turn = weakref.ref(asyncio.create_task(consume()))
        await until(lambda: len(scene.calls.started) == 2, "the tools do not start")

        def is_collected() -> bool:  # not while the loop still has a step of the turn to run
            gc.collect()
            return turn() is None

        await until(is_collected, "the turn is not collected")
        await scene.quiet()
        gc.collect()
        assert scene.calls.running == 0


@in_both_modes
async def test_tools_that_hang_in_every_worker_thread_do_not_delay_tools_on_the_loop(mode):
    """Calls that get no thread in time never start."""
    count = worker_threads() + 6
    async with Scene(
        Log(), mode=mode, kind="plain", tools={"bad": HANGS}, calls=CallOptions(timeout=0.3)
    ) as scene:
        events = await carry_out(scene.turns, parse_tokens(block(*["bad"] * count)))
        [array] = results_in(events)
        assert [item["status"] for item in array] == ["failure"] * count
        async with Scene(Log(), mode=mode) as other:
            await carry_out(other.turns, parse_tokens(block("good")))
    assert scene.calls.started.count('{"name": "bad", "args": {}}') <= worker_threads()


# A hundred megabytes

MEGABYTES = """
import resource
def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
async def main(folder, size, mode, kind, how):
    HUGE = int(size) * 2**20
    result = {
        "content": lambda: ToolResult("read", "<" * HUGE),
        "message": lambda: ToolResult("<" * HUGE, error=True),
        "value": lambda: "<" * HUGE,
    }[how]
    before = megabytes()
    async with Scene(on_disk(Path(folder)), mode=mode, kind=kind, tools={"bad": does(result)}) as scene:
        [array] = results_in(await carry_out(scene.turns, parse_tokens(block("good", "bad"))))
        assert len(array[1]["content"]) == HUGE, array[1].keys()
        assert [item["status"] for item in array] == ["success", "failure" if how == "message" else "success"]
        del array
    print(megabytes() - before)
asyncio.run(main(*sys.argv[1:]))
"""


@only_at_the_end("when a call begins does not change the size of its result, which is slow to make")
@pytest.mark.parametrize(
    ("size", "mode", "kind", "how"),
    [
        (25, "event", "async", "message"),
        (100, "token", "plain", "content"),
        (25, "event", "blocking", "value"),
    ],
)
def test_a_tool_that_returns_a_hundred_megabytes(size, mode, kind, how, tmp_path):
    """The whole text is in the log, and saving and checking it takes only a few copies of it."""
    assert int(printed(MEGABYTES, tmp_path, size, mode, kind, how)) < 12 * size
