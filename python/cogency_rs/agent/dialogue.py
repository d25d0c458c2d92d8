"""The rows of a log as passages of a dialogue, for drivers that write their own prompt.

The rules are those of the core's fold. A call without a result gets a failure; results without calls are left out; a
report is kept until a call, results or a question follows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ToolParseError
from ..guards.json_text import read_json
from ..protocol.codec import parse_tool_call
from ..storage.log import CallRecord
from ..tools.signature import is_object
from ..types import ToolCall

__all__ = [
    "Bounds",
    "CallOutcome",
    "ModelPassage",
    "Passage",
    "Question",
    "Report",
    "compact_json",
    "dialogue",
    "shown_text",
    "stored_calls",
    "with_ids",
]

INTERRUPTED = "Interrupted before completion"


@dataclass(frozen=True, slots=True)
class Question:
    """A message of the user."""

    text: str


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The result of a call, as the model is shown it.

    Attributes:
        value: the content of a success, any value of JSON; the message of a failure.
        outcome: the outcome of a success, beside its content; "" for none.
        is_error: whether it failed.
    """

    value: Any
    outcome: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ModelPassage:
    """The model's output, up to the results of its calls if it made any.

    Attributes:
        thoughts: its reasoning.
        texts: its texts for the user.
        calls: its calls, each with an id.
        outcomes: their results, one for each call.
    """

    thoughts: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    outcomes: tuple[CallOutcome, ...] = ()

    @property
    def text(self) -> str:
        """Its texts for the user, each on lines of its own."""
        return "\n".join(text for text in self.texts if text.strip())


@dataclass(frozen=True, slots=True)
class Report:
    """Output of the model that could not be used, and what the model is told about it.

    Attributes:
        raw: the model's own text; may be empty.
        content: the report for the model.
        is_of_cut_answer: whether the answer was cut outside every call, so that the text that follows goes on with it.
    """

    raw: str
    content: str
    is_of_cut_answer: bool = False


Passage = Question | ModelPassage | Report


@dataclass(frozen=True)
class Bounds:
    """How many characters of each result's content are shown.

    Attributes:
        all: the bound for tools without one of their own; `None` for all characters.
        tools: the bounds of single tools, by their one names.
    """

    all: int | None = None
    tools: Mapping[str, int] = field(default_factory=dict[str, int])

    def cut(self, tool: str, value: Any) -> Any:
        """A content as it is shown. If it is too long it becomes text, which says how much is missing."""
        most = self.tools.get(tool, self.all)
        if most is None:
            return value
        text = value if isinstance(value, str) else compact_json(value)
        if len(text) <= most:
            return value
        missing = len(text) - most
        return f"{text[:most]}\n[… {missing} of {len(text)} characters are not shown]"


