"""A SQLite log as a whole, to be copied from or to; see `../copying.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..copying import Rows, SqlArchive, check_rows
from ..queries import Query, Statement, find
from .log import SQLite
from .queries import run_query

T = TypeVar("T")

_COUNT = "SELECT COUNT(*) FROM messages WHERE conversation_id = $1"
_ADD_ROW = """
    INSERT INTO messages (conversation_id, message_id, user_id, type, content, timestamp, written_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""


class FileArchive(SqlArchive):
    """A SQLite log that is copied.

    Args:
        path: its file; it is created if missing.
    """

    def __init__(self, path: str) -> None:
        self._log = SQLite(path)
        self._file = self._log._database  # pyright: ignore[reportPrivateUsage]  (ours)

    async def _ask(self, query: Callable[..., Query[T]], *values: Any) -> T:
        return await self._file.read(lambda connection: run_query(connection, query(*values)))

    async def _change(self, query: Callable[..., Query[T]], *values: Any) -> T:
        return await self._file.write(lambda connection: run_query(connection, query(*values)))

    def _add_messages(self, conversation_id: str, new: Rows, rows_there: int) -> Query[None]:
        [(count,)] = yield from find(_COUNT, conversation_id)
        check_rows(conversation_id, count, rows_there)
        yield Statement(_ADD_ROW, many=[(conversation_id, *row) for row in new])

    async def close(self) -> None:
        """Close the file."""
        await self._log.close()
