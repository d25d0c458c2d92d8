"""The accumulator: which events a turn emits, and what it keeps from one turn to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cogency_rs.guards.json import whole_characters

from ..oracle import Shape, cogency, event
from .registry import TURNS, Example, difference

TEXT_KINDS = ("think", "respond")
BARRIER = {"type": "result", "content": "", "timestamp": 0.0}
"""An event that ends the text which cogency's accumulator holds, and does nothing else."""


@dataclass(frozen=True)
class Step:
    """An event in its turn.

    Attributes:
        event: the event, or the exception that the source raises in its place.
        pending: the text that is neither saved nor dropped yet.
        stream: the accumulator's mode.
    """

    event: Any
    pending: str
    stream: str

    @property
    def kind(self) -> Any:
        return self.event.get("type") if isinstance(self.event, dict) else None

    @property
    def content(self) -> Any:
        return self.event.get("content") or ""

    @property
    def raises(self) -> Exception | None:
        """The exception that ends the turn here, on both sides."""
        if isinstance(self.event, Exception):
            return self.event
        try:
            kind = self.event["type"]
            if kind == "call":
                parse_call(self.content)
        except Exception as error:
            return error
        return None


def parse_call(content: Any) -> Any:
    return cogency("core.codec").parse_tool_call(content)


@difference(
    TURNS,
    Example(
        "emitted(respond('I look it up.') + call('t') + execute, returns(ToolResult('done')))[:2]",
        theirs=[("call", '{"name": "t", "args": {}}'), ("respond", "I look it up.")],
        ours=[("respond", "I look it up."), ("call", '{"name": "t", "args": {}}')],
    ),
    theirs="Text before a call is saved after it and, in event mode, emitted after it. Text before and "
    "after a call is joined.",
    ours="Text is saved and emitted before the call that follows it.",
    why="The log and the user see the turn in the order in which it was written.",
)
def text_before_a_call(step: Step) -> bool:
    return step.kind == "call" and step.pending != ""


@difference(
    TURNS,
    Example(
        'saved(\'<results>[{"tool": "t", "status": "success"}]</results>Paid.\')',
        theirs=[("result", '[{"tool": "t", "status": "success"}]'), ("respond", "Paid.")],
        ours=[("respond", "Paid.")],
    ),
    theirs="A `<results>` block that the model wrote is saved and emitted like the results of a batch.",
    ours="It is dropped.",
    why="Results come from the system; a model must not forge them.",
)
def results_that_the_model_wrote(step: Step) -> bool:
    return step.kind == "result" and isinstance(step.content, str) and bool(step.content.strip())


@difference(
    TURNS,
    Example(
        "saved(respond('a') + metric + respond('b'))",
        theirs=[("respond", "a"), ("respond", "ab")],
        ours=[("respond", "a"), ("respond", "b")],
    ),
    theirs="An event of any other type (`metric`, `user`, `error`, …) makes the accumulator save and emit the text "
    "before it, and then save and emit that text again.",
    ours="It only ends the text before it.",
    why="A text that was written once is in the log once.",
)
def event_of_another_type(step: Step) -> bool:
    known = (*TEXT_KINDS, "call", "result", "execute", "end")
    return isinstance(step.kind, str) and step.kind not in known and step.pending != ""


@difference(
    TURNS,
    Example(
        "emitted(error('No JSON.'))",
        theirs=[],
        ours=[("error", "No JSON.")],
    ),
    Example(
        "saved(error('No JSON.') + respond('Sorry.'))",
        theirs=[("respond", "Sorry.")],
        ours=[("error", '{"kind": "malformed", "content": "No JSON.", "raw": "Sorry."}')],
    ),
    Example(
        "saved(error('No JSON.') + respond('Again:') + call('t') + execute, returns(ToolResult('done')))[:3]",
        theirs=[
            ("call", '{"name": "t", "args": {}}'),
            ("respond", "Again:"),
            ("result", '[{"tool": "t", "status": "success", "content": "done"}]'),
        ],
        ours=[
            ("error", '{"kind": "malformed", "content": "No JSON.", "raw": ""}'),
            ("respond", "Again:"),
            ("call", '{"name": "t", "args": {}}'),
        ],
    ),
    theirs="An event of the type `error` is neither saved nor emitted.",
    ours="It is emitted, and saved as a row of the type `error`: a JSON object with its `kind`, `content` and `raw`. "
    "Text that the model writes after it goes into `raw`, unchanged, unless calls follow in the same turn; "
    "then that text has rows of its own.",
    why="The model is shown what it wrote, and what was wrong with it, until a later step succeeds.",
)
def error_of_a_parser(step: Step) -> bool:
    return step.kind == "error" and isinstance(step.content, str)


