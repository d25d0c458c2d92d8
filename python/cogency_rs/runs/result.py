"""What a run gives: its result, its steps, why it stopped, and which calls wait for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from ..calls.record import ToolExecution
from ..errors import NoAnswerError, StopReason, StopRun
from ..guards.json import json_value, json_value_or_text
from ..loading import PlainData
from ..models import Usage
from ..types import ToolCall, TurnOutcome

_LISTED = 5
"""Calls that are named."""


def what_waits(calls: Sequence[ToolCall], conversation_id: str) -> str:
    """Say which calls wait, and how the run goes on.

    Args:
        calls: the calls that wait, with their ids.
        conversation_id: the conversation of the run.
    """
    count = "1 call waits" if len(calls) == 1 else f"{len(calls)} calls wait"
    names = ", ".join(call.name for call in calls[:_LISTED])
    more = f" and {len(calls) - _LISTED} more" if len(calls) > _LISTED else ""
    decisions = ", ".join(f"{str(call.id)!r}: True" for call in calls[:_LISTED])
    others = ", ..." if len(calls) > _LISTED else ""
    return (
        f"{count} for approval: {names}{more}; go on with "
        f"agent.resume({conversation_id!r}, decisions={{{decisions}{others}}}), where False refuses a call; "
        "to be asked at once, give the agent approve=; "
        'to run tools of an MCP server unasked, give the server approve="never"'
    )


NO_OUTPUT: Any = object()
"""The place of an output that a run does not have yet: `None` is one, where the type of the answer may be null."""

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    Deps = DefaultTypeVar("Deps", default=Any)
    Output = DefaultTypeVar("Output", default=str)
else:  # Python 3.11 knows no defaults
    Deps = TypeVar("Deps")
    Output = TypeVar("Output")

RunStatus = Literal["pending", "in_progress", "waiting", "completed", "stopped", "failed"]
"""The state of a run. `failed` means that the run failed; a tool that fails does not fail it."""

StepKind = Literal["error", "tool_execution", "final_response"]
"""The kind of a step: output that could not be used, calls, or an answer."""


_PRECEDENCE = {reason: place for place, reason in enumerate(StopReason)}


def first_signal(signals: Sequence[StopRun]) -> StopRun | None:
    """The signal that counts: the first with the reason that comes first in `StopReason`; `None` if there is none."""
    if not signals:  # as after most steps
        return None
    return min(signals, key=lambda signal: _PRECEDENCE[signal.reason])


@dataclass(frozen=True)
class Step(PlainData):
    """One answer of the model, and its results.

    Attributes:
        index: the number of the step in the run, from 0.
        kind: what kind of step it was.
        outcome: the outcome of its turn.
        text: its text for the user, joined and stripped.
        thoughts: its reasoning, joined and stripped.
        calls: its calls, as the model wrote them.
        executions: the executions of the calls, in their order; and a failure for each call that a driver could not
            read.
        usage: the tokens that it used.
        finish_reason: why the model stopped writing, in its provider's word.
        error: what was wrong with it, in the words for the model; `None` if nothing was.
        replaced_characters: how many characters of its text became U+FFFD, since half of each (of a surrogate pair)
            was missing.
    """

    index: int
    kind: StepKind
    outcome: TurnOutcome
    text: str = ""
    thoughts: str = ""
    calls: tuple[ToolCall, ...] = ()
    executions: tuple[ToolExecution, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    error: str | None = None
    replaced_characters: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Write it as JSON has it: its attributes by name, calls and usage as dicts, executions as their `to_dict`."""
        written = {each.name: getattr(self, each.name) for each in fields(self)}
        written["executions"] = [each.to_dict() for each in self.executions]
        made: dict[str, Any] = json_value(written)
        return made


@dataclass(frozen=True)
class RunResult(PlainData, Generic[Output]):
    """The result of a run.

    Attributes:
        text: the final answer as the model wrote it; if a tool ended the run, that tool's result as text. If the run
            has no answer, what there is of one, or the text of the last step; may be empty.
        status: how it ended.
        stop: why it stopped; `None` if the model simply answered.
        usage: the tokens of all its steps.
        steps: its steps, in order.
        waiting: the calls that wait for approval, with their ids; see `Agent.resume`. The `str` of such a result says
            what to call next.
        conversation_id: the conversation's id, for the next run.
        run_id: the run's own id.
    """

    text: str
    status: RunStatus
    stop: StopRun | None
    usage: Usage
    steps: tuple[Step, ...]
    waiting: tuple[ToolCall, ...]
    conversation_id: str
    run_id: str
    _output: Any = NO_OUTPUT

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: Any) -> Any:
            """`RunResult[str]` is the class: pydantic asks classes how they are written, and of others reads fields."""
            return cls

    def __str__(self) -> str:
        """Of a run that waits: which calls wait, and what to call next. Of any other: its `repr`."""
        return (
            what_waits(self.waiting, self.conversation_id)
            if self.status == "waiting"
            else repr(self)
        )

    @property
    def output(self) -> Output:
        """The final answer: its text, or the value of `output_type`. If a tool ended the run, that tool's result.

        Raises:
            NoAnswerError: the run has no answer; the message says why.
        """
        if self._output is NO_OUTPUT:
            raise _no_answer(self)
        output: Output = self._output
        return output

    @property
    def has_output(self) -> bool:
        """Whether there is an answer, so that `output` does not raise."""
        return self._output is not NO_OUTPUT

    def to_dict(self) -> dict[str, Any]:
        """Write it as JSON has it: its attributes by name, steps and `stop` as their `to_dict`.

        Next to these, `has_output`, and the `output` as it is in the log: as JSON has it, or its text if JSON cannot
        hold it; `None` without one.
        """
        return {
            "text": self.text,
            "status": self.status,
            "has_output": self.has_output,
            "output": json_value_or_text(self._output) if self.has_output else None,
            "stop": None if self.stop is None else json_value(self.stop.to_dict()),
            "usage": json_value(self.usage),
            "steps": [step.to_dict() for step in self.steps],
            "waiting": [json_value(call) for call in self.waiting],
            "conversation_id": self.conversation_id,
            "run_id": self.run_id,
        }

    def with_output(self, output: Any) -> RunResult[Any]:
        """The same result with another output, as a hook `after_run` may return it."""
        return replace(self, _output=output)


_ENDED = {
    "stopped": "it stopped",
    "failed": "it failed",
    "completed": "it was completed",
    "in_progress": "it is not over",
    "pending": "it has not begun",
}


def _no_answer(result: RunResult[Any]) -> NoAnswerError:
    """The error that says why a run has no answer, and where to look further."""
    stop, status = result.stop, result.status
    if status == "waiting":
        why = what_waits(result.waiting, result.conversation_id)
    else:
        message = "" if stop is None or not stop.message else f": {stop.message.rstrip('.')}"
        why = f"{_ENDED[status]}{'' if stop is None else f' ({stop.reason})'}{message}"
    more = ". RunResult.text has what the model wrote last" if result.text else ""
    return NoAnswerError(
        f"the run has no answer: {why}{more}",
        status=status,
        reason=None if stop is None else str(stop.reason),
    )
