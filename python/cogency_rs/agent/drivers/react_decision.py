"""One decision of a model as JSON, read while it arrives: `thought, type, tool, args, answer`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..._core import FieldText, Finish, ObjectReader, event_of_cut
from ...outside import time
from ...tools.registry import is_object, parameters_of
from ...tools.toolbox import Toolbox
from ...types import ToolCall
from ..prompt import exact_args
from .driver import EventDict, cut_of, line_and_column

ANSWER = "final_answer"


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The decision to answer.

    Attributes:
        text: the answer; may be empty if the model writes it in a separate request.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CutAnswer:
    """A final answer that was cut; its text so far was shown.

    Attributes:
        finish: why it ended.
    """

    finish: Finish

    def event(self) -> EventDict:
        """Its `error` event."""
        cut = event_of_cut(self.finish) or {}
        return {**cut, "content": _GO_ON}


_GO_ON = (
    'Your answer was cut. Write one more object, of the type "final_answer", whose answer goes on exactly where the '
    "last one stopped: it is joined to it as it is. Repeat nothing."
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a decision cannot be carried out.

    Attributes:
        name: the name of the failed execution that stands for it.
        code: the code of its event.
        kind: the kind of its event.
        problem: what is wrong.
        hint: what the model should write instead.
        raw: the text that the model wrote.
        found: the problem in words for a model that decides in another form; `None` if these are `problem`.
        advice: what such a model should do instead, by the name that the log keeps.
        place: line and column in `raw`, from 1, if they are known.
    """

    name: str
    code: str
    kind: str
    problem: str
    hint: str
    raw: str
    found: str | None = None
    advice: str | None = "again"
    place: tuple[int, int] | None = None

    def event(self) -> EventDict:
        """Its `error` event."""
        line, column = self.place or (None, None)
        return {
            "type": "error",
            "kind": self.kind,
            "code": self.code,
            "content": f"{self.problem} {self.hint}",
            "finding": (self.found or self.problem, self.advice, None),
            "raw": self.raw,
            "line": line,
            "column": column,
            "timestamp": time(),
        }


class DecisionReader:
    """Reads the text of one answer.

    Text before the object, such as reasoning in tags, is a thought; text after it is not read.

    Args:
        shows_answer: whether the answer in the decision is text for the user.

    Attributes:
        is_broken: whether the object is broken, so that the rest of the text need not be read.
        has_answered: whether the answer was shown while it arrived.
    """

    def __init__(self, *, shows_answer: bool = True) -> None:
        self.is_broken = False
        self.has_answered = False
        self._shows_answer = shows_answer
        self._pieces: list[str] = []
        self._length = 0
        self._preamble = _Preamble()
        self._begins: int | None = None  # where the object begins
        self._object = ObjectReader(is_alone=False)
        self._type = self._value = ""  # the type of the decision, and one that may go on
        self._answer: list[str] = []  # what was shown of it
        self._has_whole_answer = False

    @property
    def text(self) -> str:
        """All text that was fed."""
        return "".join(self._pieces)

    def feed(self, text: str) -> list[EventDict]:
        """Read the next piece; returns the next pieces of the thought and the answer."""
        self._pieces.append(text)
        self._length += len(text)
        events: list[EventDict] = []
        if self._begins is None:
            found = self._preamble.skip(text)
            if found is None:
                return []
            text = found
            self._begins = self._length - len(text)
            if thought := self._preamble.thought:
                events.append(_event("think", f"{thought}\n"))
        for piece in self._object.feed(text):
            events += self._show(piece)
        self.is_broken = self._object.fault is not None
        return events

    def finish(self, finish: Finish) -> dict[str, Any] | CutAnswer | Refusal:
        """End the text; returns the decision, or why there is none."""
        raw = self.text
        fault = self._object.finish()
        if fault is None:
            try:
                return self._object.value()
            except ValueError as error:
                return _no_decision(f"No decision: {error}.", raw)
        cut = cut_of(finish)
        if self.has_answered and fault.is_the_end and cut in ("length", "broken"):
            if self._has_whole_answer:  # only the end of the object is missing
                return {"type": ANSWER, "answer": "".join(self._answer)}
            return CutAnswer(finish)
        if self._begins is None and cut not in ("length", "broken"):
            return _no_decision("No decision: your answer holds no JSON object.", raw)
        begins = len(raw) if self._begins is None else self._begins
        line, column = place = line_and_column(raw, begins + fault.at)
        at = f"at line {line}, column {column}"
        if not fault.is_the_end:
            return _no_decision(f"No decision: {fault.problem} {at}.", raw, place)
        match cut:
            case "length":
                problem = f"Your output reached the length that is allowed and was cut {at}."
                return _no_decision(problem, raw, place, "truncated", "Write less at once.")
            case "broken":
                problem = f"The stream broke off {at}, and you did nothing wrong."
                return _no_decision(problem, raw, place, "truncated")
            case "stopped":
                problem = f"No decision: you stopped {at}, and {fault.problem}."
                return _no_decision(problem, raw, place, "unfinished")
            case _:
                problem = f"No decision: your output ended {at}, and {fault.problem}."
                return _no_decision(problem, raw, place, "truncated")

    def _show(self, piece: FieldText) -> list[EventDict]:
        match piece.key:
            case "thought" if piece.text:
                return [_event("think", piece.text)]
            case "type":
                self._value += piece.text
                if piece.is_whole:
                    self._type, self._value = self._value, ""
            case "answer" if piece.text and self._type == ANSWER and self._shows_answer:
                self.has_answered = True
                self._answer.append(piece.text)
                self._has_whole_answer = piece.is_whole
                return [_event("respond", piece.text)]
            case "answer" if piece.is_whole and self.has_answered:
                self._has_whole_answer = True
            case _:
                pass
        return []


