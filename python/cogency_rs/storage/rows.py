"""What a log holds, and is refused if it is anything else: on its way in, and when it is read.

What a storage takes is read again by programs that rely on its types: a prompt, a page, another process. So each value
is checked where it comes in, in every storage alike. And SQLite keeps any value in any column, and other programs may
write to a log, so each cell that is read has the type of its column, or the error says where it has not.

Timestamps rise along a conversation, whatever the clocks of its writers say. The position of a row says where it is.
But cogency, and anyone who reads the tables with SQL, sorts by the timestamp. So a row of ours gets the time at which
it was made, or, if that is not above the times that are there already, one just above them. Then the true time is
stored too, as `written_at`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from math import inf, nextafter
from operator import itemgetter
from typing import Any, NamedTuple, cast

from ..calls.record import ENDS, STATES, CallRecord
from ..errors import StorageError
from ..guards.arguments import check_text, out_of_range, refused
from ..guards.json import read_json
from .log import Part, check_row_type

_LARGEST = 2**63 - 1
"""The largest whole number that every storage holds."""

_TEXTS = ("id", "batch", "name")
_TEXTS_OR_NONE = (
    "server",
    "worker",
    "decision",
    "result",
    "settling",
    "provider_id",
    "digest",
)


def check_saved(
    conversation_id: Any,
    user_id: Any,
    rows: Iterable[Any],
    calls: Iterable[Any],
) -> None:
    """Check what `Log.append` is given.

    Raises:
        ConfigError: a row has a type that is not known, or a number is out of range; an `ArgumentError` if a value has
            a wrong type.
    """
    _check_ids(conversation_id, user_id)
    for row in rows:
        if not isinstance(row, tuple | list) or not 3 <= len(cast("tuple[Any, ...]", row)) <= 4:
            raise refused("a row", row, "a type, a content, a time, and perhaps parts")
        type, content, timestamp, *parts = cast("tuple[Any, ...]", row)
        check_row_type(type)
        check_content(content, timestamp)
        for each in parts:
            _check_parts(each)
    for call in calls:
        _check_call(call)


def check_message(
    conversation_id: Any,
    user_id: Any,
    type: Any,
    content: Any,
    timestamp: Any,
) -> None:
    """Check what `save_message` is given; see `check_saved`. It may leave the time to the log."""
    _check_ids(conversation_id, user_id)
    check_row_type(type)
    check_content(content, 0.0 if timestamp is None else timestamp)


def _check_ids(conversation_id: Any, user_id: Any) -> None:
    check_text("conversation_id", conversation_id)
    check_text("user_id", user_id)


def check_content(content: Any, timestamp: Any) -> None:
    """Check the content and the time of a row."""
    if type(content) is not str or type(timestamp) is not float or not math.isfinite(timestamp):
        check_text("the content of a row", content)
        _check_time("the time of a row", timestamp)


def _check_parts(parts: Any) -> None:
    if not isinstance(parts, tuple | list):
        raise refused("the parts of a row", parts, "a tuple of Part")
    for part in cast("tuple[Any, ...]", parts):
        if not isinstance(part, Part):
            raise refused("a part", part, "a Part")
        check_text("the type of a part", part.type)
        check_text("the media_type of a part", part.media_type)
        data: object = part.data
        if not isinstance(data, bytes):
            raise refused("the data of a part", data, "bytes")
        _check_whole("the place of a part", part.at)


def _check_call(call: Any) -> None:
    if not isinstance(call, CallRecord):
        raise refused("a call", call, "a CallRecord")
    for name in _TEXTS:
        check_text(f"the {name} of a call", getattr(call, name))
    for name in _TEXTS_OR_NONE:
        check_text(f"the {name} of a call", getattr(call, name), or_none=True)
    status: object = call.status
    if not (isinstance(status, str) and status in STATES):
        raise out_of_range("the status of a call", status, "one of `CallStatus`")
    _check_whole("the position of a call", call.position)
    _check_whole("the attempt of a call", call.attempt)
    for name in ("started_at", "completed_at"):
        if (time := getattr(call, name)) is not None:
            _check_time(f"the {name} of a call", time)


def _check_time(name: str, given: Any) -> None:
    if not isinstance(given, int | float) or isinstance(given, bool):
        raise refused(name, given, "seconds since the epoch, a number")
    try:
        is_finite = math.isfinite(given)
    except OverflowError:  # a whole number beyond any float
        is_finite = False
    if not is_finite:
        raise out_of_range(name, given, "a finite number of seconds")


def _check_whole(name: str, given: Any) -> None:
    if not isinstance(given, int) or isinstance(given, bool):
        raise refused(name, given, "a whole number")
    if not 0 <= given <= _LARGEST:
        raise out_of_range(name, given, f"from 0 to {_LARGEST:,}")


END_OF_TIME = 253402300800.0
"""The year 10000. Another program may have written any number, such as milliseconds; above this one, it is ignored."""

STEP = 2.0**-20
"""Seconds between two rows whose times do not rise: about a microsecond, which can be added without rounding."""


def risen(timestamp: float, latest: float) -> float:
    """The timestamp to store for a row.

    Args:
        timestamp: of the row, by the clock of its writer.
        latest: the largest time in its conversation that is below `END_OF_TIME`; negative infinity without a row.
    """
    if timestamp > latest or timestamp != timestamp:  # a storage refuses what is not a number
        return timestamp
    return max(latest + STEP, nextafter(latest, inf))


class CellKind(NamedTuple):
    """What a cell may be.

    Attributes:
        words: that, as an error says it.
        types: the types of Python that it is read as.
        check: what else must be true of a value of these types; `None` for nothing.
    """

    words: str
    types: frozenset[type[Any]]
    check: Callable[[Any], bool] | None = None

    @property
    def or_null(self) -> CellKind:
        """The same, or nothing."""
        check = self.check

        def known(value: Any) -> bool:
            return value is None or check is None or check(value)

        return CellKind(f"{self.words} or NULL", self.types | {type(None)}, known)


TEXT = CellKind("a text", frozenset({str}))
NUMBER = CellKind("a number", frozenset({int, float}), math.isfinite)
WHOLE = CellKind("a whole number", frozenset({int}))
BYTES = CellKind("bytes", frozenset({bytes}))
ANYTHING = CellKind("anything", frozenset({str, int, float, bytes, type(None)}))


class StoredTable:
    """The columns that are read of a table, in the order in which they are read.

    Args:
        name: the table's.
        columns: what the cells of each column may be, by the column's name.

    Attributes:
        columns: those.
    """

    def __init__(self, name: str, /, **columns: CellKind) -> None:
        self.name = name
        self.columns = columns
        self._types = tuple(kind.types for kind in columns.values())
        self._checks = tuple(
            (place, kind.check)
            for place, kind in enumerate(columns.values())
            if kind.check is not None
        )

    def check(self, row: Sequence[Any], key: object) -> None:
        """Check the cells of a row.

        Args:
            row: the cells.
            key: what names the row in the table.

        Raises:
            StorageError: one of them cannot be what it is.
        """
        for value, types in zip(row, self._types, strict=True):
            if type(value) not in types:
                break
        else:
            for place, check in self._checks:
                if not check(row[place]):
                    break
            else:
                return
        raise self._wrong(row, key)

    def checked(
        self, rows: Iterable[Sequence[Any]], key: Callable[[Sequence[Any]], object]
    ) -> Iterable[Sequence[Any]]:
        """The rows, each checked when it is read."""
        for row in rows:
            self.check(row, key(row))
            yield row

    def check_all(self, rows: Iterable[Sequence[Any]], where: str) -> None:
        """Check rows that say nothing of which they are.

        Args:
            rows: the rows.
            where: what names a row, after its place among them.
        """
        for place, row in enumerate(rows):
            self.check(row, f"{place} {where}")

    def _wrong(self, row: Sequence[Any], key: object) -> StorageError:
        for (name, kind), value in zip(self.columns.items(), row, strict=True):
            if type(value) not in kind.types or (kind.check and not kind.check(value)):
                return wrong_cell(self.name, key, name, value, kind.words)
        raise AssertionError("a cell of the row is wrong")


def wrong_cell(table: str, key: object, column: str, value: object, words: str) -> StorageError:
    """The error for a cell that is not what it must be. Its value is shown only if it is short and not secret."""
    what = "NULL" if value is None else _KINDS.get(type(value), type(value).__name__)
    if isinstance(value, int | float):
        what = f"{what} ({value:g})"
    return StorageError(
        f"the log cannot be read: in table {table}, row {key}, the column {column} has {what}, where {words} must be; "
        "another program wrote it, so correct that value or delete the row"
    )


_KINDS: dict[type[Any], str] = {
    str: "another text",
    bytes: "bytes",
    int: "a whole number",
    float: "a number",
}

MESSAGES = StoredTable(
    "messages", rowid=WHOLE, type=TEXT, content=TEXT, timestamp=ANYTHING, written_at=ANYTHING
)
LOADED = StoredTable("messages", type=TEXT, content=TEXT, timestamp=ANYTHING)
ASKED = StoredTable("messages", timestamp=ANYTHING, content=TEXT)
SAID = StoredTable("messages", content=TEXT)
FOUND = StoredTable("messages", content=TEXT, timestamp=ANYTHING, conversation_id=TEXT)
OWNERS = StoredTable("messages", user_id=TEXT)
LISTED = StoredTable("messages", conversation_id=TEXT, user_id=TEXT)
PARTS = StoredTable(
    "cogency_rs_parts", number=WHOLE, type=TEXT, media_type=TEXT, data=BYTES, at=WHOLE
)
CALLS = StoredTable(
    "calls",
    call_id=TEXT,
    batch=TEXT,
    position=WHOLE,
    name=TEXT,
    server=TEXT.or_null,
    status=TEXT,  # a record says which it may be
    attempt=WHOLE,
    started_at=NUMBER.or_null,
    completed_at=NUMBER.or_null,
    worker=TEXT.or_null,
    decision=TEXT.or_null,
    result=TEXT.or_null,
    settling=TEXT.or_null,
    provider_id=TEXT.or_null,
    digest=TEXT.or_null,
)
CALL_COLUMNS = ", ".join(CALLS.columns)
"""In the order of `CallRecord`."""

IS_OPEN = f"status NOT IN {tuple(sorted(ENDS))}"
"""Whether a call is not settled, in SQL."""

CLAIMS = StoredTable(
    "claims", number=WHOLE, owner=TEXT.or_null, expires_at=NUMBER, worker=TEXT, machine=TEXT
)
EVENTS = StoredTable("events", content=TEXT)
PROFILES = StoredTable("profiles", data=TEXT)
VERSIONS = StoredTable("cogency_rs_version", version=WHOLE)


def time_of(value: Any) -> float:
    """The time of a message. No time decides anything, so one that no clock shows is 0, and its row stays readable."""
    is_time = type(value) in NUMBER.types and math.isfinite(value)
    return value if is_time else 0.0


def shown(found: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows as a page has them: of position, type, content, timestamp, and another time or `None`.

    Raises:
        StorageError: a cell of one of them has another type than its column.
    """
    rows = MESSAGES.checked(found, itemgetter(0))
    return [
        {"type": type, "content": content, "timestamp": time_of(timestamp), "position": position}
        if written_at is None
        else {
            "type": type,
            "content": content,
            "timestamp": time_of(timestamp),
            "position": position,
            "written_at": time_of(written_at),
        }
        for position, type, content, timestamp, written_at in rows
    ]


def call_of(row: Sequence[Any]) -> CallRecord:
    """The record of a call, from its row.

    Raises:
        StorageError: one of the cells cannot be what it is.
    """
    record = CallRecord(*row)
    CALLS.check(row, f"{record.id!r} (batch {record.batch!r}, position {record.position!r})")
    return record


class Origin(NamedTuple):
    """Where a forked conversation comes from.

    Attributes:
        conversation_id: the conversation whose rows it began with.
        rows: how many of them.
    """

    conversation_id: str
    rows: int

    def written(self) -> str:
        """As it is stored: a JSON object."""
        return json.dumps({"conversation_id": self.conversation_id, "rows": self.rows})

    @classmethod
    def of(cls, stored: str | None, conversation_id: str) -> Origin | None:
        """Read what `written` wrote of this conversation.

        Raises:
            StorageError: it is something else.
        """
        if stored is None:
            return None
        try:
            found: Any = read_json(stored)
        except ValueError:
            found = None
        match found:
            case {"conversation_id": str(id), "rows": int(rows)}:
                return cls(id, rows)
            case _:
                key = f"'fork' of conversation {conversation_id!r}"
                raise wrong_cell("events", key, "content", stored, "the origin of a fork")
