"""Tool calls have cogency's results, and call tools as cogency does, except for the named differences."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

import cogency_rs
from cogency_rs import Execution, ToolCall, ToolResult
from cogency_rs.errors import ConfigError
from cogency_rs.execution import execute_tool
from cogency_rs.turn import CircuitBreaker

from . import differences
from .oracle import (
    Batch,
    Raised,
    Script,
    Scripted,
    ToolClass,
    cogency,
    our_execute,
    outcome,
    result_fields,
    run,
    skip_without_cogency,
    their_execute,
)
from .strategies import batches, flat_schemas, json_trees, parity, turn_schemas, words

skip_without_cogency()

DONE = ToolResult("done", content="it")


@parity(400)
@given(batches)
def test_a_batch_gives_cogency_s_results(batch):
    promised, names = differences.promised_batch(batch)
    wanted, found = their_execute(promised), our_execute(batch)
    assert found.results == wanted.results
    for name, script in batch.scripts.items():
        # Plain tools run in threads, in any order.
        ordered = sorted if script.how == "plain" else list
        seen = [ordered(map(by_name, each.seen[name])) for each in (found, wanted)]
        assert seen[0] == seen[1]
    if not names:
        assert found == their_execute(batch)


@parity(200)
@given(
    flat_schemas, st.dictionaries(st.sampled_from("xyz"), st.one_of(json_trees, words), max_size=3)
)
def test_arguments_that_fit_their_schema_change_nothing(schema, args):
    wanted = results(their_execute, schema, args)
    found = results(our_execute, schema, args)
    assert wanted == [("done", "it", False)]
    if not differences.arguments_against_the_schema(schema, args):
        assert found == wanted
        return
    [(outcome, content, error)] = found
    assert (content, error) == (None, True)
    assert outcome.startswith("Invalid arguments for tool 't': argument '")


@parity(200)
@given(turn_schemas, st.data(), st.sampled_from(["t", "shell"]), st.sampled_from(["user", ""]))
def test_a_tool_gets_what_cogency_gives_it_except_for_what_its_schema_declares(
    schema, data, name, user_id
):
    declared = st.sampled_from(sorted(differences.declared_arguments(schema)) or ["x"])
    names = declared
    if not differences.schema_without_further_arguments(schema):
        names = st.one_of(declared, st.sampled_from(["y", "user_id", "storage", "timeout"]))
    args = data.draw(st.dictionaries(names, words, max_size=3))
    if differences.schema_without_further_arguments(schema):
        args = {name: args[name] for name in args if name in schema["properties"]}

    def seen(execute: Any, args: Any) -> Any:
        batch = Batch(((name, args),), {name: Script(DONE)}, user_id)
        [only] = execute(batch, schema=schema).seen[name]
        return only

    found = seen(our_execute, args)
    assert found == differences.promised_arguments(schema, args, seen(their_execute, {}))
    if not (
        differences.schema_without_further_arguments(schema)
        or differences.argument_of_the_turn_that_is_declared(schema)
    ):
        assert found == seen(their_execute, args)


def by_name(args: dict[str, Any]) -> str:
    return repr(sorted(args.items()))


def results(execute: Any, schema: Any, args: Any) -> Any:
    return execute(Batch((("t", args),), {"t": Script(DONE)}), schema=schema).results


class Tool(Scripted):
    def __init__(self) -> None:
        super().__init__("t", Script(DONE))


class Falsy(Tool):
    def __len__(self) -> int:
        return 0


class Nameless:
    async def execute(self, **_: Any) -> ToolResult:
        return DONE


class WithoutExecute:
    name = "t"


class ReturnsCoroutine(Tool):
    """A tool whose `execute` is a plain callable that returns a coroutine."""

    def __init__(self) -> None:
        super().__init__()
        self.execute = partial(self._act_async)


class Picky(Tool):
    def __init__(self) -> None:
        super().__init__()
        self.execute = self.picky

    async def picky(self, x: int, **_: Any) -> ToolResult:
        return ToolResult(str(x))


class Unwritable(Tool):
    """Returns a failure whose content JSON cannot hold; the content of a failure is never read."""

    def __init__(self) -> None:
        Scripted.__init__(self, "t", Script(ToolResult("my words", content={1, 2}, error=True)))


class MinimalResult:
    """A result with only the attributes that cogency reads."""

    outcome = "it went wrong"
    error = True


def call(name: Any = "t", args: Any = None) -> ToolCall:
    return ToolCall(name, {} if args is None else args)


def installed_execute_tools() -> Any:
    executor = cogency("core.executor")
    with cogency_rs.install():
        return executor.execute_tools


def executed(execute: Any, make_calls: Any, make_tools: Any) -> Any:
    """What this `execute_tools` returns or raises."""
    execution = Execution("s", make_tools(), 7, "d", "system")
    found = run(
        execute(make_calls(), execution=execution, user_id="user", conversation_id="conversation")
    )
    return found if isinstance(found, Raised) else [result_fields(each) for each in found]


def both(make_calls: Any, make_tools: Any) -> list[Any]:
    """The outcomes of cogency's `execute_tools`, and of ours in its place."""
    sides = cogency("core.executor").execute_tools, installed_execute_tools()
    return [executed(execute, make_calls, make_tools) for execute in sides]