@difference(
    TURNS,
    Example(
        "saved(respond(' ') + execute + respond('a'), stream='token')",
        theirs=[("respond", " a")],
        ours=[("respond", "a")],
    ),
    theirs="Whitespace before `execute` is joined to the text after it.",
    ours="Text before `execute` that is only whitespace is dropped, as everywhere else.",
    why="`execute` ends a text.",
)
def blank_text_before_execute(step: Step) -> bool:
    return step.kind == "execute" and step.pending != "" and not step.pending.strip()


@difference(
    TURNS,
    Example(
        "saved(respond('So far') + [ConnectionError('reset')])",
        theirs=[("ConnectionError",)],
        ours=[("respond", "So far"), ("ConnectionError",)],
    ),
    Example(
        "saved(respond(' So far ') + [ConnectionError('reset')])",
        theirs=[("ConnectionError",)],
        ours=[("respond", "So far "), ("ConnectionError",)],
    ),
    theirs="When the source raises, or hands over something that is not an event or not a call, the text before it is "
    "neither saved nor, in event mode, emitted.",
    ours="It is saved and emitted, an answer with the space at its end; then the same exception is raised.",
    why="The user keeps the model's text, and what the model writes next is joined to it as it is.",
)
def text_before_an_error(step: Step) -> bool:
    return step.raises is not None and step.pending.strip() != ""


@difference(
    TURNS,
    Example(
        "emitted([{'type': 'respond', 'content': 5}])",
        theirs=[("AttributeError",)],
        ours=[("TypeError",)],
    ),
    theirs="Content that is not a `str` is found when the text is complete, by an operation that fails. A "
    "type that is not a `str` counts as another type.",
    ours="Both raise `TypeError` at once.",
    why="The error points at the event that is wrong.",
)
def event_without_text(step: Step) -> bool:
    if step.raises is not None:
        return False
    if step.kind in {*TEXT_KINDS, "result", "error"}:
        return not isinstance(step.content, str)
    return not isinstance(step.kind, str)


@difference(
    TURNS,
    Example(
        "exactly([{'content': 'a', 'type': 'respond', 'by': 'x', 'timestamp': 1.0}], stream='token')",
        theirs=[{"content": "a", "type": "respond", "by": "x", "timestamp": 1.0}],
        ours=[{"type": "respond", "content": "a", "timestamp": "now"}],
    ),
    theirs="In token mode the parser's own `think` and `respond` events are passed on, with all their keys and "
    "their time.",
    ours="New ones are made, with `type`, `content` and the time at which they are emitted.",
    why="Both modes emit the same shape.",
)
def streamed_event_with_other_keys(step: Step) -> bool:
    if step.stream != "token" or step.kind not in TEXT_KINDS or event_without_text(step):
        return False
    timed = isinstance(step.event.get("timestamp"), float)
    return not timed or {**step.event, "timestamp": 0.0} != _streamed(step.event)


