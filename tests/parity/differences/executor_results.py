"""Tool calls: the result of anything that a tool does or returns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Any

from cogency_rs import ToolResult
from cogency_rs.errors import ToolError

from ..oracle import Batch, Raised, Script, cogency, outcome
from .registry import TOOLS, Example, difference


@difference(
    TOOLS,
    Example("result(returns('42'))", theirs="42", ours=("Success", "42", False)),
    Example(
        "saved(call('t') + execute, returns('42'))",
        theirs=[("call", '{"name": "t", "args": {}}'), ("AttributeError",)],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "success", "content": "42"}]',
            ),
        ],
    ),
    theirs="A tool that returns anything but a `ToolResult` ends the whole turn with `AttributeError`; its "
    "call stays in the log without a result.",
    ours="The value is the content of a success.",
    why="A failed tool must not affect other calls, and the author of the tool meant the plain value as its result.",
)
def value_that_is_not_a_result(script: Script) -> bool:
    return not isinstance(script.value, BaseException) and not _is_result(script.value)


@value_that_is_not_a_result.promises
def _(script: Script) -> Script:
    return replace(script, value=ToolResult(outcome="Success", content=script.value))


def _is_result(value: Any) -> bool:
    return hasattr(value, "outcome") and hasattr(value, "error")


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done'), how='plain'))",
        theirs=(
            "Tool execution failed: object ToolResult can't be used in 'await' expression",
            None,
            True,
        ),
        ours=("done", None, False),
    ),
    theirs="A tool whose `execute` is a plain `def` runs, and then fails.",
    ours="It is a tool like any other, and runs in a worker thread.",
    why="A function that does not wait need not be a coroutine.",
)
def plain_def_tool(script: Script) -> bool:
    return script.how == "plain" and not isinstance(script.value, BaseException)


@plain_def_tool.promises
def _(script: Script) -> Script:
    return replace(script, how="async")


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done', content={1, 2})))",
        theirs=("done", {1, 2}, False),
        ours=(
            "Tool execution failed: its content (set) is not a JSON value: Object of type set is not JSON "
            "serializable",
            None,
            True,
        ),
    ),
    Example(
        "saved(call('t') + execute, returns(ToolResult('done', content={1, 2})))",
        theirs=[("call", '{"name": "t", "args": {}}'), ("TypeError",)],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: its content (set) is not a '
                'JSON value: Object of type set is not JSON serializable"}]',
            ),
        ],
    ),
    theirs="Content that JSON cannot hold ends the whole turn with `TypeError` when the results are written.",
    ours="It is that call's failure, and names the type.",
    why="A failed tool must not affect other calls.",
)
def content_that_is_not_json(script: Script) -> bool:
    return _has_json_fault(script) and not number_that_json_does_not_have([script.value])


def _failing_for_its_json(script: Script) -> Script:
    return replace(
        script,
        value=ToolResult(f"Tool execution failed: its {_json_fault(script.value)}", error=True),
    )


content_that_is_not_json.promises(_failing_for_its_json)


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('measured', content={'rows': [{'mean': -inf}]})))",
        theirs=("measured", {"rows": [{"mean": -inf}]}, False),
        ours=(
            "Tool execution failed: its content (dict) is not a JSON value: JSON has no -Infinity, but "
            '["rows"][0]["mean"] is one',
            None,
            True,
        ),
    ),
    Example(
        "array(ToolResult('measured', content=nan))",
        theirs='[{"tool": "t", "status": "success", "content": NaN}]',
        ours=("ValueError", 'a result of "t" is not a JSON value: JSON has no NaN'),
    ),
    theirs="`NaN` and infinities are written into the results as Python writes them, and other readers of "
    "JSON then refuse the whole array.",
    ours="They fail their call, with a message that says where the number is. `format_results_array` raises "
    "`ValueError`.",
    why="A result is strict JSON, so that a browser's `JSON.parse` reads it.",
)
def number_that_json_does_not_have(results: Sequence[Any]) -> bool:
    return any(odd_number(value) is not None for result in results for value in written(result))


def written(result: Any) -> tuple[Any, ...]:
    """The parts of a result that the model is shown."""
    if not _is_result(result):
        return ()
    return (result.outcome,) if result.error else (result.outcome, result.content)


def odd_number(value: Any, path: str = "") -> str | None:
    """Why JSON cannot hold a value that Python's `json` writes unless `allow_nan=False`; `None` if it can."""
    if isinstance(outcome(json.dumps, value), Raised):
        return None
    if isinstance(value, float) and not isfinite(value):
        name = json.dumps(value)
        return f"JSON has no {name}, but {path} is one" if path else f"JSON has no {name}"
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list | tuple) else items
    found = (odd_number(item, f"{path}[{json.dumps(key)}]") for key, item in items)
    return next(filter(None, found), None)


def _has_json_fault(script: Script) -> bool:
    return _is_result(script.value) and _json_fault(script.value) is not None


number_that_json_does_not_have.promises(_failing_for_its_json)