KINDS = [
    pytest.param(list, list, id="no calls"),
    pytest.param(lambda: None, lambda: [Tool()], id="None for calls"),
    pytest.param(lambda: (call(), call()), lambda: (Tool(),), id="tuples"),
    pytest.param(lambda: (call() for _ in range(2)), lambda: [Tool()], id="calls from a generator"),
    pytest.param(
        lambda: [call()], lambda: (tool for tool in [Tool()]), id="tools from a generator"
    ),
    pytest.param(lambda: [call()], lambda: None, id="None for tools"),
    pytest.param(lambda: [call()], lambda: [Tool(), Picky()], id="equal names"),
    pytest.param(lambda: [call()], lambda: [Tool()] * 2, id="one tool twice"),
    pytest.param(lambda: [call()], lambda: [Nameless()], id="a tool without a name"),
    pytest.param(
        lambda: [call()],
        lambda: [Tool(), Nameless()],
        id="a tool without a name that is not called",
    ),
    pytest.param(lambda: [call()], lambda: [len], id="a function"),
    pytest.param(
        lambda: [call()], lambda: [ReturnsCoroutine()], id="a callable that returns a coroutine"
    ),
    pytest.param(lambda: [call()], lambda: [Unwritable()], id="a failure with odd content"),
    pytest.param(lambda: [call(args={"storage": 1})], lambda: [Tool()], id="an injected argument"),
    pytest.param(lambda: [5], lambda: [Tool()], id="an item that is not a call"),
    pytest.param(lambda: [{"name": "t", "args": {}}], lambda: [Tool()], id="a dict for a call"),
    pytest.param(call, lambda: [Tool()], id="a call in place of the calls"),
    pytest.param(lambda: "t", lambda: [Tool()], id="a str in place of the calls"),
    pytest.param(lambda: [call([])], list, id="a name that cannot be hashed"),
    pytest.param(lambda: [call(5)], list, id="a name that is not a str"),
]


@pytest.mark.parametrize(("calls", "tools"), KINDS)
def test_arguments_of_every_kind_give_what_cogency_gives(calls, tools):
    theirs, found = both(calls, tools)
    assert found == theirs


@pytest.mark.parametrize(("calls", "tools"), KINDS)
def test_without_install_mistakes_are_refused_and_the_rest_is_as_in_cogency(calls, tools):
    found = executed(cogency_rs.execute_tools, calls, tools)
    listed = list(tools() or ())
    if tools() is None or differences.something_that_is_not_a_call(calls()):
        assert found.kind == "ArgumentError"
    elif differences.something_that_is_not_a_tool(Execution("s", listed)) or (
        differences.tools_of_one_name(listed)
    ):
        assert found.kind == "ConfigError"
    else:
        assert found == both(calls, tools)[0]


@pytest.mark.parametrize(
    ("calls", "tools", "error"),
    [
        pytest.param(
            lambda: [call()],
            lambda: [WithoutExecute()],
            AttributeError,
            id="a tool without execute",
        ),
        pytest.param(lambda: [call()], lambda: [ToolClass], TypeError, id="a class"),
        pytest.param(
            lambda: [call(args={"x": 1}), call()],
            lambda: [Picky()],
            TypeError,
            id="a missing argument",
        ),
        pytest.param(
            lambda: [call(args={1: 2})],
            lambda: [Tool()],
            TypeError,
            id="a keyword that is not a str",
        ),
    ],
)
def test_a_tool_that_cannot_be_called_fails_as_in_cogency_with_the_class_of_the_error(
    calls, tools, error
):
    assert differences.error_with_its_class(Script(error("words")))
    theirs, found = both(calls, tools)
    start = "Tool execution failed: "
    assert any(failed for _, _, failed in theirs)
    assert found == [
        (outcome.replace(start, f"{start}{error.__name__}: ", 1), content, failed)
        for outcome, content, failed in theirs
    ]