class _Preamble:
    """The text before the object. The cost is linear, however the text is cut.

    Attributes:
        thought: its text, without the marks of reasoning and fences.
    """

    def __init__(self) -> None:
        self.thought = ""
        self._pieces: list[str] = []
        self._mark = ""  # the mark after which the object is searched; "" for here
        self._is_begun = False
        self._tail = ""

    def skip(self, text: str) -> str | None:
        """Read the next piece; returns its part that belongs to the object, once the object begins."""
        if not self._is_begun:
            window = self._tail + text
            start = window.lstrip()
            self._pieces.append(window[: len(window) - len(start)])
            if _OPEN.startswith(start):
                self._tail = start
                return None  # perhaps the mark, or only white space
            self._is_begun = True
            self._mark = _CLOSE if start.startswith(_OPEN) else ""
            text, self._tail = start, ""
        if self._mark:
            window = self._tail + text
            place = window.find(self._mark)
            if place < 0:
                self._tail = window[1 - len(self._mark) :]
                self._pieces.append(window[: len(window) - len(self._tail)])
                return None
            place += len(self._mark)
            self._pieces.append(window[:place])
            self._mark = self._tail = ""
            text = window[place:]
        place = text.find("{")
        if place < 0:
            self._pieces.append(text)
            return None
        preamble = "".join([*self._pieces, text[:place]])
        self.thought = _FENCE.sub("", preamble.replace(_OPEN, "").replace(_CLOSE, "")).strip()
        return text[place:]


_OPEN, _CLOSE = "<think>", "</think>"
_FENCE = re.compile(r"```\w*\s*\Z")


def _event(kind: str, content: str) -> EventDict:
    return {"type": kind, "content": content, "timestamp": time()}


_ONCE_MORE = "Write it again."
_AGAIN = "Write one JSON object, with thought, type, tool, args and answer as you were told."


def _no_decision(
    problem: str,
    raw: str,
    place: tuple[int, int] | None = None,
    kind: str = "malformed",
    hint: str = _AGAIN,
) -> Refusal:
    name, code = "decision_extraction", "decision_error"
    found = problem if hint in (_AGAIN, _ONCE_MORE) else f"{problem} {hint}"
    return Refusal(name, code, kind, problem, hint, raw, found, place=place)


def _not_valid(problem: str, hint: str, raw: str, found: str) -> Refusal:
    name, code = "decision_validation", "validation_error"
    return Refusal(name, code, "malformed", problem, hint, raw, found)


def broke_off(raw: str) -> Refusal:
    """The refusal of a call after which the stream broke off."""
    problem = (
        "The stream broke off after your decision, and you did nothing wrong. Nothing was run."
    )
    return _no_decision(problem, raw, kind="truncated", hint=_ONCE_MORE)


def no_answer(raw: str) -> Refusal:
    """The refusal of an empty final answer."""
    problem = "Answer is required when type=final_answer."
    return _not_valid(
        problem, "Write it, or call a tool.", raw, "You decided to answer, and wrote no answer."
    )


def decide_on(
    decision: Mapping[str, Any], raw: str, tools: Toolbox, *, needs_answer: bool = True
) -> ToolCall | FinalAnswer | Refusal:
    """Return what a decision asks for, or why it cannot be carried out.

    Args:
        decision: as the model wrote it.
        raw: the text with the decision.
        tools: the tools that the model may call.
        needs_answer: whether the decision must contain the answer.
    """

    def refused(problem: str, hint: str, found: str) -> Refusal:
        return _not_valid(problem, hint, raw, found)

    match decision.get("type"):
        case "call_tool":
            name, args = decision.get("tool"), decision.get("args")
            names = f"Tools: {', '.join(tools.names) or 'none'}."
            if not isinstance(name, str) or not name.strip():
                return refused(
                    "Tool name is required when type=call_tool.",
                    names,
                    f"Your call names no tool. {names}",
                )
            tool = tools.resolve(ToolCall(name, {})).tool
            if tool is None:
                problem = "Requested tool is not available."
                return refused(problem, names, f"{problem} {names}")
            if args is None:
                required = parameters_of(tool).get("required")
                if required:
                    listed = ", ".join(required)
                    return refused(
                        "Arguments are required when type=call_tool.",
                        f"Give args as a JSON object with {listed}.",
                        f"Your call of {name} has no arguments. It needs {listed}.",
                    )
                args = {}
            if not is_object(args):
                return refused(
                    "Arguments must be a JSON object.",
                    'Write "args": {"name": value}.',
                    f"The arguments of your call of {name} are not an object.",
                )
            return ToolCall(name, exact_args(args, raw))
        case "final_answer":
            answer = decision.get("answer")
            if answer is None:
                answer = ""
            text = answer if isinstance(answer, str) else _compact_json(answer)
            if needs_answer and not text.strip():
                return no_answer(raw)
            return FinalAnswer(text)
        case _:
            return refused(
                "Decision type must be call_tool or final_answer.",
                _AGAIN,
                "You neither called a tool nor gave a final answer.",
            )


def _compact_json(value: Any) -> str:
    """A value as JSON without spaces; characters are not escaped, unless UTF-8 cannot encode one."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text
