"""Turns the rows of a log into turns: their texts, the calls that ran together, and how long they took.

A turn begins with a message of the user and ends before the next one; the model may answer several times in it.

The times in the log, and what follows from them:

- The timestamp of a row of text is the time of its first piece, or with `stream="event"` the time when it was complete.
  The row is saved when an event of another type comes, or the model is done.
- The timestamp of a row of results is the time when its batch was handed to the tools. The row is saved when the last
  tool was done. So the rows say how long a batch took, and that no call in it took longer.
- The table of calls has the beginning and end of each call. Old logs, and those of plain cogency, have no such table.
- The id of a row has the time when it was saved. Ids of another version, or of rows that were copied later, do not say
  it; then no end is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, TypeGuard, cast, overload

from ..guards.json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..calls.record import CallStatus
    from .stored import Row

__all__ = ["Entry", "LoggedBatch", "LoggedCall", "LoggedText", "LoggedTurn", "turns_of"]

_SLACK = 1.0
"""Seconds by which a clock may be set back, or a save may wait, before its times are not trusted."""


@dataclass
class LoggedText:
    """A row that is text: `type` is `user`, `think`, `respond`, or any other type that was logged.

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
        name: the name of the tool; `None` if the row is not a call that can be read.
        args: the arguments.
        content: the content of the row.
        timestamp: when the call was known.
        result: the item of the results array, or `None` if the log does not have it.
        began: when it started; `None` if the log does not say, or it never started.
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
        """Whether the log says that it never started."""
        return self.began is None and self.ended is not None


@dataclass
class LoggedBatch:
    """Calls that ran together.

    Attributes:
        began: when the batch was complete; without results, when the last of its calls was known. Calls may have begun
            before, while the model wrote the rest.
        ended: when the last tool was done; `None` if it is not known.
    """

    calls: list[LoggedCall]
    began: float
    ended: float | None

    @property
    def first_began(self) -> float:
        """When the first of its calls began, or the batch did."""
        return min([self.began, *(call.began for call in self.calls if call.began is not None)])

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
    """Put the turns of a conversation together, from all its rows in order.

    Complexity:
        Linear in the rows, of which only types and times are read. The content of a turn is put together when the turn
        is asked for, at a cost that is linear in its own rows.
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
    """Whether the rows were saved while the conversation went on, each before the next entry."""
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
    """The entries of a turn's rows, in order; calls are where their results are."""
    entries: list[Entry] = []
    waiting: list[LoggedBatch] = []
    asked = -inf  # when it became the model's turn
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
            began = max(row.timestamp, waiting[-1].began)
            entries.append(_batch(calls, began, row.saved, min(asked, began)))
            waiting = []
        else:
            entries.append(LoggedText(row.type, _text_of(row), row.timestamp, row.saved))
        if row.type in {"user", "result"}:
            asked = row.saved or row.timestamp
    return [entry for entry in entries if isinstance(entry, LoggedText) or entry.calls]


def _text_of(row: Row) -> str:
    """The text of a row. For output that could not be read, that is the report and the model's own text."""
    if row.type != "error":
        return row.content
    try:
        error: Any = read_json(row.content)
        why = f" ({error['why']})" if error.get("why") else ""
        return f"{error['kind']}: {error['content']}{why}\n{error['raw']}".rstrip()
    except (ValueError, TypeError, KeyError, AttributeError):
        return row.content


def _batch(calls: list[LoggedCall], began: float, ended: float | None, asked: float) -> LoggedBatch:
    """A batch with its results. Times of calls from before the model's turn, or after its end, are not trusted."""
    for call in calls:
        if call.took is not None and not _is_within(call, asked, ended):
            call.began = call.ended = None
    return LoggedBatch(calls, began, ended)


def _is_within(call: LoggedCall, began: float, ended: float | None) -> bool:
    """Whether a call ran between these times, as far as clocks can be trusted."""
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
        return read_json(text)
    except ValueError:
        return None
