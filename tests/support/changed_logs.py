"""A log of each kind with a door for other programs, and what it shows of its conversations."""

from __future__ import annotations

import importlib
import importlib.util
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

from cogency_rs import History, Memory, PostgreSQL, SQLite, assemble
from support.postgres_server import ask

__all__ = ["HAS_COGENCY", "Scene", "contents"]

HAS_COGENCY = importlib.util.find_spec("cogency") is not None

WHOLE = History(merge_roles=False)


class _FromScratch:
    """The same rows in a storage of which nothing is kept between two prompts."""

    def __init__(self, log: Any) -> None:
        self._log = log

    async def load_messages(self, conversation: str, user: str, *, limit: int | None) -> Any:
        return (await self._log.read(conversation, user_id=user)).rows


async def contents(log: Any, conversation: str = "c", user: str = "") -> list[str]:
    """What the next prompt shows of a conversation, message by message."""
    messages = await assemble(user, conversation, tools=[], storage=log, history=WHOLE)
    return [message["content"] for message in messages[1:]]


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


class Scene:
    """A log, and other programs that change it.

    Attributes:
        log: the log, from which prompts are made.
        place: its file, its DSN, or nothing for a log in memory.
    """

    def __init__(self, log: Memory | SQLite | PostgreSQL, place: str = "") -> None:
        self.log: Any = log
        self.place = place

    async def sql(self, *statements: str) -> None:
        """Run statements as another program does; `{}` before the name of a table stands for PostgreSQL's schema."""
        if isinstance(self.log, PostgreSQL):
            for statement in statements:
                # Contents may have braces of their own, which `ask` would fill.
                await ask(self.place, "{0}.".join(map(_escaped, statement.split("{}."))))
            return
        with closing(sqlite3.connect(self.place, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement.replace("{}.", ""))

    async def cogency(
        self, conversation: str, user: str, type: str, content: str, time: float
    ) -> None:
        """Append a row to a file as cogency 3.3.0 does."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = importlib.import_module("cogency.lib.sqlite")
        await theirs.SQLite(self.place).save_message(conversation, user, type, content, time)

    def back_up(self, to: Path) -> None:
        """Copy a file as SQLite's shell does with `.backup`."""
        with closing(sqlite3.connect(self.place)) as here, closing(sqlite3.connect(to)) as there:
            here.backup(there)

    def restore(self, of: Path) -> None:
        """Write a backup into the file, as SQLite's shell does with `.restore`."""
        with closing(sqlite3.connect(of)) as there, closing(sqlite3.connect(self.place)) as here:
            there.backup(here)

    def replace_file(self, by: Path) -> None:
        """Move a backup to the place of the file."""
        for end in ("-wal", "-shm"):
            Path(self.place + end).unlink(missing_ok=True)
        by.replace(self.place)

    async def check(self, *conversations: str, user: str = "") -> None:
        """Check that prompts are the same as from all rows."""
        for conversation in conversations:
            found = await contents(self.log, conversation, user)
            expected = await contents(_FromScratch(self.log), conversation, user)
            assert found == expected, (conversation, user)
