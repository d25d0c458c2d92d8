"""How a batch runs: where its tools run, what stops them, and what hooks around them see; with asyncio and uvloop."""

import asyncio
import contextvars
import threading
import time

import pytest

import cogency_rs
from cogency_rs import CallOptions, ToolCall, ToolResult, execute_tools
from cogency_rs.errors import ConfigError, ToolError
from support.waiting import until

pytestmark = pytest.mark.concurrency

uvloop = pytest.importorskip("uvloop")

who = contextvars.ContextVar("who", default="nobody")


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request):
    """Run a coroutine to its end, on an event loop of its own."""

    def run(coroutine):
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(coroutine)

    return run


class Blocking:
    """A plain function as a tool, which blocks its thread until it is released."""

    name, description, schema = "blocking", "Blocks.", {}

    def __init__(self):
        self.started, self.release = threading.Barrier(1), threading.Event()

    def execute(self, **_):
        self.started.wait(10)
        assert self.release.wait(10)
        return threading.get_ident()


class Marked:
    """A coroutine function as a tool that is marked as blocking."""

    name, description, schema, blocking = "marked", "Blocks, and awaits.", {}, True

    def __init__(self):
        self.journal = []

    async def execute(self, seconds=0, **_):
        self.journal.append("began")
        try:
            await asyncio.sleep(seconds)
            return ToolResult(outcome="awaited", content=threading.get_ident())
        except asyncio.CancelledError:
            self.journal.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            self.journal.append("cleaned up")


class Sleeping:
    """An ordinary coroutine function as a tool."""

    name, description, schema = "sleeping", "Awaits.", {}

    def __init__(self):
        self.running = self.most = self.over = 0

    async def execute(self, seconds=0, **_):
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(seconds)
        finally:
            self.running -= 1
            self.over += 1
        return "slept"


class Says:
    """A tool that returns what a given function returns."""

    name, description, schema = "says", "Says something.", {}

    def __init__(self, say, *, blocking=False):
        self.say, self.blocking = say, blocking

    async def execute(self, **_):
        return self.say()


def batch(*tools, of=None, **options):
    """Run the given calls, or one call of each tool."""
    execution = cogency_rs.Execution(storage=None, tools=tools)
    calls = [ToolCall(tool.name, {}) for tool in tools] if of is None else of
    return execute_tools(calls, execution=execution, user_id="u", conversation_id="c", **options)


def texts(results):
    return [result.outcome for result in results]


def test_blocking_tools_run_at_the_same_time_and_the_loop_goes_on(run):
    tool = Blocking()
    tool.started = threading.Barrier(5)  # four calls and the loop, which wait for each other

    async def main():
        running = asyncio.ensure_future(batch(tool, of=[ToolCall("blocking", {})] * 4))
        await until(lambda: tool.started.n_waiting == 4, "a call does not start")
        tool.started.wait(10)
        tool.release.set()
        return await running

    threads = [result.content for result in run(main())]
    assert len(set(threads)) == 4
    assert threading.get_ident() not in threads


def test_a_marked_coroutine_function_gets_a_loop_of_its_own_in_a_thread(run):
    [result] = run(batch(Marked()))
    assert result.outcome == "awaited"
    assert result.content != threading.get_ident()


def test_a_plain_function_that_returns_an_awaitable_is_awaited_on_the_loop(run):
    class Wrapped:
        name, description, schema = "wrapped", "", {}

        def execute(self, **arguments):
            return Says(threading.get_ident).execute(**arguments)

    [result] = run(batch(Wrapped()))
    assert result.content == threading.get_ident()


@pytest.mark.parametrize("blocking", [False, True], ids=["on the loop", "in a thread"])
def test_every_tool_sees_the_caller_s_context_variables_and_its_changes_stay_its_own(run, blocking):
    def say():
        seen = who.get()
        who.set("the tool")
        return seen

    async def main():
        who.set("the caller")
        results = await batch(Says(say, blocking=blocking), of=[ToolCall("says", {})] * 2)
        return [result.content for result in results], who.get()

    assert run(main()) == (["the caller", "the caller"], "the caller")


