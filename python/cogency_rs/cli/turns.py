"""Rows of the log to turns: what was said, which calls ran together, and how long things took.

A turn begins with what the user wrote and ends before the user writes again; the model may speak several times in it.

What the log holds of time, and what follows from it:

- A row of text is dated when its first piece came, or with `stream="event"` when it was complete. It is saved when
  something of another kind comes, or the model is done.
- A row of results is dated when its batch was handed to the tools, and saved when the last of them was done. So the
  rows say how long a batch took, and of a call in it only that it took no longer.
- When each call began and ended is in the table of calls. Old logs, and those of plain cogency, have none.
- When a row was saved is in its id. Ids of another kind, or those of rows that were copied later, say nothing; then no
  end is known.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, TypeGuard, cast, overload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..storage.log import CallStatus
    from .stored import Row

__all__ = ["Entry", "LoggedBatch", "LoggedCall", "LoggedText", "LoggedTurn", "turns_of"]

_SLACK = 1.0
"""Seconds that a clock may be set back, or a save wait, before its times are not believed."""


@dataclass
class LoggedText:
    """A row that is text: `type` is `user`, `think`, `respond`, or whatever else somebody logged.

    Attributes:
        began: its timestamp, in seconds since the epoch.
        ended: when it was saved, or when the next entry began if that was earlier; `None` if it is not known.
    """

    type: str
    content: str
    began: float
    ended: float | None


@dataclass
class LoggedCall:
    """A call and its result.

    Attributes:
        name: of the tool; `None` if the row is no call that can be read.
        args: what it was called with.
        content: the row as it is.
        timestamp: when the call was known.
        result: the item of the results array, or `None` if the log has none.
        began: when it began to be carried out; `None` if the log does not say, or it never was.
        ended: when its result was there; `None` if the log does not say.
        status: how it ended, if the log says; finer than that of the result.
        id: the call's own, if the log says.
    """

    name: str | None
    args: dict[str, Any]
    content: str
    timestamp: float
    result: dict[str, Any] | None = None
    began: float | None = None
    ended: float | None = None
    status: CallStatus | None = None
    id: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the result is a failure."""
        return self.result is not None and self.result.get("status") == "failure"

    @property
    def took(self) -> float | None:
        """Seconds from its beginning to its end; `None` if the log does not say."""
        return None if self.began is None or self.ended is None else self.ended - self.began

    @property
    def never_began(self) -> bool:
        """Whether the log says that it was never carried out."""
        return self.began is None and self.ended is not None


@dataclass
class LoggedBatch:
    """Calls that ran together.

    Attributes:
        began: when they were handed to the tools; without results, when the last of them was known.
        ended: when the last tool was done; `None` if it is not known.
    """

    calls: list[LoggedCall]
    began: float
    ended: float | None

    @property
    def answered(self) -> bool:
        """Whether the log has the results."""
        return self.calls[0].result is not None


Entry = LoggedText | LoggedBatch


@dataclass
class LoggedTurn:
    """A turn.

    Attributes:
        number: from 1.
        dated: whether its rows say when they were saved.
    """

    number: int
    dated: bool
    entries: list[Entry] = field(default_factory=list[Entry])

    @property
    def began(self) -> float:
        """When its first entry began."""
        return min(entry.began for entry in self.entries)

    @property
    def ended(self) -> float:
        """The latest time that the log has of it."""
        return max(entry.began if entry.ended is None else entry.ended for entry in self.entries)

    @property
    def calls(self) -> list[LoggedCall]:
        """The calls of all its batches, in order."""
        return [
            call for entry in self.entries if isinstance(entry, LoggedBatch) for call in entry.calls
        ]


def turns_of(rows: Sequence[Row]) -> Sequence[LoggedTurn]:
    """Put a conversation together, of all its rows in order.

    Complexity:
        Linear in the rows, of which only types and times are read. What a turn says is put together when the turn is
        asked for, at a cost that is linear in its own rows.
    """
    return _Turns(rows)


