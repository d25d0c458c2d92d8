"""Turns drawn as an SVG: one line for each thing that happened, its name on the left, its time on the right.

The viewer need not measure anything: every label has its own place by construction. Names are cut to the columns
of a font whose characters are all of one width, bars stand alone in their line, and durations have a column to
themselves.

The picture shows no more than the log has (see `turns`). If the log has only the duration of a whole batch, and not of
each call in it, the bars of these calls are hatched.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from rich.cells import cell_len

from .page import cut
from .text import count, duration, first_lines, moment, one_line, shown, signature, visible
from .turns import LoggedBatch, LoggedCall, LoggedText, LoggedTurn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["draw"]

WIDTH, EDGE = 1080, 28
NAMES, NAMES_END = EDGE, 420
PLOT, PLOT_END = 440, 948
DURATIONS_END = WIDTH - EDGE
LINE, HEAD, BAR = 40, 28, 14  # heights of a line, of the line above a batch, and of a bar
POINTED_AT = 2000
"""Columns of the text that is shown when the pointer is on a line."""

CHARACTER = 0.62
"""The widest that a character of the fonts below is, in ems."""

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

# The colour of each class in the light and in the dark scheme.
_COLOURS = {
    "paper": ("#ffffff", "#0d1117"),
    "band": ("#f3f5f8", "#171d26"),
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9aa4af"),
    "grid": ("#dde2e8", "#2b323b"),
    "user": ("#1f2328", "#e6edf3"),
    "think": ("#8250df", "#a371f7"),
    "text": ("#218bff", "#388bfd"),
    "done": ("#1a7f37", "#3fb950"),
    "failed": ("#cf222e", "#f85149"),
    "open": ("#9a6700", "#d29922"),
    "other": ("#6e7781", "#8b949e"),
}
_LEGEND = {
    "user": "the user wrote",
    "think": "thinking",
    "text": "text for the user",
    "done": "call: success",
    "failed": "call: failure",
    "open": "call: no result in the log",
    "other": "anything else in the log",
}
_COLOUR_OF_TEXT = {"user": "user", "think": "think", "respond": "text"}

_WAITING = "A thin line before a bar: it is the model's turn, and the log has nothing from it yet."
_SEVERAL = (
    "Hatched: the log has when a batch began and when its last tool was done, "
    "not how long each call took."
)
_EARLY = (
    "A bar that begins while the model still writes is that of a call without effect outside: such calls need not wait "
    "for the rest of their batch."
)
_TEXT = (
    'A bar of text begins with its first piece. With stream="event", and in cogency 3.3.0, '
    "text comes whole: it was written before its bar."
)
_TEXT_BEFORE_CALLS = (
    "Text before calls is saved together with them: its bar ends when they were written too."
)
_UNDATED = (
    "How long things took is not drawn, since the ids of these rows do not give the times. "
    "Marks show when each began."
)


def draw(conversation_id: str, turns: Sequence[LoggedTurn], *, of: int) -> str:
    """Draw turns of a conversation, one below the other, each with its own clock.

    Args:
        conversation_id: the conversation's id, for the title.
        turns: the turns to draw; at least one.
        of: how many turns the conversation has.

    Returns:
        An SVG document that needs no other file.
    """
    panels = [_Panel(turn, of) for turn in turns]
    marks = [mark for panel in panels for mark in panel.marks]
    svg = _Svg()
    y: float = EDGE + 16
    title = f"conversation {one_line(conversation_id)}"
    svg.text(NAMES, y, title, "ink big", columns=90, size=16)
    y += 22
    for panel in panels:
        y = panel.draw(svg, y)
    y = _legend(svg, y + 14, marks)
    for note in _notes(marks, dated=turns[0].dated):
        svg.text(NAMES, y, note, "soft", size=11)
        y += 17
    calls = [call for turn in turns for call in turn.calls]
    summary = f"{count(len(turns), 'turn')}, {_summary(calls)}"
    return svg.document(title, summary, int(y + EDGE - 10))


@dataclass
class _Mark:
    """One line of a panel.

    Attributes:
        name: its upper line of text.
        detail: its lower line of text.
        whole: everything known about it, shown when the pointer is on it.
        colour: a key of `_LEGEND`.
        waited: the beginning and end of the wait for the model; `None` if there was none.
        ended: its end; `None` if it has no duration, or an unknown one.
        hatched: whether it took no longer than its bar, and perhaps less.
        early: whether it is a call that began before its batch was complete.
    """

    name: str
    detail: str
    whole: str
    colour: str
    waited: tuple[float, float] | None
    began: float
    ended: float | None
    hatched: bool = False
    early: bool = False


class _Panel:
    """One turn: a heading, a clock, and its lines."""

    def __init__(self, turn: LoggedTurn, of: int) -> None:
        self._turn = turn
        self._of = of
        self._lines: list[_Mark | LoggedBatch] = []  # a batch of several calls is above their marks
        before: float | None = None
        for entry in turn.entries:
            if isinstance(entry, LoggedText):
                self._lines.append(_text_mark(entry, before))
            else:
                if len(entry.calls) > 1:
                    self._lines.append(entry)
                self._lines += _calls(entry, before)
            before = (entry.ended or entry.began) if turn.dated else None

    @property
    def marks(self) -> list[_Mark]:
        """The marks to draw, without the lines above batches."""
        return [line for line in self._lines if isinstance(line, _Mark)]

    def draw(self, svg: _Svg, y: float) -> float:
        """Draw the panel below `y`; returns where it ends."""
        turn, span = self._turn, self._turn.ended - self._turn.began
        y += 20
        facts = [f"turn {turn.number} of {self._of}", moment(turn.began, zone=True)]
        if span:
            facts.append(duration(span))
        if turn.calls:
            facts.append(_summary(turn.calls))
        svg.text(NAMES, y, "   ".join(facts), "soft", size=13)
        y += 34
        top, bottom = y, y + sum(map(_height, self._lines))
        scale = _Scale(turn.began, span)
        for line in self._lines:
            if isinstance(line, LoggedBatch):
                height = HEAD + LINE * len(line.calls)
                svg.box(NAMES - 12, y + 2, WIDTH - 2 * (NAMES - 12), height - 4, "band", radius=6)
            y += _height(line)
        for seconds in scale.ticks() if span else [0.0]:
            x = scale.x(turn.began + seconds)
            svg.rule(x, top - 6, bottom, "grid")
            svg.text(x, top - 12, _tick(seconds), "soft", size=11, anchor="middle")
        y = top
        for line in self._lines:
            if isinstance(line, LoggedBatch):
                _head(svg, scale, y, line)
            else:
                _line(svg, scale, y, line)
            y += _height(line)
        return bottom + 8


def _height(line: _Mark | LoggedBatch) -> int:
    return HEAD if isinstance(line, LoggedBatch) else LINE


def _head(svg: _Svg, scale: _Scale, y: float, batch: LoggedBatch) -> None:
    """The line above a batch of several calls: how many, and what they took together."""
    svg.text(
        NAMES,
        y + 19,
        count(len(batch.calls), "call") + " together" * batch.answered,
        "soft",
        size=12,
    )
    if batch.ended is not None:
        svg.bracket(scale.x(batch.first_began), scale.x(batch.ended), y + 15, "soft")
        took = duration(batch.ended - batch.first_began)
        svg.text(DURATIONS_END, y + 19, took, "ink", size=12, anchor="end")


def _line(svg: _Svg, scale: _Scale, y: float, mark: _Mark) -> None:
    svg.open_group(mark.whole)
    columns = floor((NAMES_END - NAMES) / (13 * CHARACTER))
    svg.text(NAMES, y + 17, mark.name, "ink", size=13, columns=columns)
    columns = floor((NAMES_END - NAMES) / (11 * CHARACTER))
    style = "failed" if mark.colour == "failed" else "soft"
    svg.text(NAMES, y + 32, mark.detail, style, size=11, columns=columns)
    middle = y + LINE / 2
    x = scale.x(mark.began)
    if mark.waited is not None and mark.waited[0] < mark.waited[1]:
        svg.line(scale.x(mark.waited[0]), scale.x(mark.waited[1]), middle, "soft")
    if mark.ended is None:
        svg.dot(x, middle, mark.colour, hollow=mark.colour == "open")
    else:
        width = max(scale.x(mark.ended) - x, 3)
        svg.bar(x, middle - BAR / 2, width, BAR, mark.colour, hatched=mark.hatched)
        if mark.colour in {"done", "failed"}:
            took = duration(mark.ended - mark.began)
            took = f"≤ {took}" if mark.hatched else took
            svg.text(DURATIONS_END, middle + 4, took, "ink", size=12, anchor="end")
    svg.close_group()


def _text_mark(entry: LoggedText, before: float | None) -> _Mark:
    colour = _COLOUR_OF_TEXT.get(entry.type, "other")
    return _Mark(
        name=one_line(entry.type),
        detail=" ".join(one_line(entry.content).split()),
        whole="\n".join([entry.type, *first_lines(entry.content, 20)]),
        colour=colour,
        waited=None if before is None or colour in {"user", "other"} else (before, entry.began),
        began=entry.began,
        ended=None if colour in {"user", "other"} else entry.ended,
    )


def _calls(batch: LoggedBatch, before: float | None) -> Iterable[_Mark]:
    several = len(batch.calls) > 1
    for number, call in enumerate(batch.calls):
        colour, detail = _outcome(call)
        name = one_line(call.content) if call.name is None else signature(call.name, call.args)
        began, ended = batch.began, None if call.never_began else batch.ended
        if call.began is not None and call.ended is not None:
            began, ended = call.began, call.ended
        yield _Mark(
            name=name,
            detail=detail,
            whole=f"{name}\n{detail}",
            colour=colour,
            waited=None if before is None or number else (before, batch.began),
            began=began,
            ended=ended,
            hatched=several and ended is not None and call.took is None,
            early=began < batch.began,
        )


def _outcome(call: LoggedCall) -> tuple[str, str]:
    if call.result is None:
        return "open", "no result in the log"
    answer = call.result.get("content") if call.failed else call.result.get("outcome")
    if answer is None:
        answer = call.result.get("content")
    detail = " ".join(one_line(shown(answer)).split())
    if not call.failed:
        return "done", detail
    how = "failed" if call.status in {None, "failure"} else call.status
    return "failed", f"{how}: {detail}"


def _notes(marks: Sequence[_Mark], *, dated: bool) -> Iterable[str]:
    """Notes on what the log does not have, and on what its times mean."""
    texts = any(mark.colour in {"think", "text"} for mark in marks)
    calls = any(mark.colour in {"done", "failed"} for mark in marks)
    notes = {
        _UNDATED: not dated,
        _WAITING: dated and any(mark.waited is not None for mark in marks),
        _SEVERAL: dated and any(mark.hatched for mark in marks),
        _EARLY: dated and any(mark.early for mark in marks),
        _TEXT: dated and texts,
        _TEXT_BEFORE_CALLS: dated and texts and calls,
    }
    columns = floor((WIDTH - 2 * EDGE) / (11 * CHARACTER))
    return [line for note, holds in notes.items() if holds for line in textwrap.wrap(note, columns)]


def _summary(calls: Sequence[LoggedCall]) -> str:
    failed = sum(call.failed for call in calls)
    return f"{count(len(calls), 'call')}, {failed or 'none'} failed"


def _legend(svg: _Svg, y: float, marks: Sequence[_Mark]) -> float:
    """Draw the meaning of the colours in use."""
    bars = {mark.colour: mark.ended is not None for mark in marks}
    x: float = NAMES
    for colour, meaning in _LEGEND.items():
        if colour not in bars:
            continue
        width = 20 + cell_len(meaning) * 11 * CHARACTER + 22
        if x + width > WIDTH - EDGE + 22:
            x, y = NAMES, y + 18
        if bars[colour]:
            svg.bar(x, y - 9, 12, 10, colour, hatched=False)
        else:
            svg.dot(x + 6, y - 4, colour, hollow=colour == "open")
        svg.text(x + 20, y, meaning, "soft", size=11)
        x += width
    return y + 22


# The clock.

_STEPS = (
    *(digit * 10.0**power for power in range(-4, 1) for digit in (1, 2, 5)),
    *(10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0),
    *(3600.0 * hours for hours in (1, 2, 6, 12, 24, 48, 168)),
)
_TICKS = 6


class _Scale:
    """From seconds since the epoch to a place in the plot."""

    def __init__(self, began: float, span: float) -> None:
        self._began, self._span = began, span

    def x(self, time: float) -> float:
        share = (time - self._began) / self._span if self._span else 0.0
        return PLOT + (PLOT_END - PLOT) * min(max(share, 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Round numbers of seconds: the first, and at most `_TICKS` more."""
        step = next((step for step in _STEPS if self._span / step <= _TICKS), self._span / _TICKS)
        return [number * step for number in range(floor(self._span / step + 1e-3) + 1)]


