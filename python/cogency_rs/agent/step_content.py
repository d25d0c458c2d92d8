"""The content of a step: the events of one answer, put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..records import ToolExecution
from ..registry import tool_call
from ..toolbox import ResolvedCall
from ..types import ToolCall, TurnOutcome
from .recovery import ErrorKey
from .results import StepKind

__all__ = ["StepContent", "kind_of"]


class StepContent:
    """The content of a step's events so far.

    Attributes:
        calls: its calls, as the model wrote them.
        errors: its events that say what is wrong with the answer.
    """

    __slots__ = ("_last", "_texts", "_thoughts", "calls", "errors")

    def __init__(self) -> None:
        self._texts: list[list[str]] = []  # the pieces of each
        self._thoughts: list[list[str]] = []
        self._last = ""  # the type of the event before
        self.calls: list[ToolCall] = []
        self.errors: list[Mapping[str, Any]] = []

    def take(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        type = event["type"]
        if type in ("respond", "think"):
            texts = self._texts if type == "respond" else self._thoughts
            if self._last != type:
                texts.append([])
            texts[-1].append(event["content"])
        elif type == "call":
            self.calls.append(tool_call(event["content"]))
        elif type == "error":
            self.errors.append(event)
        self._last = type

    @property
    def text(self) -> str:
        """The text for the user; each text between calls is a paragraph."""
        return _paragraphs(self._texts)

    @property
    def reasoning(self) -> str:
        """The model's reasoning, in the same form."""
        return _paragraphs(self._thoughts)

    @property
    def error(self) -> str | None:
        """What the model is told about the last error."""
        return str(self.errors[-1].get("content")) if self.errors else None

    def happened(
        self, executions: Sequence[ToolExecution], calls: Sequence[ResolvedCall]
    ) -> Iterator[tuple[ErrorKey, str] | None]:
        """Errors with their messages, and `None` for each success, in order; see `Repetition`.

        Args:
            executions: the executions of the step.
            calls: their calls, with the tools that these mean.
        """
        for error in self.errors:
            kind = str(error.get("code") or error.get("kind"))
            yield (kind, ""), str(error.get("content"))
        for each, resolved in zip(executions, calls, strict=True):
            if each.error is None:
                yield None
                continue
            kind = "unknown_tool" if resolved.tool is None else "tool_execution"
            yield (kind, each.name), str(each.error)
        if not self.errors and not executions:
            yield None


def _paragraphs(texts: list[list[str]]) -> str:
    return "\n\n".join(text for pieces in texts if (text := "".join(pieces).strip()))


def kind_of(outcome: TurnOutcome, *, calls: bool, is_refused: bool) -> StepKind:
    """The kind of a step with this outcome; `calls` is whether calls ran, or wait."""
    if calls:
        return "tool_execution"
    unusable = (TurnOutcome.MALFORMED, TurnOutcome.TRUNCATED, TurnOutcome.FAILED)
    return "error" if is_refused or outcome in unusable else "final_response"