class _Turns(Sequence[LoggedTurn]):
    """Turns that are made when they are asked for, so that the first can be shown before the last is put together."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._dated = _are_dated(rows)
        self._starts = [n for n, row in enumerate(rows) if row.type == "user" or not n]

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> LoggedTurn: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LoggedTurn]: ...
    def __getitem__(self, index: int | slice) -> LoggedTurn | Sequence[LoggedTurn]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._turn(number) for number in numbers]
        return self._turn(numbers)

    def _turn(self, number: int) -> LoggedTurn:
        start, *end = self._starts[number : number + 2]
        rows = self._rows[start : end[0] if end else None]
        if not self._dated:
            rows = [row._replace(saved=None) for row in rows]
        entries = _entries(rows)
        for entry, after in zip(entries, [*entries[1:], None], strict=True):
            if entry.ended is not None:
                latest = entry.ended if after is None else min(entry.ended, after.began)
                entry.ended = max(latest, entry.began)
        return LoggedTurn(number + 1, self._dated, entries)


def _are_dated(rows: Sequence[Row]) -> bool:
    """Tell whether the rows were saved while the conversation went on, each before what came of it."""
    after: Row | None = None
    deadline = inf
    for row in reversed(rows):
        if row.type == "call":
            if after is None or after.type != "call":
                deadline = row.timestamp if after is None else after.timestamp
        elif row.type in {"user", "result"} and after is not None:
            deadline = after.timestamp
        else:
            deadline = inf
        if row.saved is None or not row.timestamp - _SLACK <= row.saved <= deadline + _SLACK:
            return False
        after = row
    return True


def _entries(rows: Iterable[Row]) -> list[Entry]:
    """What the rows of a turn say, where it was said; calls stand where their results do."""
    entries: list[Entry] = []
    waiting: list[LoggedBatch] = []
    for row in rows:
        if row.type == "call":
            if not waiting or entries[-1] is not waiting[-1]:
                waiting.append(LoggedBatch([], 0.0, None))
                entries.append(waiting[-1])
            waiting[-1].calls.append(_call(row))
            waiting[-1].began = max(waiting[-1].began, row.saved or row.timestamp)
        elif row.type == "result" and (calls := _answered(row, waiting)):
            for batch in waiting:
                batch.calls = [call for call in batch.calls if call.result is None]
            entries.append(_batch(calls, max(row.timestamp, waiting[-1].began), row.saved))
            waiting = []
        else:
            entries.append(LoggedText(row.type, _text_of(row), row.timestamp, row.saved))
    return [entry for entry in entries if isinstance(entry, LoggedText) or entry.calls]


def _text_of(row: Row) -> str:
    """What a row says. A row of output that could not be read says what was wrong, and what the model had written."""
    if row.type != "error":
        return row.content
    try:
        error: Any = json.loads(row.content)
        return f"{error['kind']}: {error['content']}\n{error['raw']}".rstrip()
    except (ValueError, TypeError, KeyError):
        return row.content


def _batch(calls: list[LoggedCall], began: float, ended: float | None) -> LoggedBatch:
    """A batch with its results. Times of its calls that are not within its own are not believed."""
    for call in calls:
        if call.took is not None and not _is_within(call, began, ended):
            call.began = call.ended = None
    return LoggedBatch(calls, began, ended)


def _is_within(call: LoggedCall, began: float, ended: float | None) -> bool:
    """Whether a call was carried out between these times, as far as clocks can be believed."""
    if call.began is None or call.ended is None or ended is None:
        return False
    return began - _SLACK <= call.began <= call.ended <= ended + _SLACK


def _answered(row: Row, waiting: Sequence[LoggedBatch]) -> list[LoggedCall]:
    """Give the last of the waiting calls their results; none if these are results of something else."""
    results = _json(row.content)
    if not _is_objects(results):
        return []
    calls = [call for batch in waiting for call in batch.calls]
    calls = calls[max(len(calls) - len(results), 0) :]
    pairs = list(zip(calls, results, strict=False))
    if len(calls) < len(results) or any(
        call.name not in {None, result.get("tool")} for call, result in pairs
    ):
        return []
    for call, result in pairs:
        call.result = result
    return calls


def _is_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(
        isinstance(item, dict) for item in cast("list[Any]", value)
    )


def _call(row: Row) -> LoggedCall:
    content = _json(row.content)
    call = LoggedCall(None, {}, row.content, row.timestamp)
    if (
        _is_objects([content])
        and isinstance(content.get("name"), str)
        and _is_objects([content.get("args")])
    ):
        call.name, call.args = content["name"], content["args"]
    if row.call is not None:
        call.began, call.ended = row.call.started_at, row.call.completed_at
        call.status, call.id = row.call.status, row.call.id
    return call


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (
        ValueError,
        RecursionError,
    ):  # no JSON, an integer too long for Python, or nested too deep
        return None
