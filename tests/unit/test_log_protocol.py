"""The tests of the protocol `Log`: our storages pass them, so does a small one made of dicts, and faulty ones fail."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Memory, SQLite
from cogency_rs.errors import ConfigError
from cogency_rs.storage import LogPage
from cogency_rs.testing import LogConformance
from support.memory_log import MemoryLog


class TestSQLiteOnDisk(LogConformance):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    async def make_log(self) -> SQLite:
        return SQLite(self.path, synchronous="OFF")

    async def reopen(self, log: SQLite) -> SQLite:
        return SQLite(log.db_path)

    async def lose_claim(self, log: SQLite, conversation_id: str) -> None:
        with closing(sqlite3.connect(log.db_path, isolation_level=None)) as other_connection:
            other_connection.execute("UPDATE claims SET owner = 'another', number = number + 1")

    async def delete_row(self, log: SQLite, content: str) -> None:
        await self._run(log, "DELETE FROM messages WHERE content = ?", content)

    async def change_row(self, log: SQLite, content: str, new: str) -> None:
        await self._run(log, "UPDATE messages SET content = ? WHERE content = ?", new, content)

    async def _run(self, log: SQLite, statement: str, *values: str) -> None:
        with closing(sqlite3.connect(log.db_path, isolation_level=None)) as other_connection:
            other_connection.execute(statement, values)


class TestSQLiteInMemory(LogConformance):
    async def make_log(self) -> SQLite:
        return SQLite(":memory:")


class TestMemory(LogConformance):
    async def make_log(self) -> MemoryLog:
        return MemoryLog()

    async def reopen(self, log: MemoryLog) -> MemoryLog:
        return log

    async def lose_claim(self, log: MemoryLog, conversation_id: str) -> None:
        log.lose_claim(conversation_id)


# Logs with a fault that the tests must find


class Forgets(MemoryLog):
    def append(self, conversation_id: str, *, rows: Any, **options: Any) -> Any:
        return super().append(conversation_id, rows=rows[:-1], **options)


class HalfSaves(MemoryLog):
    def append(self, conversation_id: str, *, rows: Any, calls: Any = (), **options: Any) -> Any:
        for row in rows:
            saved = super().append(conversation_id, rows=[row], **options)
        return super().append(conversation_id, rows=[], calls=calls, **options) if calls else saved


class ForgetsUsers(MemoryLog):
    async def owner(self, conversation_id: str) -> str | None:
        return None if await super().owner(conversation_id) is None else ""


class OwnedByTheLast(MemoryLog):
    """Counts the last row as the first one."""

    async def owner(self, conversation_id: str) -> str | None:
        users = [entry.user_id for entry in await self.conversations()]
        return users[0] if users else None


class ForgetsCalls(MemoryLog):
    def append(self, conversation_id: str, *, calls: Any = (), **options: Any) -> Any:
        return super().append(conversation_id, **options)


class NeverWhole(MemoryLog):
    async def read(self, *args: Any, **options: Any) -> Any:
        return (await super().read(*args, **options))._replace(is_whole=False)


class Altered(MemoryLog):
    """Alters the rows that are read."""

    def alter(self, rows: list[dict[str, Any]]) -> None:
        raise NotImplementedError

    async def read(self, *args: Any, **options: Any) -> Any:
        page = await super().read(*args, **options)
        self.alter(page.rows)
        return page


class ByTime(Altered):
    def alter(self, rows: list[dict[str, Any]]) -> None:
        rows.sort(key=lambda row: row.get("written_at", row["timestamp"]))


class WithoutPositions(Altered):
    def alter(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["position"] = 1


class KeepsTimes(Altered):
    def alter(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["timestamp"] = row.pop("written_at", row["timestamp"])


class ForgetsParts(Altered):
    def alter(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row.pop("parts", None)


class CountsRows(MemoryLog):
    """Its cursor says how many rows there were, and not which."""

    async def read(self, conversation_id: str, *, after: str | None = None, **options: Any) -> Any:
        page = await super().read(conversation_id, **options)
        known = 0 if after is None else int(after)
        known = known if known <= len(page.rows) else 0
        return LogPage(page.rows[known:], str(len(page.rows)), is_whole=not known)


class AlwaysFree(MemoryLog):
    def claim(self, conversation_id: str, *, wait: bool = True) -> Any:
        return Memory().claim(conversation_id, wait=wait)


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Forgets, "test_rows_come_back_as_they_were_saved"),
        (HalfSaves, "test_half_a_character_is_refused_and_nothing_is_written"),
        (ForgetsCalls, "test_a_call_is_saved_with_its_row_and_settled_with_its_result"),
        (NeverWhole, "test_a_conversation_that_began_anew_is_whole"),
        (ByTime, "test_rows_come_in_the_order_of_their_commits_whatever_the_clocks_say"),
        (WithoutPositions, "test_rows_come_in_the_order_of_their_commits_whatever_the_clocks_say"),
        (KeepsTimes, "test_rows_come_in_the_order_of_their_commits_whatever_the_clocks_say"),
        (ForgetsParts, "test_the_parts_of_a_row_come_back_with_it"),
        (ForgetsUsers, "test_a_conversation_belongs_to_the_user_of_its_first_row"),
        (OwnedByTheLast, "test_a_conversation_belongs_to_the_user_of_its_first_row"),
        (CountsRows, "test_a_conversation_that_began_anew_with_as_many_rows_is_whole"),
        (AlwaysFree, "test_a_caller_that_does_not_wait_gets_a_busy_error"),
    ],
)
def test_a_storage_that_does_not_keep_the_protocol_fails(fault: type[MemoryLog], test: str) -> None:
    class Faulty(LogConformance):
        async def make_log(self) -> MemoryLog:
            return fault()

    with pytest.raises((AssertionError, ConfigError)):
        getattr(Faulty(), test)()
