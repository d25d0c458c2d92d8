"""Reads the rows of a database: each cell has the type of its column, or the error says where it has not.

SQLite keeps any value in any column, and other programs may write to a file. What passes here is what the rest of the
package may rely on: so no run, no command and no prompt meets bytes where a text is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..calls.record import CallRecord
from ..errors import StorageError

__all__ = [
    "ASKED",
    "CALLS",
    "CLAIMS",
    "EVENTS",
    "FOUND",
    "LISTED",
    "LOADED",
    "MESSAGES",
    "OWNERS",
    "PARTS",
    "PROFILES",
    "REVISIONS",
    "SAID",
    "VERSIONS",
    "Table",
    "call_of",
    "time_of",
    "wrong_cell",
]


class Kind(NamedTuple):
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
    def or_null(self) -> Kind:
        """The same, or nothing."""
        check = self.check

        def known(value: Any) -> bool:
            return value is None or check is None or check(value)

        return Kind(f"{self.words} or NULL", self.types | {type(None)}, known)


TEXT = Kind("a text", frozenset({str}))
NUMBER = Kind("a number", frozenset({int, float}), math.isfinite)
WHOLE = Kind("a whole number", frozenset({int}))
BYTES = Kind("bytes", frozenset({bytes}))
ANYTHING = Kind("anything", frozenset({str, int, float, bytes, type(None)}))


class Table:
    """The columns that are read of a table, in the order in which they are read.

    Args:
        name: the table's.
        columns: what the cells of each column may be, by the column's name.
    """

    def __init__(self, name: str, /, **columns: Kind) -> None:
        self.name = name
        self._columns = columns
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
        for (name, kind), value in zip(self._columns.items(), row, strict=True):
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

MESSAGES = Table(
    "messages", type=TEXT, content=TEXT, timestamp=ANYTHING, rowid=WHOLE, written_at=ANYTHING
)
LOADED = Table("messages", type=TEXT, content=TEXT, timestamp=ANYTHING)
ASKED = Table("messages", timestamp=ANYTHING, content=TEXT)
SAID = Table("messages", content=TEXT)
FOUND = Table("messages", content=TEXT, timestamp=ANYTHING, conversation_id=TEXT)
OWNERS = Table("messages", user_id=TEXT)
LISTED = Table("messages", conversation_id=TEXT, user_id=TEXT)
PARTS = Table("cogency_rs_parts", number=WHOLE, type=TEXT, media_type=TEXT, data=BYTES, at=WHOLE)
CALLS = Table(
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
CLAIMS = Table(
    "claims", number=WHOLE, owner=TEXT.or_null, expires_at=NUMBER, worker=TEXT, machine=TEXT
)
EVENTS = Table("events", content=TEXT)
PROFILES = Table("profiles", data=TEXT)
REVISIONS = Table("cogency_rs_revisions", revision=WHOLE)
VERSIONS = Table("cogency_rs_version", version=WHOLE)


def time_of(value: Any) -> float:
    """The time of a message. No time decides anything, so one that no clock shows is 0, and its row stays readable."""
    is_time = type(value) in NUMBER.types and math.isfinite(value)
    return value if is_time else 0.0


def call_of(row: Sequence[Any]) -> CallRecord:
    """The record of a call, from its row.

    Raises:
        StorageError: one of the cells cannot be what it is.
    """
    record = CallRecord(*row)
    CALLS.check(row, f"{record.id!r} (batch {record.batch!r}, position {record.position!r})")
    return record