def _streamed(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": event["type"], "content": event.get("content") or "", "timestamp": 0.0}


@difference(
    TURNS,
    Example(
        r"saved(respond('a\ud83d') + respond('\ude00b\ud83d'))",
        theirs=[("respond", "a\ud83d\ude00b\ud83d")],
        ours=[("respond", "a\U0001f600b\ufffd")],
    ),
    theirs="Halves of a surrogate pair in the text of another parser's events stay halves. SQLite refuses such text, "
    "which ends the turn.",
    ours="As in the text of our own parser, halves are joined, and one without the other becomes U+FFFD.",
    why="Text that cannot be stored must not end the turn.",
)
def half_of_a_character_in_an_event(step: Step) -> bool:
    text = step.content if step.kind in TEXT_KINDS else ""
    return isinstance(text, str) and any("\ud800" <= each <= "\udfff" for each in text)


def _with_whole_characters(events: Sequence[Any]) -> list[Any]:
    """The events with the text of neighbours of one kind whole; a half belongs to the event that brings the other."""
    made: list[Any] = []
    for given in events:
        step = Step(given, "", "event")
        before = made[-1] if made else None
        if half_of_a_character_in_an_event(step) and isinstance(before, dict):
            text, last = step.content, before.get("content") or ""
            is_low = "\udc00" <= text[0] <= "\udfff"
            is_high = isinstance(last, str) and "\ud800" <= last[-1:] <= "\udbff"
            if before.get("type") == step.kind and is_low and is_high:
                made[-1] = {**before, "content": last[:-1]}
                given = {**given, "content": last[-1] + text}
        made.append(given)
    return [
        {**each, "content": whole_characters(each["content"])}
        if half_of_a_character_in_an_event(Step(each, "", "event"))
        else each
        for each in made
    ]


STEPS = (
    text_before_a_call,
    results_that_the_model_wrote,
    event_of_another_type,
    error_of_a_parser,
    blank_text_before_execute,
    text_before_an_error,
    event_without_text,
    streamed_event_with_other_keys,
    half_of_a_character_in_an_event,
)


@dataclass(frozen=True)
class LeftOver:
    """What an accumulator of cogency still holds when a turn is over."""

    text: str
    calls: int


@difference(
    TURNS,
    Example(
        "saved_in_turns(respond('a'), respond('b'))",
        theirs=[("respond", "a"), ("respond", "ab")],
        ours=[("respond", "a"), ("respond", "b")],
    ),
    Example(
        "saved_in_turns(call('t') + execute, call('t') + execute, tool=returns(ToolResult('1')), until='result')",
        theirs=[
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "success", "content": "1"}]'),
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "success", "content": "1"}, '
                '{"tool": "t", "status": "success", "content": "1"}]',
            ),
        ],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "success", "content": "1"}]'),
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "success", "content": "1"}]'),
        ],
    ),
    theirs="An accumulator that carries out several turns (as the WebSocket mode does) takes text, and calls whose "
    "results the consumer did not wait for, into the next turn: text is saved again, calls run again.",
    ours="Only the circuit breaker lasts from turn to turn.",
    why="A text that was written once is in the log once, and a call that was made once runs once.",
)
def state_between_turns(left: LeftOver) -> bool:
    return left.text != "" or left.calls > 0