def _json_fault(result: Any) -> str | None:
    for name, value in zip(("outcome", "content"), written(result), strict=False):
        read = outcome(json.dumps, value)
        fault = read.text if isinstance(read, Raised) else odd_number(value)
        if fault is not None:
            return f"{name} ({type(value).__name__}) is not a JSON value: {fault}"
    return None


@difference(
    TOOLS,
    Example(
        "result(raises(CancelledError('gave up')))",
        theirs=("CancelledError", "gave up"),
        ours=("Tool execution failed: the tool cancelled itself: gave up", None, True),
    ),
    theirs="A tool that raises `asyncio.CancelledError` of its own ends the whole turn.",
    ours="It is that call's failure. A cancellation of the turn is told apart from it.",
    why="A failed tool must not affect other calls.",
)
def tool_that_cancels_itself(script: Script) -> bool:
    return isinstance(script.value, asyncio.CancelledError)


@tool_that_cancels_itself.promises
def _(script: Script) -> Script:
    text = str(script.value)
    return replace(script, value=Exception(f"the tool cancelled itself{text and f': {text}'}"))


@difference(
    TOOLS,
    Example(
        "result(raises(SystemExit(3)))",
        theirs=("SystemExit", "3"),
        ours=("Tool execution failed: the tool asked the program to exit with 3", None, True),
    ),
    theirs="A tool that calls `sys.exit`, or raises any other `BaseException`, ends the program.",
    ours="It is that call's failure. Only `KeyboardInterrupt` goes through.",
    why="A failed tool must not affect other calls.",
)
def tool_that_exits(script: Script) -> bool:
    return isinstance(script.value, BaseException) and not isinstance(
        script.value, Exception | asyncio.CancelledError | KeyboardInterrupt
    )


@tool_that_exits.promises
def _(script: Script) -> Script:
    error = script.value
    words = _with_its_class(error)
    if isinstance(error, SystemExit):
        words = f"the tool asked the program to exit with {error.code!r}"
    return replace(script, value=Exception(words))


@difference(
    TOOLS,
    Example(
        "result(raises(KeyError('missing')))",
        theirs=("Tool execution failed: 'missing'", None, True),
        ours=("Tool execution failed: KeyError: 'missing'", None, True),
    ),
    Example(
        "result(raises(TimeoutError()))",
        theirs=("Tool execution failed: ", None, True),
        ours=("Tool execution failed: TimeoutError", None, True),
    ),
    theirs="Only the text of a tool's exception is shown, which may be empty. If the text cannot be made, "
    "the turn ends.",
    ours="The class comes before the text, or alone if the text is empty. Only for a `ToolError`, "
    "cogency's own too, the text is shown alone, as in cogency.",
    why="The model must be able to tell what happened; the text of a `ToolError` was written for it.",
)
def error_with_its_class(script: Script) -> bool:
    error = script.value
    if not isinstance(error, Exception):
        return False
    own_words = isinstance(error, ToolError | cogency("core.errors").ToolError) and str(error)
    return not own_words


@error_with_its_class.promises
def _(script: Script) -> Script:
    return replace(script, value=Exception(_with_its_class(script.value)))


def _with_its_class(error: BaseException) -> str:
    text = outcome(str, error)
    named = type(error).__name__
    return named if isinstance(text, Raised) or not text else f"{named}: {text}"


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done')), name='x')",
        theirs=("Tool 'x' not registered", None, True),
        ours=("Tool 'x' not registered. Known tools: t", None, True),
    ),
    theirs="The message names the missing tool.",
    ours="It begins with the same words, and then lists the known tools.",
    why="The model can correct itself at once.",
)
def tool_that_is_not_registered(name: Any, tools: Collection[Any]) -> bool:
    return len(tools) > 0 and name not in tools


SCRIPTS = (
    plain_def_tool,
    error_with_its_class,
    tool_that_cancels_itself,
    tool_that_exits,
    value_that_is_not_a_result,
    content_that_is_not_json,
)


def promised_script(script: Script) -> tuple[Script, set[str]]:
    """The tool that makes cogency do what we promise, and the differences that apply."""
    names: set[str] = set()
    for each in SCRIPTS:
        if each(script):
            names.add(each.name)
            script = each.promised(script)
    if number_that_json_does_not_have([script.value]):
        names.add(number_that_json_does_not_have.name)
        script = number_that_json_does_not_have.promised(script)
    return script, names


def promised_scripts(
    scripts: Mapping[str, Script], called: set[Any]
) -> tuple[dict[str, Script], set[str]]:
    """The tools that make cogency do what we promise, and the differences that apply to those that are called."""
    names: set[str] = set()
    promised: dict[str, Script] = {}
    for name, script in scripts.items():
        promised[name], found = promised_script(script)
        names |= found if name in called else set()
    for name in called:
        if tool_that_is_not_registered(name, scripts):
            names.add(tool_that_is_not_registered.name)
            message = f"Tool '{name}' not registered. Known tools: {', '.join(scripts)}"
            promised[name] = Script(ToolResult(message, error=True))
    return promised, names


def promised_batch(batch: Batch) -> tuple[Batch, set[str]]:
    scripts, names = promised_scripts(batch.scripts, {name for name, _ in batch.calls})
    return replace(batch, scripts=scripts), names