def test_at_most_max_concurrency_calls_run_at_once(run):
    tool = Sleeping()
    calls = [ToolCall("sleeping", {"seconds": 0})] * 800
    results = run(batch(tool, of=calls, calls=CallOptions(max_concurrency=8)))
    assert len(results) == tool.over == 800
    assert tool.most == 8


def test_a_timeout_fails_only_its_call_whose_coroutine_is_cancelled_and_awaited(run):
    tool = Sleeping()
    calls = [ToolCall("sleeping", {"seconds": seconds}) for seconds in (0, 60, 0)]
    results = run(batch(tool, of=calls, calls=CallOptions(timeout=0.5)))
    assert texts(results) == ["Success", "Tool 'sleeping' timed out after 0.5 s", "Success"]
    assert tool.over == 3


def test_a_batch_timeout_fails_the_calls_that_are_not_over(run):
    tool = Sleeping()
    calls = [ToolCall("sleeping", {"seconds": seconds}) for seconds in (0, 60, 60)]
    results = run(batch(tool, of=calls, calls=CallOptions(batch_timeout=0.5, max_concurrency=2)))
    late = "Tool 'sleeping' timed out: its batch took longer than 0.5 s"
    assert texts(results) == ["Success", late, late]


def test_a_blocking_tool_that_times_out_is_left_to_end_on_its_own_and_its_result_is_dropped(run):
    tool = Blocking()
    [result] = run(batch(tool, calls=CallOptions(timeout=0.05)))
    assert result.outcome == "Tool 'blocking' timed out after 0.05 s"
    tool.release.set()


def test_a_marked_coroutine_that_times_out_is_cancelled_in_its_thread(run):
    tool = Marked()
    [result] = run(
        batch(tool, of=[ToolCall("marked", {"seconds": 60})], calls=CallOptions(timeout=0.5))
    )
    assert result.outcome == "Tool 'marked' timed out after 0.5 s"
    assert tool.journal == ["began", "cancelled", "cleaned up"]


def test_cancelling_the_caller_cancels_and_awaits_every_coroutine(run):
    tool = Sleeping()

    async def main():
        calls = [ToolCall("sleeping", {"seconds": 60})] * 50
        running = asyncio.ensure_future(batch(tool, of=calls))
        await until(lambda: tool.running == 50, "not every call begins")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return tool.over

    assert run(main()) == 50


@pytest.mark.parametrize("blocking", [False, True], ids=["on the loop", "in a thread"])
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("no"), "Tool execution failed: ValueError: no"),
        (KeyError("missing"), "Tool execution failed: KeyError: 'missing'"),
        (ToolError("not today"), "Tool execution failed: not today"),
        (ValueError(), "Tool execution failed: ValueError"),
        (asyncio.CancelledError(), "Tool execution failed: the tool cancelled itself"),
        (SystemExit(3), "Tool execution failed: the tool asked the program to exit with 3"),
    ],
    ids=repr,
)
def test_an_exception_of_a_tool_is_its_own_call_s_result(run, blocking, error, outcome):
    def say():
        raise error

    results = run(batch(Says(say, blocking=blocking), Sleeping()))
    assert texts(results) == [outcome, "Success"]


@pytest.mark.parametrize("blocking", [False, True], ids=["on the loop", "in a thread"])
def test_an_interrupt_in_a_tool_reaches_the_program(run, blocking):
    def say():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(batch(Says(say, blocking=blocking), Sleeping()))


def watching(started, ended):
    """A function around calls that tells when they start and end."""

    async def watch(invocation, next):
        await started(invocation.call)
        began = time.perf_counter()
        result = await next(invocation)
        await ended(invocation.call, result, time.perf_counter() - began)
        return result

    return watch


