"""The accumulator: turns as a whole, storages that fail, and turns that are cancelled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from cogency_rs import ToolResult

from ..oracle import (
    TIME,
    Raised,
    Scenario,
    Script,
    Shape,
    Turn,
    content_of,
    event,
    outcome,
    their_turns,
    with_content,
)
from ..pieces import generous
from .accumulator_events import (
    END,
    ErrorEvent,
    Promised,
    open_calls,
    parse_call,
    promised_events,
    state_between_turns,
)
from .accumulator_results import (
    ARRAYS,
    batch_that_opens_the_breaker,
    breaker_that_closes,
    failures_after,
    failures_of_one_batch,
    promised_array,
)
from .executor_results import promised_scripts
from .registry import TURNS, Example, difference


@difference(
    TURNS,
    Example(
        "saved(call('t') + call('t') + end, returns(ToolResult('done')))",
        theirs=[("call", '{"name": "t", "args": {}}'), ("call", '{"name": "t", "args": {}}')],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Cancelled"}, '
                '{"tool": "t", "status": "failure", "content": "Cancelled"}]',
            ),
        ],
    ),
    theirs="Calls without a following `execute` stay in the log without a result, and run with the calls of the next "
    "turn.",
    ours="Each has the result `Cancelled` in the log, which is not emitted, and is never run. If that "
    "cannot be saved, the fault is logged.",
    why="Every call in the log has its result.",
)
def calls_without_execute(rows: Sequence[tuple[Any, ...]]) -> bool:
    return open_calls(rows) != []


def promised_turn(
    turn: Turn, given: Promised, failures: int, most: float
) -> tuple[Turn, set[str], int]:
    """What we promise for a turn, from what cogency does with it.

    Args:
        turn: what cogency, with a breaker that never opens, made of `given`.
        given: the input of cogency's accumulator.
        failures: the failures counted before the turn.
        most: the failures at which the breaker opens.

    Returns:
        The turn, the differences that apply, and the failures counted after the turn.
    """
    names: set[str] = set()
    outcome = given.outcome
    turn = _with_errors(turn, given.errors)
    arrays: list[str] = []
    opens = False
    for calls, results in turn.batches:
        arrays.append(promised_array([call.name for call in calls], results))
        names |= {each.name for each in ARRAYS if each(results)}
        if failures_of_one_batch(results):
            names.add(failures_of_one_batch.name)
        opens = batch_that_opens_the_breaker(results, failures, most)
        failures = failures_after(results, failures)
        if opens:
            names.add(batch_that_opens_the_breaker.name)
            outcome = "failed"
            break
    if breaker_that_closes(outcome, failures):
        names.add(breaker_that_closes.name)
        failures = 0
    events = _with_arrays(turn.events, arrays, lambda shape: dict(shape)["type"])
    rows = _with_arrays(turn.rows, arrays, lambda row: row[2])
    if opens:
        events, rows = _to_the_last_result(events, rows, len(arrays))
        events += [_STOPPED, event("end")]
    cancelled = [ToolResult("Cancelled", error=True)] * len(open_calls(rows))
    if calls_without_execute(rows):
        names.add(calls_without_execute.name)
        array = promised_array(open_calls(rows), cancelled)
        rows = [*rows, (*rows[0][:2], "result", array, rows[0][4])]
    return Turn(events, rows, None if opens else turn.raised), names, failures


_STOPPED = tuple(
    {
        "type": "result",
        "payload": (("outcome", "Max failures. Terminating."), ("content", ""), ("error", True)),
        "content": json.dumps(
            [
                {
                    "tool": "circuit_breaker",
                    "status": "failure",
                    "content": "Max failures. Terminating.",
                }
            ]
        ),
        "timestamp": TIME,
    }.items()
)


def _with_errors(turn: Turn, errors: Mapping[str, ErrorEvent]) -> Turn:
    """A turn with the events and rows of errors in place of the texts that stand for them."""
    events = [
        errors[content_of(shape)].shape if content_of(shape) in errors else _without_end(shape)
        for shape in turn.events
    ]
    rows: list[Any] = []
    taken = 0  # how many of the next rows belong to the row of an error
    for row in turn.rows:
        if row[3] in errors:
            error = errors[row[3]]
            rows.append((*row[:2], "error", error.row, row[4]))
            taken = sum(bool(content.strip()) for _, content in error.after)
        elif taken:
            taken -= 1
        else:
            rows.append((*row[:3], row[3].removesuffix(END), *row[4:]))
    return replace(turn, events=events, rows=rows)


def _without_end(shape: Shape) -> Shape:
    content = content_of(shape)
    is_marked = isinstance(content, str) and content.endswith(END)
    return with_content(shape, content.removesuffix(END)) if is_marked else shape


def _with_arrays(items: Sequence[Any], arrays: Sequence[str], kind_of: Callable[[Any], str]) -> Any:
    """Events or rows, with our arrays in place of cogency's."""
    left = list(arrays)

    def ours(item: Any) -> Any:
        if kind_of(item) != "result" or not left:
            return item
        array = left.pop(0)
        if isinstance(item[0], str):
            return (*item[:3], array, *item[4:])
        return with_content(item, array)

    return [ours(item) for item in items]


