"""The content of a step: the events of one answer, put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..runs.run_result import StepKind
from ..types import ToolCall, TurnOutcome
from .growing_text import decoded, encoded

if TYPE_CHECKING:
    from ..calls.record import ToolExecution
    from .repetition import ErrorKey

__all__ = ["EMPTY", "UNFIT", "StepContent", "kind_of", "paragraphs"]

EMPTY = "empty_answer"
"""The code of the error of a step that holds no answer and no call."""

UNFIT = frozenset({"invalid_output", "no_tool_call"})
"""The codes of the errors of an answer that is whole and not what was asked for."""


class StepContent:
    """The content of a step's events so far."""

    __slots__ = ("_last", "_others", "_written")

    def __init__(self) -> None:
        self._written: list[tuple[str, bytearray]] = []  # each text and thought, by its type
        self._others: list[ToolCall | Mapping[str, Any]] = []  # its calls, and its events of errors
        self._last = ""  # the type of the event before

    def take(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        type = event["type"]
        if type in ("respond", "think"):
            if self._last != type:
                self._written.append((type, bytearray()))
            self._written[-1][1].extend(encoded(event["content"]))
        elif type == "call":
            from ..tools.registry import tool_call

            self._others.append(tool_call(event["content"]))
        elif type == "error":
            self._others.append(event)
        self._last = type

    @property
    def calls(self) -> list[ToolCall]:
        """Its calls, as the model wrote them."""
        return [each for each in self._others if isinstance(each, ToolCall)]

    @property
    def errors(self) -> list[Mapping[str, Any]]:
        """Its events that say what is wrong with the answer."""
        return [each for each in self._others if not isinstance(each, ToolCall)]

    @property
    def begins_in_text(self) -> bool:
        """Whether it has text, and no reasoning comes before it."""
        return bool(self._written) and self._written[0][0] == "respond"

    @property
    def ends_in_text(self) -> bool:
        """Whether it has text, and no reasoning comes after it."""
        return bool(self._written) and self._written[-1][0] == "respond"

    @property
    def text(self) -> str:
        """The text for the user; each text between calls is a paragraph."""
        return paragraphs(self.texts)

    @property
    def texts(self) -> list[str]:
        """The texts for the user, as they came."""
        return self._of("respond")

    @property
    def reasoning(self) -> str:
        """The model's reasoning, in the same form."""
        return paragraphs(self._of("think"))

    def _of(self, type: str) -> list[str]:
        return [decoded(written) for kind, written in self._written if kind == type]

    @property
    def is_cut(self) -> bool:
        """Whether the only thing wrong is that the answer was cut, outside every call."""
        return bool(self.errors) and all(map(_is_of_cut_answer, self.errors))

    @property
    def is_refused(self) -> bool:
        """Whether the model refused to answer, or its provider withheld the answer."""
        return any(error.get("kind") == "refused" for error in self.errors)

    @property
    def is_unfit(self) -> bool:
        """Whether the answer is whole and not what was asked for."""
        return any(error.get("code") in UNFIT for error in self.errors)

    @property
    def error(self) -> str | None:
        """The message to the model about the last error."""
        return str(self.errors[-1].get("content")) if self.errors else None

    def happened(
        self, executions: Sequence[ToolExecution], calls: Sequence[tuple[ToolCall, Any]]
    ) -> Iterable[tuple[ErrorKey, str] | None]:
        """Errors with their messages, and `None` for successes, in order; see `Repetition`.

        Args:
            executions: the executions of the step.
            calls: their calls, with the tools that these mean.
        """
        if not (self.errors or any(each.result.error for each in executions)):
            return (None,)
        return self._errors(executions, calls)

    def _errors(
        self, executions: Sequence[ToolExecution], calls: Sequence[tuple[ToolCall, Any]]
    ) -> Iterator[tuple[ErrorKey, str] | None]:
        for error in self.errors:
            kind = str(error.get("code") or error.get("kind"))
            yield (kind, ""), str(error.get("content"))
        for each, (_, tool) in zip(executions, calls, strict=True):
            if each.error is None:
                yield None
                continue
            kind = "unknown_tool" if tool is None else "tool_execution"
            yield (kind, each.name), str(each.error)


def paragraphs(texts: Sequence[str]) -> str:
    """Texts as one, each a paragraph; blank ones are left out."""
    if not texts:  # as most reasoning is
        return ""
    return "\n\n".join([text for each in texts if (text := each.strip())])


def _is_of_cut_answer(error: Mapping[str, Any]) -> bool:
    return error.get("kind") == "truncated" and not error.get("raw")


def kind_of(outcome: TurnOutcome, *, calls: bool, is_refused: bool) -> StepKind:
    """The kind of a step with this outcome; `calls` is whether calls ran, or wait."""
    if calls:
        return "tool_execution"
    return "error" if is_refused or outcome in _UNUSABLE else "final_response"


_UNUSABLE = frozenset(
    {TurnOutcome.MALFORMED, TurnOutcome.TRUNCATED, TurnOutcome.REFUSED, TurnOutcome.FAILED}
)