def _tick(seconds: float) -> str:
    if seconds == 0:
        return "0"
    if seconds < 1:
        return f"{seconds * 1000:g} ms"
    if seconds < 60:
        return f"{seconds:g} s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes:g} min" + (f" {rest:g} s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,.0f} h" + (f" {minutes:g} min" if minutes else "")


# Writing.

_NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Svg:
    """The elements of a document, in order."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        content: str,
        style: str,
        *,
        size: int,
        columns: int | None = None,
        anchor: str = "start",
    ) -> None:
        """Write text with its base line at `y`, cut to so many columns."""
        content = _safe(content if columns is None else cut(content, columns))
        if content:
            where = "" if anchor == "start" else f' text-anchor="{anchor}"'
            self._parts.append(
                f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" font-size="{size}"{where}>{content}</text>'
            )

    def box(
        self, x: float, y: float, width: float, height: float, style: str, *, radius: int
    ) -> None:
        """Fill a rectangle."""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" class="{style}"/>'
        )

    def bar(
        self, x: float, y: float, width: float, height: float, colour: str, *, hatched: bool
    ) -> None:
        """Draw a bar."""
        radius = min(3.0, width / 2)
        frame = (
            f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:.1f}"'
        )
        if hatched:
            self._parts.append(
                f'<rect {frame} class="edge {colour}" style="fill: url(#hatch-{colour})"/>'
            )
        else:
            self._parts.append(f'<rect {frame} class="{colour}"/>')

    def dot(self, x: float, y: float, colour: str, *, hollow: bool) -> None:
        """Mark a moment."""
        style = f"edge {colour}" if hollow else colour
        paper = ' fill="none"' if hollow else ""
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"{paper} class="{style}"/>')

    def line(self, x: float, end: float, y: float, style: str) -> None:
        """Draw a thin line from left to right."""
        self._parts.append(
            f'<line x1="{x:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="edge {style}"/>'
        )

    def bracket(self, x: float, end: float, y: float, style: str) -> None:
        """Draw a thin line from left to right that is closed at both ends."""
        self._parts.append(
            f'<path d="M{x:.1f} {y + 6:.1f}V{y:.1f}H{end:.1f}V{y + 6:.1f}" class="edge {style}"/>'
        )

    def rule(self, x: float, y: float, end: float, style: str) -> None:
        """Draw a thin line from top to bottom."""
        self._parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{end:.1f}" class="edge {style}"/>'
        )

    def open_group(self, title: str) -> None:
        """Begin a group whose title is shown when the pointer is on it."""
        self._parts.append(f"<g><title>{_safe(cut(title, POINTED_AT))}</title>")

    def close_group(self) -> None:
        """End it."""
        self._parts.append("</g>")

    def document(self, title: str, summary: str, height: int) -> str:
        """The whole document, with its styles."""
        light = "\n".join(_rule(name, colours[0]) for name, colours in _COLOURS.items())
        dark = "\n".join(_rule(name, colours[1]) for name, colours in _COLOURS.items())
        hatches = "\n".join(map(_hatch, ("done", "failed", "open")))
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                f'viewBox="0 0 {WIDTH} {height}" role="img" font-family="{FONT}">',
                f"<title>{_safe(title)}</title>",
                f"<desc>{_safe(summary)}</desc>",
                "<style>",
                "text { white-space: pre } .big { font-weight: 600 }",
                light,
                "@media (prefers-color-scheme: dark) {",
                dark,
                "}",
                "</style>",
                f"<defs>{hatches}</defs>",
                f'<rect width="{WIDTH}" height="{height}" class="paper"/>',
                *self._parts,
                "</svg>",
                "",
            ]
        )


def _rule(name: str, colour: str) -> str:
    return f".{name} {{ fill: {colour} }} .edge.{name} {{ fill: none; stroke: {colour} }}"


def _hatch(colour: str) -> str:
    return (
        f'<pattern id="hatch-{colour}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="3" height="6" class="{colour}"/></pattern>'
    )


def _safe(text: str) -> str:
    """Text that XML can hold, without characters that control a viewer."""
    return escape(_NO_XML.sub("\ufffd", visible(text)))