def _to_the_last_result(
    events: list[Shape], rows: list[Any], results: int
) -> tuple[list[Shape], list[Any]]:
    """Events and rows up to the result with this number, counted from 1."""
    at_events = [at for at, shape in enumerate(events) if dict(shape)["type"] == "result"]
    at_rows = [at for at, row in enumerate(rows) if row[2] == "result"]
    return events[: at_events[results - 1] + 1], rows[: at_rows[results - 1] + 1]


def promised_turns(scenario: Scenario) -> tuple[list[Turn], set[str]]:
    """What we promise for a scenario, and the differences that apply."""
    names: set[str] = set()
    turns = [promised_events(given, scenario.stream) for given in scenario.turns]
    for number, each in enumerate(turns, 1):
        names |= each.names
        if number < len(turns) and state_between_turns(each.left):
            names.add(state_between_turns.name)
    calls = [call for each in turns for call in _calls(each.events)]
    scripts, found = promised_scripts(scenario.scripts, {call.name for call in calls})
    names |= found
    if any(_refusal(call.args) for call in calls):
        scripts = {**scripts, **_refusing_huge_integers(scripts, scenario.scripts)}
    events = tuple(each.events for each in turns)
    promised = replace(scenario, turns=events, scripts=scripts, max_failures=inf)
    failures = 0
    done: list[Turn] = []
    for turn, given in zip(their_turns(promised, apart=True), turns, strict=True):
        ours, found, failures = promised_turn(turn, given, failures, scenario.max_failures)
        names |= found
        done.append(ours)
    return done, names


def _calls(events: Sequence[Any]) -> list[Any]:
    calls = [each for each in events if isinstance(each, dict) and each.get("type") == "call"]
    reads = [outcome(parse_call, each.get("content") or "") for each in calls]
    return [read for read in reads if not isinstance(read, Raised)]


def _refusing_huge_integers(
    scripts: Mapping[str, Script], registered: Iterable[str]
) -> dict[str, Script]:
    """The registered tools, changed to refuse calls with an integer of more than 4300 digits."""
    return {name: replace(scripts[name], how="async", refuse=_refusal) for name in registered}


def _refusal(args: Mapping[str, Any]) -> ToolResult | None:
    huge = next((number for number in _integers(args) if abs(number) >= 10**4300), None)
    if huge is None:
        return None
    with generous():
        digits = len(str(abs(huge)))
    return ToolResult(
        "Tool execution failed: its arguments cannot be read: Exceeds the limit (4300 digits) for integer string "
        f"conversion: value has {digits} digits; use sys.set_int_max_str_digits() to increase the limit",
        error=True,
    )


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _integers(item)


@difference(
    TURNS,
    Example(
        "saved(call('t') + call('t') + execute, returns(ToolResult('done')), failing_save=1)",
        theirs=[("call", '{"name": "t", "args": {}}'), ("OSError",)],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "failure", "content": "Cancelled"}]'),
            ("OSError",),
        ],
    ),
    Example(
        "emitted(call('t') + call('t') + execute, returns(ToolResult('done')), failing_save=1)",
        theirs=[("call", '{"name": "t", "args": {}}'), ("OSError",)],
        ours=[("OSError",)],
    ),
    theirs="Each call of a batch is emitted as soon as it is saved. When the storage refuses one, those before it stay "
    "in the log without a result.",
    ours="The calls of a batch are saved together and then emitted. When the storage refuses one, those before it have "
    "the result `Cancelled` in the log.",
    why="A batch is saved in one go, and every call in the log has its result.",
)
def storage_that_fails_at_a_call(kinds: Sequence[str], failing_save: int) -> bool:
    """`kinds`: the types of the rows of a turn, in the order in which they are saved."""
    return failing_save < len(kinds) and kinds[failing_save] == "call"


@difference(
    TURNS,
    Example(
        "saved_when_cancelled(call('t') + execute)",
        theirs=[("call", '{"name": "t", "args": {}}'), ("CancelledError",)],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "failure", "content": "Cancelled"}]'),
            ("CancelledError",),
        ],
    ),
    theirs="When a turn is cancelled while its tools run, their calls stay in the log without a result.",
    ours="The tools are cancelled and awaited; finished ones keep their result, the others read `Cancelled`; the "
    "results are saved; then the cancellation is raised.",
    why="Every call in the log has its result.",
)
def turn_that_is_cancelled(running: int) -> bool:
    """`running` is the number of tools that run at the cancellation."""
    return running > 0


@difference(
    TURNS,
    Example(
        "public_state(Accumulator)",
        theirs=[
            "call_timestamps",
            "circuit_breaker",
            "content",
            "conversation_id",
            "current_type",
            "pending_calls",
            "start_time",
            "storage",
            "stream",
            "user_id",
        ],
        ours=[
            "circuit_breaker",
            "claim",
            "conversation_id",
            "state",
            "storage",
            "stream",
            "user_id",
        ],
    ),
    theirs="An accumulator shows the state of the turn it is in as attributes.",
    ours="That state belongs to the turn, in the core, and is not shown. `process` returns a turn, whose `result` says "
    "how it ended, and `state` is for the notes of hooks.",
    why="A change to that state from outside would break the turn.",
)
def state_of_the_turn(attribute: str) -> bool:
    return attribute in {
        "call_timestamps",
        "claim",
        "content",
        "current_type",
        "pending_calls",
        "start_time",
        "state",
    }