def test_an_empty_batch_needs_an_execution_only_without_install():
    for execute in (cogency("core.executor").execute_tools, installed_execute_tools()):
        found = run(execute([], execution=None, user_id="", conversation_id=""))
        assert found == []
    assert differences.something_that_is_not_a_tool(None)
    found = run(cogency_rs.execute_tools([], execution=None))
    assert found.kind == "ArgumentError"


@pytest.mark.parametrize("args", [None, 5, "ab", [("x", 1)], [1]])
def test_arguments_that_are_not_a_mapping_fail_only_their_call(args):
    assert differences.arguments_that_are_not_a_mapping(args)
    calls = [ToolCall("t", args), call()]
    _, found = both(lambda: calls, lambda: [Tool()])
    message = f"Invalid arguments for tool 't': they must be an object, got {type(args).__name__}"
    assert found == [(message, None, True), ("done", "it", False)]


def test_a_falsy_tool_is_a_tool():
    assert differences.falsy_tool(Falsy())
    _, found = both(lambda: [call()], lambda: [Falsy()])
    assert found == [("done", "it", False)]


def test_a_result_needs_only_the_attributes_that_cogency_reads():
    class Minimal(Tool):
        def __init__(self) -> None:
            Scripted.__init__(self, "t", Script(MinimalResult()))

    theirs, found = both(lambda: [call()], lambda: [Minimal()])
    assert found == theirs


async def test_execute_tool_gives_what_execute_tools_gives():
    execution = Execution("s", [Tool()], 7, "d", "system")
    options = {"execution": execution, "user_id": "u", "conversation_id": "c"}
    for execute in (cogency("core.executor").execute_tool, execute_tool):
        assert result_fields(await execute(call(), **options)) == ("done", "it", False)


@pytest.mark.parametrize("how", ["async", "plain"])
def test_keyboard_interrupt_goes_through_as_in_cogency(how):
    script = Script(KeyboardInterrupt(), how)
    assert not differences.tool_that_exits(script)
    for execute in (their_execute, our_execute):
        with pytest.raises(KeyboardInterrupt):
            execute(Batch((("t", {}),), {"t": script}))


# The circuit breaker.


@pytest.mark.parametrize(
    "most", [3, 1, 0, -1, 2.5, float("inf"), float("nan"), True, 10**30, -(10**30), None, "3", []]
)
def test_a_breaker_counts_as_cogency_s_does(most):
    def use(breaker: Any) -> Any:
        made = breaker(max_failures=most)
        steps = [made.record_failure, made.record_failure, made.is_open, made.record_success]
        steps += [made.is_open, made.record_failure, made.record_failure, made.record_failure]
        return [
            (
                step(),
                made.is_open(),
                made.consecutive_failures,
                repr(most) == repr(made.max_failures),
            )
            for step in steps
        ]

    theirs = outcome(use, cogency("core.circuit").CircuitBreaker)
    found = outcome(use, CircuitBreaker)
    if isinstance(theirs, Raised):
        assert found.kind == theirs.kind
    else:
        assert found == theirs


def test_a_breaker_has_cogency_s_default_and_attributes():
    for breaker in (cogency("core.circuit").CircuitBreaker, CircuitBreaker):
        made = breaker()
        assert (made.max_failures, made.consecutive_failures) == (3, 0)
        made.max_failures, made.consecutive_failures = 5, 4
        assert (made.is_open(), made.record_failure()) == (False, True)


@parity(200)
@given(st.integers(-2, 5), st.lists(st.booleans(), max_size=12))
def test_breakers_open_together(most, failures):
    def states(breaker: Any) -> list[Any]:
        made = breaker(most)
        return [
            (made.record_failure() if failed else made.record_success(), made.is_open())
            for failed in failures
        ]

    assert states(CircuitBreaker) == states(cogency("core.circuit").CircuitBreaker)


@pytest.mark.parametrize("counts", ["call", "", 3])
def test_a_breaker_that_counts_something_else_is_refused(counts):
    with pytest.raises(ConfigError, match='counts must be "batches" or "calls", got '):
        CircuitBreaker(counts=counts)
