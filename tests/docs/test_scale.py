"""The SQL that the page on scale tells an operator to run."""

from __future__ import annotations

import re

import pytest

from cogency_rs import PostgreSQL
from support.pages import CHECKOUT

asyncpg = pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")

BLOCKS = re.findall(
    r"^```sql\n(.*?)^```$",
    (CHECKOUT / "docs" / "scale.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


async def test_every_block_runs_while_a_log_is_in_use(dsn, other_connection):
    tables = dsn.partition("&schema=")[2] + "."
    async with PostgreSQL(dsn) as log:
        for name in "abcdef":
            await log.append(name, user_id="u", rows=[("user", "before", 1.0)] * 3)
        cursor = (await log.read("a")).cursor
        assert len(BLOCKS) == 2
        for block in BLOCKS:
            await other_connection.execute(block.replace("cogency.", tables))
        await log.append("a", user_id="u", rows=[("user", "after", 2.0)])
        page = await log.read("a", after=cursor)  # whole, as the table has other triggers
        assert (page.is_whole, len(page.rows)) == (True, 4)
        await log.append("a", user_id="u", rows=[("user", "news", 3.0)])
        page = await log.read("a", after=page.cursor)
        assert (page.is_whole, [row["content"] for row in page.rows]) == (False, ["news"])
        await other_connection.execute(f"DELETE FROM {tables}messages WHERE number = 1")
        page = await log.read("a", after=page.cursor)
        assert page.is_whole
        assert len(page.rows) == 4
        assert [one.rows for one in await log.conversations("u")] == [4, 2, 2, 2, 2, 2]
        assert await log.delete_conversation("a") == 4
    parts = f"SELECT count(DISTINCT tableoid) FROM {tables}messages"
    assert await other_connection.fetchval(parts) == 2
