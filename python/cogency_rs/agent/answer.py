"""A model's answer: the content of a step while it grows, an answer that comes in parts, and errors that repeat.

An answer that was cut is gone on with in the next step: its parts are joined as they are. A run and the rows of its log
follow the same rule, so that a run which another program resumes has the same answer.

A list of the pieces takes several times the memory of their text, and until Python 3.12 `io.StringIO` keeps one, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import StopReason, StopRun
from ..guards.json import read_json
from ..runs.result import StepKind
from ..types import ToolCall, TurnOutcome

if TYPE_CHECKING:
    from ..calls.record import ToolExecution


def encoded(text: str) -> bytes:
    """A piece, as it is added; it may have lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decoded(written: bytearray) -> str:
    """The whole text."""
    return written.decode("utf-8", "surrogatepass")


ErrorKey = tuple[str, str]
"""The kind of an error, and its tool; "" for no tool."""


class Repetition:
    """Counts equal errors in a row.

    Args:
        limit: after how many of them a run stops; `None` for never.
    """

    __slots__ = ("_count", "_last", "_limit")

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._last: ErrorKey | None = None
        self._count = 0

    def enter(self, errors: Iterable[tuple[ErrorKey, str] | None]) -> StopRun | None:
        """Take the events of a step, in order: errors with their messages, or `None` for a success.

        Equal errors of one step count once: the model has not yet read the first.

        Returns:
            A signal, if the limit is reached.
        """
        counted: ErrorKey | None = None  # in this step
        for error in errors:
            if error is None:
                self._last, self._count, counted = None, 0, None
                continue
            key, message = error
            if key == counted:
                continue
            counted = key
            self._count = self._count + 1 if key == self._last else 1
            self._last = key
            if self._limit is not None and self._count >= self._limit:
                kind, tool = key
                if kind == "truncated":
                    return StopRun(
                        _CUT.format(self._count), reason=StopReason.TRUNCATED, source="recovery"
                    )
                of = f" of '{tool}'" if tool else ""
                text = f"{self._count} equal errors in a row: {kind}{of}: {_quoted(message)}"
                return StopRun(text, reason=StopReason.RETRY_LIMIT, source="recovery")
        return None


_CUT = (
    "the answer was cut {} times in a row and is not whole: raise the model's limit on output, such as max_tokens, or "
    "ask for less"
)

_MOST = 300
"""How many characters of an error are quoted."""


def _quoted(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


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


class Answer:
    """The parts of an answer that were cut, in order.

    Args:
        is_exact: whether text after reasoning is joined as it is; else without the white space at its beginning.

    Attributes:
        is_open: whether text was cut, so that the next text is joined to it.
    """

    __slots__ = ("_is_exact", "_texts", "is_open")

    def __init__(self, *, is_exact: bool = False) -> None:
        self._is_exact = is_exact
        self._texts: Sequence[str] = ()
        self.is_open = False

    @property
    def has_parts(self) -> bool:
        """Whether an earlier step wrote a part of it."""
        return bool(self._texts)

    def with_rest(self, content: StepContent) -> str:
        """The whole text, if it ends with that of a step."""
        return paragraphs(self._joined(content))

    def cut(self, content: StepContent) -> None:
        """Keep the text of a step that was cut."""
        texts = content.texts
        if not texts:
            return
        self._texts = self._joined(content)
        self.is_open = content.ends_in_text

    def forget(self) -> None:
        """Drop the parts: what follows is another answer."""
        self._texts, self.is_open = (), False

    def _joined(self, content: StepContent) -> list[str]:
        texts = content.texts
        if not (self.is_open and texts):
            return [*self._texts, *texts]
        is_exact = self._is_exact or content.begins_in_text
        rest = texts[0] if is_exact else texts[0].lstrip()
        return [*self._texts[:-1], self._texts[-1] + rest, *texts[1:]]


def answer_in(rows: Iterable[Mapping[str, Any]], *, is_exact: bool) -> tuple[Answer, StepContent]:
    """The parts of the answer at the end of a log, and the content of its last step.

    Args:
        rows: oldest first.
        is_exact: see `Answer`.
    """
    answer, content = Answer(is_exact=is_exact), StepContent()
    for row in rows:
        match row["type"]:
            case "user" | "call" | "result" | "settled":
                answer.forget()
                content = StepContent()
            case "think" | "respond":
                content.take(row)
            case "cancelled":
                answer.cut(content)
                content = StepContent()
            case "error":
                content.take(report_of(row))
                if content.is_cut or content.is_refused:
                    answer.cut(content)
                elif content.is_unfit:
                    answer.forget()
                content = StepContent()
            case _:
                pass
    return answer, content


def report_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event of a row `error`; another program may have written any text."""
    from ..tools.registry import is_object

    try:
        report = read_json(row["content"])
    except ValueError:
        report = None
    return {**(report if is_object(report) else {}), "type": "error"}
