"""A turn as lines of text: a bar for each call and each text, from when it began to when it ended."""

from __future__ import annotations

from rich.text import Text

from ..page import KINDS, STATES, Page, cut
from ..text import count, duration, one_line
from ..turns import LoggedBatch, LoggedCall, LoggedText, LoggedTurn

__all__ = ["chart"]

_CLOCK = 10  # columns of durations


def chart(page: Page, turn: LoggedTurn) -> None:
    """Write a turn on a page."""
    _Chart(page, turn).write()


class _Chart:
    def __init__(self, page: Page, turn: LoggedTurn) -> None:
        self._page = page
        self._turn = turn
        self._label = min(16, page.width // 4)  # columns of names
        self._columns = page.width - self._label - _CLOCK - 2
        self._span = max(turn.ended - turn.began, 1e-9)

    def write(self) -> None:
        turn = self._turn
        calls = turn.calls
        failed = sum(call.failed for call in calls)
        facts = f"turn {turn.number}, {duration(self._span)}, {count(len(calls), 'call')}, {failed} failed"
        self._page.hanging(Text("  "), facts, "dim")
        for entry in turn.entries:
            match entry:
                case LoggedText():
                    self._bar(entry.type, entry.began, entry.ended, KINDS.get(entry.type, ""))
                case LoggedBatch():
                    for call in entry.calls:
                        self._call(call, entry)

    def _call(self, call: LoggedCall, batch: LoggedBatch) -> None:
        style = "red" if call.failed else STATES.get(call.status or "", "green")
        began, ended = call.began, call.ended
        if began is None or ended is None:  # the log knows only when the batch ran
            began, ended = batch.began, batch.ended
        self._bar(call.name or "call", began, ended, style)

    def _bar(self, label: str, began: float, ended: float | None, style: str) -> None:
        start = min(self._column(began), self._columns - 1)
        end = start + 1 if ended is None else max(self._column(ended), start + 1)
        took = "" if ended is None else duration(ended - began)
        name = cut(one_line(label), self._label - 2)
        line = Text.assemble("  ", f"{name:<{self._label}}", " " * start)
        line.append(("·" if ended is None else "━") * (end - start), style)
        self._page.line(line.append(f"{' ' * (self._columns - end)}{took:>{_CLOCK}}", "dim"))

    def _column(self, time: float) -> int:
        part = (time - self._turn.began) / self._span
        return round(min(max(part, 0), 1) * self._columns)
