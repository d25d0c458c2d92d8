"""Turns as a trace: the JSON of the Trace Event Format, which Perfetto and the browsers' own viewers open.

A conversation is a process. Its threads are the turns, the model, and as many lanes of tools as calls ran at once: a
viewer drops slices of one thread that overlap without one being inside the other, so no thread here has such slices.

The trace has no more than the log has (see `turns`). An entry with a duration is a complete event, with times in
microseconds since the first event; an entry without one, or with an unknown one, is an instant.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from .page import cut
from .text import moment, one_line, shown, visible
from .turns import LoggedBatch, LoggedCall, LoggedText, LoggedTurn

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["trace"]

PROCESS, TURNS, MODEL, TOOLS = (
    1,
    1,
    2,
    3,
)  # the process, and threads in it; each lane of tools has one, from `TOOLS`
LONGEST = 2000
"""Columns of a text among an event's arguments."""

_HALF = re.compile("[\ud800-\udfff]")  # a lone surrogate, which UTF-8 cannot hold


def trace(conversation_id: str, turns: Sequence[LoggedTurn]) -> str:
    """Write turns of a conversation as a trace.

    Args:
        conversation_id: names the process.
        turns: in order; at least one.

    Returns:
        A JSON object with an event on each line.
    """
    events = _Events(began=turns[0].began)
    for turn in turns:
        events.turn(turn)
    named = [
        _named("process_name", PROCESS, f"conversation {one_line(conversation_id)}"),
        *(_named("thread_name", thread, name) for thread, name in events.threads()),
        *(_event("M", "thread_sort_index", n, args={"sort_index": n}) for n, _ in events.threads()),
    ]
    lines = ",\n".join(json.dumps(event, ensure_ascii=False) for event in named + events.found)
    facts = {"began": moment(turns[0].began, zone=True), "times": "microseconds since then"}
    text = f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(facts)}, "traceEvents": [\n{lines}\n]}}\n'
    return _HALF.sub("\ufffd", text)


def _event(phase: str, name: str, thread: int, **fields: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "pid": PROCESS, "tid": thread, **fields}


def _named(what: str, thread: int, name: str) -> dict[str, Any]:
    return _event("M", what, thread, args={"name": name})


class _Events:
    """The events of turns.

    Attributes:
        found: the events so far.
    """

    def __init__(self, *, began: float) -> None:
        self.found: list[dict[str, Any]] = []
        self._began = began
        self._free: dict[int, int] = {}  # by thread, when its last slice ends, in microseconds

    def threads(self) -> list[tuple[int, str]]:
        """The threads that have events, and their names."""
        names = {TURNS: "turns", MODEL: "model"}
        return [(n, names.get(n, f"tools, lane {n - TOOLS + 1}")) for n in sorted(self._free)]

    def turn(self, turn: LoggedTurn) -> None:
        """Add a turn."""
        ended = turn.ended if turn.dated else None
        self._add(f"turn {turn.number}", TURNS, "turn", turn.began, ended, {})
        for entry in turn.entries:
            match entry:
                case LoggedText():
                    self._add_text(entry)
                case LoggedBatch():
                    for call in entry.calls:
                        self._call(call, entry)

    def _add_text(self, entry: LoggedText) -> None:
        from_model = entry.type in {"think", "respond"}
        thread, ended = (MODEL, entry.ended) if from_model else (TURNS, None)
        self._add(entry.type, thread, "text", entry.began, ended, {"text": _text(entry.content)})

    def _call(self, call: LoggedCall, batch: LoggedBatch) -> None:
        began, ended = batch.began, None if call.never_began else batch.ended
        if call.began is not None and call.ended is not None:
            began, ended = call.began, call.ended
        result = call.result or {}
        facts = {
            "id": call.id,
            "name": call.name,
            "status": call.status or shown(result.get("status")) or "no result in the log",
            "arguments": call.content if call.name is None else shown(call.args),
            "outcome": shown(result.get("outcome")),
            "content": shown(result.get("content")),
        }
        if ended is not None and call.took is None:
            facts["duration"] = "of its batch; that of the call is not in the log"
        known = {key: _text(value) for key, value in facts.items() if value}
        thread = self._lane(self._microseconds(began))
        self._add(call.name or "call", thread, "call", began, ended, known)

    def _lane(self, at: int) -> int:
        """The first lane of tools that is free."""
        lane = TOOLS
        while self._free.get(lane, at) > at:
            lane += 1
        return lane

    def _add(
        self,
        name: str,
        thread: int,
        category: str,
        began: float,
        ended: float | None,
        args: dict[str, str],
    ) -> None:
        """Add an event. If the clock was set back, it begins no earlier than the last one of its thread ended."""
        free, at = self._free.get(thread, 0), self._microseconds(began)
        fields: dict[str, Any] = {"cat": category, "args": args}
        name = cut(one_line(name), LONGEST)
        if ended is None:
            self._free[thread] = free
            self.found.append(_event("i", name, thread, ts=at, s="t", **fields))
            return
        at = max(at, free)
        self._free[thread] = max(self._microseconds(ended), at)
        self.found.append(_event("X", name, thread, ts=at, dur=self._free[thread] - at, **fields))

    def _microseconds(self, time: float) -> int:
        return max(round((time - self._began) * 1_000_000), 0)


def _text(text: str) -> str:
    return cut(visible(text), LONGEST)
