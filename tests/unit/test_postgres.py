"""The log in PostgreSQL: the protocol, and what is its own."""

from __future__ import annotations

import asyncpg
import pytest

from cogency_rs import PostgreSQL
from cogency_rs.testing import LogConformance

pytestmark = pytest.mark.timeout(120)


async def change(dsn: str, statement: str, *values: object) -> list[tuple[object, ...]]:
    """Run a statement on the tables, from elsewhere; `{}` stands for the schema."""
    address, _, schema = dsn.partition("&schema=")
    elsewhere = await asyncpg.connect(address)
    try:
        return [tuple(row) for row in await elsewhere.fetch(statement.format(schema), *values)]
    finally:
        await elsewhere.close()


class TestPostgreSQL(LogConformance):
    @pytest.fixture(autouse=True)
    def _dsn(self, dsn: str) -> None:
        self.dsn = dsn

    async def make_log(self) -> PostgreSQL:
        return PostgreSQL(self.dsn)

    async def reopen(self, log: PostgreSQL) -> PostgreSQL:
        return PostgreSQL(self.dsn)

    async def lose_claim(self, log: PostgreSQL, conversation_id: str) -> None:
        await change(
            self.dsn,
            "UPDATE {}.conversations SET lease_owner = 'another', lease_number = lease_number + 1",
        )


class TestPostgreSQLFromTwoPrograms(TestPostgreSQL):
    """Another address is another set of connections and claims, as another program has them."""

    async def reopen(self, log: PostgreSQL) -> PostgreSQL:
        return PostgreSQL(self.dsn.replace("127.0.0.1", "localhost"))