def compact_json(value: Any) -> str:
    """A value as JSON without spaces; characters are not escaped, unless UTF-8 cannot encode one."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def shown_text(outcome: CallOutcome) -> str:
    """The text of a success or a failure: a string as it is, any other value as JSON."""
    value = outcome.value
    text = value if isinstance(value, str) else compact_json(value)
    return f"{outcome.outcome}\n{text}" if outcome.outcome else text


def stored_calls(rows: Sequence[Any]) -> dict[int, ToolCall]:
    """The calls among rows, by the place of their row."""
    found: dict[int, ToolCall] = {}
    for place, row in enumerate(rows):
        if row["type"] == "call":
            try:
                found[place] = parse_tool_call(str(row["content"]))
            except ToolParseError:
                continue  # another program may have written the row
    return found


def with_ids(calls: dict[int, ToolCall], records: Sequence[CallRecord]) -> dict[int, ToolCall]:
    """Give each call an id: its own, or that of its record, or a stable one made from its place.

    Args:
        calls: by place, oldest first.
        records: the records of all calls of the conversation, oldest first, with names as in `calls`.
    """
    found = dict(calls)
    # A history leaves out the oldest rows, so they are matched from the end.
    for (place, call), record in zip(reversed(calls.items()), reversed(records), strict=False):
        if record.name != call.name:
            break
        if call.id is None:
            found[place] = replace(call, id=record.id)
    for number, (place, call) in enumerate(found.items()):
        if call.id is None:
            # Nine letters and digits, which every provider takes.
            found[place] = replace(call, id=f"call{number:05}")
    return found


def dialogue(
    rows: Sequence[Any],
    calls: Mapping[int, ToolCall] | None = None,
    bounds: Bounds | None = None,
    *,
    joins_exactly: bool = False,
) -> list[Passage]:
    """Fold rows.

    Args:
        rows: rows with `type` and `content`, oldest first.
        calls: the calls among them, with ids and under the one names of their tools, by the place of their row; by
            default as they are in the rows, with ids made from the places.
        bounds: how much of each result is shown.
        joins_exactly: whether the rest of an answer that was cut is joined to it as it is, even after reasoning.

    The cost is linear in the rows.
    """
    if calls is None:
        calls = with_ids(stored_calls(rows), ())
    fold = _Fold(bounds or Bounds(), joins_exactly=joins_exactly)
    for place, row in enumerate(rows):
        content = str(row["content"])
        match row["type"]:
            case "user":
                fold.question(content)
            case "call":
                if place in calls:
                    fold.call(calls[place])
            case "result":
                fold.results(content)
            case "error":
                if (report := _report(content)) is not None:
                    fold.pieces.append(report)
            case "think" | "respond" as kind:
                fold.pieces.append((kind, content))
            case _:
                pass
    return fold.end()


def _report(content: str) -> Report | None:
    try:
        read = read_json(content)
    except ValueError:
        return None
    match read:
        case {
            "kind": "malformed" | "truncated" | "unfinished",
            "raw": str(raw),
            "content": str(told),
        }:
            return Report(raw, told, read["kind"] == "truncated" and not raw)
        case _:
            return None


class _Fold:
    """The open passage since the last results, and all complete passages."""

    def __init__(self, bounds: Bounds, *, joins_exactly: bool) -> None:
        self._bounds = bounds
        self._joins_exactly = joins_exactly
        self._passages: list[Passage] = []
        self._calls: list[ToolCall] = []
        self.pieces: list[tuple[str, str] | Report] = []

    def question(self, text: str) -> None:
        self._forget_reports()
        self._close(self.pieces, [])
        self.pieces = []
        self._passages.append(Question(text))

    def call(self, call: ToolCall) -> None:
        self._forget_reports()
        self._calls.append(call)

    def results(self, content: str) -> None:
        if not self._calls:
            self._forget_reports()
            return
        # A report that came after the calls belongs to the same answer: it is shown after their results.
        late = [piece for piece in self.pieces if isinstance(piece, Report)]
        self._forget_reports()
        self._close(self.pieces, self._outcomes(content))
        self.pieces = [*late]

    def end(self) -> list[Passage]:
        """Return all passages, with the open one."""
        stretch: list[tuple[str, str] | Report] = []
        for piece in self.pieces:
            if isinstance(piece, Report):
                self._close(stretch, [])
                self._passages.append(piece)
                stretch = []
            else:
                stretch.append(piece)
        self._close(stretch, [])
        return self._passages

    def _forget_reports(self) -> None:
        """Drop the reports: a text that was cut is one with the text that goes on with it, as in the core's fold."""
        kept: list[tuple[str, str]] = []
        is_cut = False
        for piece in self.pieces:
            if isinstance(piece, Report):
                is_cut |= piece.is_of_cut_answer and bool(kept) and kept[-1][0] == "respond"
            elif is_cut and piece[0] == "respond":
                is_cut = False
                place = max(place for place, (kind, _) in enumerate(kept) if kind == "respond")
                is_exact = self._joins_exactly or place == len(kept) - 1
                rest = piece[1] if is_exact else piece[1].lstrip()
                kept.append(("respond", kept.pop(place)[1] + rest))
            else:
                kept.append(piece)
        self.pieces = [*kept]

    def _close(
        self, pieces: Sequence[tuple[str, str] | Report], outcomes: Sequence[CallOutcome]
    ) -> None:
        kept = [piece for piece in pieces if not isinstance(piece, Report)]
        calls, self._calls = self._calls, []
        # Results are saved right after their calls, so the first calls are those that lack them.
        missing = len(calls) - len(outcomes)
        failed = [CallOutcome(INTERRUPTED, is_error=True)] * missing
        outcomes = [*failed, *outcomes[max(-missing, 0) :]]
        if kept or calls:
            self._passages.append(
                ModelPassage(
                    tuple(text for kind, text in kept if kind == "think"),
                    tuple(text for kind, text in kept if kind == "respond"),
                    tuple(calls),
                    tuple(outcomes),
                )
            )

    def _outcomes(self, content: str) -> list[CallOutcome]:
        try:
            items: Any = read_json(content)
        except ValueError:
            items = None
        match items:
            case [*listed]:
                # The last results are those of the last calls.
                names = [None] * (len(listed) - len(self._calls)) + [c.name for c in self._calls]
                named = zip(listed, names[len(names) - len(listed) :], strict=True)
                return [self._outcome(item, name) for item, name in named]
            case _:
                return [CallOutcome(content)]  # another program wrote it

    def _outcome(self, item: Any, tool: str | None) -> CallOutcome:
        if not is_object(item):
            return CallOutcome(item)
        value = self._bounds.cut(tool or str(item.get("tool", "")), item.get("content"))
        outcome = item.get("outcome")
        return CallOutcome(
            value,
            outcome if isinstance(outcome, str) else "",
            is_error=item.get("status") == "failure",
        )
