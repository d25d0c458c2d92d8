"""The log that a command names: the file of a SQLite log, or the DSN of one in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..storage.log import Conversation
from ..storage.postgres.connection import is_dsn
from . import database_log, log
from .stored import Doubtful, Lease, Row
from .text import one_line, quoted

__all__ = [
    "DB",
    "Conversation",
    "Row",
    "State",
    "conversations",
    "named",
    "rows",
    "settling",
    "state",
]

DB = "The log: its file, or the postgresql:// address of its database."


@dataclass(frozen=True)
class State:
    """Which processes work on a log, and which calls are in doubt.

    Attributes:
        leases: the claims that are held.
        doubtful: the calls that have no result, or of which it is not known whether they ended.
    """

    leases: list[Lease]
    doubtful: list[Doubtful]

    @property
    def unknown(self) -> list[Doubtful]:
        """The calls whose outcome is unknown, in conversations that no process has."""
        held = {lease.conversation_id for lease in self.leases}
        return [
            call
            for call in self.doubtful
            if call.status in ("open", "unknown") and call.conversation_id not in held
        ]


def conversations(db: str) -> list[Conversation]:
    """List the conversations of a log, the one with the latest row last.

    Raises:
        UnusableError: there is no log of that name.
        StorageError: it cannot be read at this moment.
    """
    return database_log.conversations(db) if is_dsn(db) else log.conversations(Path(db))


def rows(db: str, conversation_id: str, user_id: str | None = None) -> list[Row]:
    """Read a conversation, in the order in which its rows were committed.

    Args:
        db: the log.
        conversation_id: its id.
        user_id: whose, if several users have a conversation of that id.

    Raises:
        UnusableError: as above; or there is no such conversation, or it is not clear whose is meant.
        StorageError: as above.
    """
    if is_dsn(db):
        return database_log.rows(db, conversation_id, user_id)
    return log.rows(Path(db), conversation_id, user_id)


def state(db: str) -> State:
    """Find out who works on a log, and which calls are in doubt.

    Raises:
        UnusableError: as above.
        StorageError: as above.
    """
    return State(*(database_log.state(db) if is_dsn(db) else log.state(Path(db))))


def named(db: str) -> str:
    """A log's name for messages: never with a password."""
    return database_log.place(db) if is_dsn(db) else db


def settling(db: str, *ids: str) -> str:
    """The command that says what became of a call, as far as it can be typed for a person."""
    log = "DB" if is_dsn(db) else quoted(db)
    return one_line(" ".join(("cogency-rs settle", log, *map(quoted, ids))))
