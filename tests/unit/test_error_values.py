"""What errors carry: through a pickle, and what a failed call says of a group of them."""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import pickle
import pkgutil
import threading
from contextlib import suppress
from typing import Any

import pytest

import cogency_rs
from cogency_rs import Execution, Hooks, ToolCall, ToolContext, errors, execute_tools, tool
from cogency_rs.guards.secrets import CleanedError
from cogency_rs.models.connection import StatusError, TransportError
from cogency_rs.models.service_answer import ReportedError
from cogency_rs.storage.sqlite import ParseError
from cogency_rs.tools.registry import DeclaredTool
from support.agents import add, adding, agent

MADE: dict[str, Any] = {
    "BusyError": lambda: errors.BusyError("busy", conversation_id="c"),
    "HookError": lambda: errors.HookError(
        "failed", hook="Guard", trigger="before_run", cause=KeyError("k")
    ),
    "ProtocolError": lambda: errors.ProtocolError("wrong", original_input="<execute>"),
    "SkipTool": lambda: errors.SkipTool({"a": 1}),
    "StopRun": lambda: errors.StopRun("enough", reason="user_requested", context={"a": 1}),
    "StorageError": lambda: errors.StorageError("locked", retryable=True),
    "ToolError": lambda: errors.ToolError("late", timeout=True),
}

CLASSES = [
    name
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, Exception) and name in errors.__all__
]


@pytest.mark.parametrize("through", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
@pytest.mark.parametrize("name", CLASSES)
def test_an_error_is_the_same_after_a_pickle(name, through):
    error = MADE.get(name, lambda: getattr(errors, name)("what was wrong"))()
    error.add_note("a note")
    again = through(error)
    assert type(again) is type(error)
    assert (str(again), again.args) == (str(error), error.args)
    assert {**vars(again), "cause": None} == {**vars(error), "cause": None}
    assert repr(getattr(again, "cause", None)) == repr(getattr(error, "cause", None))


def test_what_a_caller_can_catch_is_one_tree():
    kinds = [*(getattr(errors, name) for name in CLASSES), ParseError]
    assert [kind for kind in kinds if not issubclass(kind, errors.CogencyError)] == []


@pytest.mark.parametrize(
    ("wrong", "of_python"),
    [
        (lambda context: context.emit({"type": "end"}), ValueError),
        (lambda context: context.emit({"content": "x"}), TypeError),
        (lambda context: context.stop(5), TypeError),
        (lambda context: DeclaredTool.of({"parameters": {}}), TypeError),
    ],
)
def test_what_a_tool_or_a_declaration_gets_wrong_is_in_the_tree(wrong, of_python):
    with pytest.raises(errors.ConfigError) as raised:
        wrong(ToolContext(ToolCall("add", {}), "id"))
    assert isinstance(raised.value, of_python)


class TwoPartsError(Exception):
    """As many libraries have them: it can be written and not read."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class LockedError(Exception):
    """It cannot be written."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.lock = threading.Lock()


class MuteError(TwoPartsError):
    """It has no text."""

    def __str__(self) -> str:
        raise ValueError("no text")


CAUSES: dict[str, tuple[Exception, str]] = {
    "of Python": (KeyError("k"), "KeyError('k')"),
    "that cannot be read": (TwoPartsError("two", 2), "LostError('two')"),
    "that cannot be written": (LockedError("locked"), "LostError('locked')"),
    "without a text": (MuteError("", 2), "LostError('')"),
    "with such a cause": (
        errors.ConfigError("wrong", cause=TwoPartsError("two", 2)),
        "ConfigError('wrong')",
    ),
    "of a connection": (TransportError("broken", "it broke"), "TransportError('it broke')"),
    "of a status": (
        StatusError(503, {"a": 1}, {"x": "y"}),
        "StatusError(\"status 503: {'a': 1}\")",
    ),
    "of a stream": (
        ReportedError({"a": 1}, is_answering=True),
        "ReportedError('the service reported an error')",
    ),
    "that was cleaned": (CleanedError("clean", "KeyError"), "CleanedError('clean')"),
}


@pytest.mark.parametrize(("cause", "again"), CAUSES.values(), ids=CAUSES)
def test_an_error_can_be_sent_whatever_its_cause_is(cause, again):
    error = errors.LLMError("failed", cause=cause, status=500)
    sent = pickle.loads(pickle.dumps(error))
    assert (type(sent), str(sent), sent.status) == (errors.LLMError, "failed", 500)
    assert repr(sent.cause) == again
    if isinstance(sent.cause, errors.LostError):
        assert sent.cause.kind == type(cause).__name__
    else:
        assert {**vars(sent.cause), "cause": None} == {**vars(cause), "cause": None}
    assert copy.copy(error).cause is cause


def test_every_error_of_the_package_can_be_sent():
    for found in pkgutil.walk_packages(cogency_rs.__path__, "cogency_rs."):
        with suppress(ImportError):  # an extra that is not installed
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    kinds, left = list[type[Exception]](), [Exception]
    while left:
        subclasses = left.pop().__subclasses__()
        left += subclasses
        kinds += [kind for kind in subclasses if kind.__module__.startswith("cogency_rs.")]
    assert kinds
    for kind in kinds:
        is_private = kind.__name__.startswith("_")  # it goes no further than its file
        if not (is_private or issubclass(kind, errors.Portable)) and "__init__" in vars(kind):
            inspect.signature(kind).bind("what was wrong")  # so Python's own way reads it again


GROUPS = {
    "the parts of a group": (
        ExceptionGroup("two things", [ValueError("a"), KeyError("b")]),
        "ExceptionGroup: two things (2 sub-exceptions): ValueError: a; KeyError: 'b'",
    ),
    "the parts of a group in it": (
        ExceptionGroup("all", [ExceptionGroup("some", [ValueError("a")]), OSError("b")]),
        "ExceptionGroup: all (2 sub-exceptions): ValueError: a; OSError: b",
    ),
    "the first of many parts": (
        ExceptionGroup("all", [ValueError(str(number)) for number in range(7)]),
        "ExceptionGroup: all (7 sub-exceptions): ValueError: 0; ValueError: 1; ValueError: 2; ValueError: 3; "
        "ValueError: 4; and 2 more",
    ),
}


@pytest.mark.parametrize(("error", "says"), GROUPS.values(), ids=GROUPS)
async def test_a_call_that_fails_with_a_group_names_its_parts(error, says):
    @tool
    async def fail() -> None:
        raise error

    [result] = await execute_tools([ToolCall("fail", {})], execution=Execution(tools=[fail]))
    assert result.outcome == f"Tool execution failed: {says}"


async def test_tasks_that_fail_together_are_both_named():
    @tool
    async def fetch() -> None:
        async def part(name: str) -> None:
            raise ConnectionError(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(part("first"))
            group.create_task(part("second"))

    [result] = await execute_tools([ToolCall("fetch", {})], execution=Execution(tools=[fetch]))
    assert "ConnectionError: first; ConnectionError: second" in result.outcome


class Watching(Hooks):
    """Looks at what is over, and returns nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def after_step(self, ctx: Any, step: Any) -> None:
        self.seen.append(step.kind)

    async def after_run(self, ctx: Any, result: Any) -> None:
        self.seen.append(result.status)


async def test_a_hook_that_only_looks_at_what_is_over_may_return_nothing():
    hooks = Watching()
    result = await agent(adding(1, 2), "3", hooks=[hooks], tools=[add]).run("?")
    assert (result.status, result.output, len(result.steps)) == ("completed", "3", 2)
    assert hooks.seen == ["tool_execution", "final_response", "completed"]