def test_a_hook_sees_every_start_and_end_on_the_loop_in_order(run):
    heard = []

    async def started(call):
        heard.append(("start", call.name, threading.get_ident()))

    async def ended(call, result, seconds):
        heard.append(("end", call.name, threading.get_ident()))
        assert seconds >= 0
        assert isinstance(result, ToolResult)

    async def main():
        tool = Blocking()
        running = asyncio.ensure_future(
            batch(Sleeping(), tool, Marked(), hooks=[watching(started, ended)])
        )
        await until(lambda: len(heard) >= 5, "a hook is not called")
        tool.release.set()
        await running

    run(main())
    assert {thread for *_, thread in heard} == {threading.get_ident()}
    starts = [name for kind, name, _ in heard if kind == "start"]
    ends = [name for kind, name, _ in heard if kind == "end"]
    assert starts == ["sleeping", "blocking", "marked"]
    assert sorted(ends[:2]) == ["marked", "sleeping"]
    assert ends[2:] == ["blocking"]


def test_a_hook_sees_the_start_and_end_of_refused_calls_too(run):
    heard = []
    tool = Says(lambda: "ran")
    tool.schema = {"x": {"type": "integer", "required": True}}
    calls = [ToolCall("nobody", {}), ToolCall("says", {}), ToolCall("says", {"x": 1})]

    async def started(call):
        heard.append(("start", call))

    async def ended(call, result, seconds):
        heard.append(("end", call, result))

    results = run(batch(tool, of=calls, hooks=[watching(started, ended)]))
    assert [what for what in heard if what[0] == "start"] == [("start", each) for each in calls]
    ends = [("end", *pair) for pair in zip(calls, results, strict=True)]
    assert sorted((what for what in heard if what[0] == "end"), key=ends.index) == ends
    assert [result.error for result in results] == [True, True, False]


def test_a_hook_may_wait_and_the_tool_sees_the_variables_it_sets(run):
    heard = []

    async def started(call):
        await asyncio.sleep(0)
        who.set(f"the hook around {call.name}")

    async def ended(call, result, seconds):
        await asyncio.sleep(0)
        heard.append((result.content, who.get()))

    run(batch(Says(who.get), hooks=[watching(started, ended)]))
    assert heard == [("the hook around says", "the hook around says")]


def test_a_hook_gets_the_exception_that_a_tool_raised_and_it_is_logged(run, caplog):
    error, heard = KeyError("missing"), []

    def say():
        raise error

    async def look(invocation, next):
        result = await next(invocation)
        heard.append(result.exception)
        return result

    run(batch(Says(say), hooks=[look]))
    assert heard == [error]
    [record] = caplog.records
    assert (record.name.partition(".")[0], record.exc_info[1]) == ("cogency_rs", error)
    assert "says" in record.getMessage()


def test_a_hook_that_fails_is_logged_and_fails_its_call(run, caplog):
    async def fails(*_):
        raise RuntimeError("hook")

    results = run(batch(Sleeping(), hooks=[watching(fails, fails)]))
    [text] = texts(results)
    assert text.endswith("RuntimeError: hook")
    assert [record.exc_info[1].args for record in caplog.records] == [("hook",)]


