"""The accumulator: results arrays, and the circuit breaker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .executor_results import number_that_json_does_not_have, odd_number, written
from .registry import TURNS, Example, difference


@difference(
    TURNS,
    Example(
        "array(ToolResult('read 3 lines', content='a b c'))",
        theirs='[{"tool": "t", "status": "success", "content": "a b c"}]',
        ours='[{"tool": "t", "status": "success", "outcome": "read 3 lines", "content": "a b c"}]',
    ),
    theirs="A success with content is shown without its outcome.",
    ours="It has `outcome` too, before `content`, unless the outcome is empty or the word `Success`.",
    why="The outcome says what happened, which the content alone often does not.",
)
def success_with_its_outcome(results: Sequence[Any]) -> bool:
    return any(
        not result.error and not _is_absent(result.content) and not _says_nothing(result.outcome)
        for result in results
    )


@difference(
    TURNS,
    Example(
        "array(ToolResult('counted', content=0))",
        theirs='[{"tool": "t", "status": "success", "content": "counted"}]',
        ours='[{"tool": "t", "status": "success", "outcome": "counted", "content": 0}]',
    ),
    Example(
        "array(ToolResult('Success', content=[]))",
        theirs='[{"tool": "t", "status": "success", "content": "Success"}]',
        ours='[{"tool": "t", "status": "success", "content": []}]',
    ),
    theirs="Content that is falsy (`0`, `false`, `[]`, `{}`) is lost.",
    ours='Only `None` and `""` count as no content.',
    why="Zero is an answer.",
)
def falsy_content(results: Sequence[Any]) -> bool:
    return any(
        not result.error and not result.content and not _is_absent(result.content)
        for result in results
    )


def _is_absent(content: Any) -> bool:
    return content is None or content == ""


def _says_nothing(outcome: Any) -> bool:
    return outcome is None or (isinstance(outcome, str) and outcome in {"", "Success"})


ARRAYS = (success_with_its_outcome, falsy_content, number_that_json_does_not_have)


def promised_array(names: Sequence[Any], results: Sequence[Any]) -> str:
    """The results array as we write it.

    Raises:
        ValueError: a result has a number that JSON does not have.
    """

    def item(name: Any, result: Any) -> dict[str, Any]:
        tool = _strict(name)
        try:
            text, *contents = map(_strict, written(result))
        except ValueError as error:
            raise ValueError(
                f"a result of {json.dumps(tool)} is not a JSON value: {error}"
            ) from error
        if result.error:
            return {"tool": tool, "status": "failure", "content": text}
        [content] = contents
        if _is_absent(content):
            return {"tool": tool, "status": "success", "content": text}
        outcome = {} if _says_nothing(text) else {"outcome": text}
        return {"tool": tool, "status": "success", **outcome, "content": content}

    return json.dumps([item(*pair) for pair in zip(names, results, strict=True)])


def _strict(value: Any) -> Any:
    """The value, if JSON can hold it; otherwise raise the exception that we raise."""
    json.dumps(value)
    if (fault := odd_number(value)) is not None:
        raise ValueError(fault)
    return value


@difference(
    TURNS,
    Example(
        "saved(call('t') + execute, raises(OSError('no disk')), max_failures=1)",
        theirs=[("call", '{"name": "t", "args": {}}')],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: OSError: no disk"}]',
            ),
        ],
    ),
    Example(
        "emitted(call('t') + execute, raises(OSError('no disk')), max_failures=1)[2:]",
        theirs=[("result", "Max failures. Terminating."), ("end",)],
        ours=[
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: OSError: no disk"}]',
            ),
            (
                "result",
                '[{"tool": "circuit_breaker", "status": "failure", "content": "Max failures. Terminating."}]',
            ),
            ("end",),
        ],
    ),
    theirs="When the circuit breaker opens, the results of the batch are neither saved nor emitted. `Max failures. "
    "Terminating.` and `end` come in their place.",
    ours="They are saved and emitted; then come the same two, and the first of them is an array of results too.",
    why="Every call in the log has its result, the user can see why the turn ended, and the content of every `result` "
    "event is an array.",
)
def batch_that_opens_the_breaker(results: Sequence[Any], failures: int, most: float) -> bool:
    """`failures` is the number of batches in a row that failed before this one."""
    return failures_after(results, failures) >= most


def failures_after(results: Sequence[Any], failures: int) -> int:
    if not results:
        return failures
    return failures + 1 if all(result.error for result in results) else 0


@difference(
    TURNS,
    Example(
        "saved(call('t') + call('t') + execute, raises(ToolError('no')), max_failures=2)",
        theirs=[("call", '{"name": "t", "args": {}}'), ("call", '{"name": "t", "args": {}}')],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}, '
                '{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}]',
            ),
        ],
    ),
    theirs="The circuit breaker counts calls that fail in a row.",
    ours="It counts batches in which no call succeeds. Under `install()` it counts calls.",
    why="When the model writes the calls of a batch, it has not yet read what is wrong with one of them.",
)
def failures_of_one_batch(results: Sequence[Any]) -> bool:
    theirs = 0
    for result in results:
        theirs = theirs + 1 if result.error else 0
    return theirs != failures_after(results, 0)


@difference(
    TURNS,
    Example(
        "saved_in_turns(call('t') + execute + end, call('t') + execute, tool=raises(ToolError('no')), max_failures=2)",
        theirs=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}]',
            ),
            ("call", '{"name": "t", "args": {}}'),
        ],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}]',
            ),
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}]',
            ),
        ],
    ),
    theirs="The circuit breaker keeps counting from turn to turn until a call succeeds, and once open it stays open.",
    ours="It closes when the model has answered or ended its turn, and when the breaker itself has ended the turn.",
    why="Failures for one question say nothing about the next.",
)
def breaker_that_closes(outcome: str, failures: int) -> bool:
    """For a turn with this outcome, and the failures counted after it."""
    return failures > 0 and outcome in ("answered", "ended", "failed")