@dataclass
class ErrorEvent:
    """An `error` event of a parser, and the event and the row that we promise for it.

    Attributes:
        event: what the parser handed over.
        after: the runs of text after the error that go into its row, by their type.
    """

    event: Mapping[str, Any]
    after: list[tuple[str, str]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        kind = self.event.get("kind")
        return kind if kind in ("malformed", "unfinished", "truncated", "refused") else "malformed"

    @property
    def is_of_cut_answer(self) -> bool:
        """Whether the text around it is not whole. Such a report has no text of its own, so none is added to it."""
        return self.kind in ("truncated", "refused") and not self.event.get("raw")

    @property
    def place(self) -> dict[str, Any]:
        line, column = self.event.get("line"), self.event.get("column")
        known = line is not None and column is not None
        return {"line": line, "column": column} if known else {}

    @property
    def shape(self) -> Shape:
        place = self.place or {"line": None, "column": None}
        raw = self.event.get("raw") or ""
        more = {"kind": self.kind, "code": self.event.get("code"), **place, "raw": raw}
        return event("error", self.event.get("content") or "", **more)

    @property
    def row(self) -> str:
        raw = self.event.get("raw") or ""
        for kind, content in self.after:
            raw += f"<think>{content}</think>" if kind == "think" else content
        content = self.event.get("content") or ""
        return json.dumps({"kind": self.kind, "content": content, "raw": raw, **self.place})


@dataclass
class Promised:
    """The input that makes cogency's accumulator carry out a turn as we promise.

    Attributes:
        events: the events of the turn. A text of `MARK` and a number stands for an error, which cogency does not know.
        names: the differences that apply.
        left: what cogency's accumulator holds after these events.
        outcome: how the turn ends, unless the breaker opens.
        errors: the errors, each by the text that stands for it.
    """

    events: tuple[Any, ...]
    names: set[str]
    left: LeftOver
    outcome: str
    errors: dict[str, ErrorEvent]


MARK = "\U000f0000error "
END = "\U000f0000"
"""Keeps the space before it, which cogency strips: an answer that was cut is saved exactly, to be gone on with."""


def keep_last_space(events: list[Any], kept: set[int]) -> None:
    """Keep the space at the end of each answer whose pieces are the events at the places `kept`."""
    answer = ""
    for place in sorted(kept):
        answer += events[place]["content"]
        if place + 1 not in kept:
            if answer.strip():
                events[place] = {**events[place], "content": events[place]["content"] + END}
            answer = ""


def promised_events(events: Sequence[Any], stream: str) -> Promised:
    """The events that make cogency's accumulator do what we promise."""
    names: set[str] = set()
    promised: list[Any] = []
    errors: dict[str, ErrorEvent] = {}
    outcome = "answered"
    pending, open_calls = "", 0
    unsaved: list[ErrorEvent] = []  # the errors that are not saved yet, with the text after them
    calls_follow = has_called = False
    is_cut = False
    kept: set[int] = set()  # the places of text that is cut, and so keeps its space

    def save_errors() -> None:
        nonlocal calls_follow
        for each in unsaved if calls_follow else []:
            each.after.clear()
        unsaved.clear()
        calls_follow = False

    def keep_pending() -> None:
        place = len(promised) - 1
        while pending and place >= 0 and promised[place].get("type") == "respond":
            kept.add(place)
            place -= 1

    if any(half_of_a_character_in_an_event(Step(given, "", stream)) for given in events):
        names.add(half_of_a_character_in_an_event.name)
        events = _with_whole_characters(events)
    for given in events:
        step = Step(given, pending, stream)
        applying = {each.name for each in STEPS if each(step)}
        names |= applying
        if step.raises is not None or event_without_text(step):
            if pending.strip():
                names.add(text_before_an_error.name)
                keep_pending()
                promised.append(BARRIER)
            promised.append(given if step.raises is not None else TypeError(""))
            outcome = "truncated" if outcome in ("answered", "malformed") else outcome
            break
        if step.kind == "execute" or (calls_follow and step.kind != "call"):
            save_errors()
        if step.kind == "call" or step.kind == "execute":
            calls_follow = step.kind == "call"
            has_called |= calls_follow
            outcome = "acted" if step.kind == "execute" and open_calls else outcome
            promised += [BARRIER, given] if pending else [given]
            pending, open_calls = "", open_calls + 1 if step.kind == "call" else 0
        elif step.kind in TEXT_KINDS:
            last = promised[-1] if promised else None
            joins = isinstance(last, dict) and last.get("type") == step.kind
            pending = pending + step.content if joins else step.content
            promised.append(_streamed(given))
            if is_cut and step.kind == "respond" and (has_called or not unsaved):
                kept.add(len(promised) - 1)
            if unsaved and not has_called:
                after = unsaved[-1].after
                before = after.pop()[1] if joins and after else ""
                after.append((step.kind, before + step.content))
            if step.kind == "respond" and step.content.strip() and outcome == "acted":
                outcome = "answered"
        elif step.kind == "error":
            mark = f"{MARK}{len(errors)}"
            errors[mark] = ErrorEvent(given)
            if errors[mark].is_of_cut_answer:
                is_cut = True
                if has_called or not unsaved:
                    keep_pending()
                save_errors()
            else:
                unsaved.append(errors[mark])
            promised += [BARRIER, _streamed({"type": "respond", "content": mark}), BARRIER]
            outcome = (
                kind if (kind := errors[mark].kind) in ("truncated", "refused") else "malformed"
            )
            pending = ""
        elif step.kind == "end":
            promised.append(given)
            outcome = outcome if outcome in ("malformed", "truncated", "refused") else "ended"
            break
        else:
            promised.append(BARRIER)
            pending = ""
    save_errors()
    keep_last_space(promised, kept)
    return Promised(tuple(promised), names, LeftOver(pending, open_calls), outcome, errors)


def open_calls(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The names of the calls at the end of a turn's rows that have no result."""
    names: list[Any] = []
    for row in rows:
        kind, content = row[2:4]
        if kind == "call":
            names.append(json.loads(content)["name"])
        elif kind == "result":
            names = []
    return names