FLAT = {
    "path": {"type": "string", "required": True, "min_length": 1, "max_length": 3},
    "count": {"type": "integer", "min": 1, "max": 9},
    "ratio": {"type": "float", "required": False},
    "deep": {"type": "boolean", "required": False, "default": None},
    "note": {"type": ["string", "null"], "required": False},
    "size": {"type": ["integer", "null"], "required": False},
}
JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "lines": {"type": "array", "maxItems": 2},
        "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
        "rest": {},
    },
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("schema", "args", "problem"),
    [
        (FLAT, {"path": "a"}, None),
        (FLAT, {"path": "a", "count": 9, "ratio": 1, "deep": True, "more": []}, None),
        (FLAT, {"path": "a", "deep": None}, None),
        (FLAT, {}, "argument 'path' is required, but was not given"),
        (FLAT, {"path": ""}, "argument 'path' must have at least 1 characters, got 0"),
        (FLAT, {"path": "äöüß"}, "argument 'path' must have at most 3 characters, got 4"),
        (FLAT, {"path": ["a", "b"]}, None),  # "string" also stands for all types that have no name
        (FLAT, {"path": "a", "note": "b", "size": None}, None),
        (FLAT, {"path": "a", "note": ["b"]}, None),  # also in a list of types
        (
            FLAT,
            {"path": "a", "size": "b"},
            "argument 'size' must be an integer or null, got a string: \"b\"",
        ),
        (
            FLAT,
            {"path": "a", "count": "3"},
            "argument 'count' must be an integer, got a string: \"3\"",
        ),
        (
            FLAT,
            {"path": "a", "count": True},
            "argument 'count' must be an integer, got a boolean: true",
        ),
        (
            FLAT,
            {"path": "a", "count": 1.5},
            "argument 'count' must be an integer, got a number: 1.5",
        ),
        (FLAT, {"path": "a", "count": 0}, "argument 'count' must be at least 1, got 0"),
        (FLAT, {"path": "a", "count": 10**400}, "argument 'count' must be at most 9, got 1000"),
        (FLAT, {"path": "a", "ratio": None}, "argument 'ratio' must be a number, got null"),
        (JSON_SCHEMA, {"path": "a", "count": None, "rest": {}}, None),
        (JSON_SCHEMA, {}, "argument 'path' is required, but was not given"),
        (JSON_SCHEMA, {"path": 1}, "argument 'path' must be a string, got an integer: 1"),
        (JSON_SCHEMA, {"path": ""}, "argument 'path' must have at least 1 characters, got 0"),
        (JSON_SCHEMA, {"path": "a", "count": 10}, "argument 'count' must be at most 9, got 10"),
        (
            JSON_SCHEMA,
            {"path": "a", "count": []},
            "must be an integer or null, got an array: []",
        ),
        (JSON_SCHEMA, {"path": "a", "lines": [1, 2, 3]}, "must have at most 2 items, got 3"),
        ({"x": {"type": "what"}}, {"x": 1}, None),
        (
            {"x": None, "type": {"type": "integer"}},
            {"type": "a"},
            "argument 'type' must be an integer",
        ),
        ("no schema", {}, None),
    ],
)
def test_arguments_are_checked_before_a_tool_starts(run, schema, args, problem):
    tool = Says(lambda: "ran")
    tool.schema = schema
    [result] = run(batch(tool, of=[ToolCall("says", args)]))
    if problem is None:
        assert (result.error, result.content) == (False, "ran")
    else:
        assert result.error
        assert result.outcome.startswith("Invalid arguments for tool 'says': ")
        assert problem in result.outcome


def test_the_failure_of_an_unknown_tool_lists_the_known_ones(run):
    [result] = run(batch(Sleeping(), Marked(), of=[ToolCall("nobody", {})]))
    assert result.outcome == "Tool 'nobody' not registered. Known tools: sleeping, marked"


@pytest.mark.parametrize(
    "limit",
    [{"timeout": 0}, {"batch_timeout": float("nan")}, {"max_concurrency": 1.5}],
    ids=str,
)
def test_a_limit_with_an_impossible_value_is_refused(limit):
    with pytest.raises(ConfigError, match=next(iter(limit))):
        CallOptions(**limit)


def test_several_loops_in_several_threads_run_batches_at_once(run):
    barrier = threading.Barrier(4)
    problems = []

    def turn():
        try:
            barrier.wait(10)
            for _ in range(20):
                calls = [ToolCall("sleeping", {"seconds": 0.0005}), ToolCall("marked", {})] * 3
                results = run(batch(Sleeping(), Marked(), of=calls, calls=CallOptions(timeout=30)))
                assert texts(results) == ["Success", "awaited"] * 3
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=turn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
