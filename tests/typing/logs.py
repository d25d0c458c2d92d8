"""What type checkers know of the log: our storages follow the protocol, and so does a class of the user's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, assert_type

from cogency_rs import PostgreSQL, SQLite
from cogency_rs.storage import CallRecord, Conversation, Log, LogPage, Part, Row


class Mine:
    async def append(
        self,
        conversation_id: str,
        *,
        user_id: str,
        rows: Sequence[Row],
        calls: Sequence[CallRecord] = (),
    ) -> None: ...

    async def read(
        self, conversation_id: str, *, user_id: str = "", after: str | None = None
    ) -> LogPage:
        return LogPage([], "", is_whole=True)

    async def owner(self, conversation_id: str) -> str | None:
        return None

    async def calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        return []

    @asynccontextmanager
    async def claim(self, conversation_id: str, *, wait: bool = True) -> AsyncGenerator[None, None]:
        yield


async def uses(log: Log) -> None:
    async with log.claim("c", wait=False):
        await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
        part = Part("image", "image/png", b"", 0)
        await log.append("c", user_id="u", rows=[("user", "look: ", 2.0, (part,))])
    page = await log.read("c")
    assert_type(page.rows, list[dict[str, Any]])
    assert_type(page.cursor, str)
    for call in await log.calls("c"):
        assert_type(call.completed_at, float | None)


async def main() -> None:
    await uses(Mine())
    async with SQLite(":memory:") as log:
        await uses(log)
        assert_type(await log.conversations(), list[Conversation])
        async with log.claim("c") as claim:
            assert_type(claim.number, int)
    async with PostgreSQL("postgresql://") as log:
        await uses(log)
