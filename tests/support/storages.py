"""The three storages, each empty, for tests of what holds in all of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Memory, PostgreSQL, SQLite

__all__ = ["KINDS", "every_log"]

KINDS = ["Memory", "SQLite", "PostgreSQL"]


@pytest.fixture(params=KINDS)
async def every_log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Any, None]:
    """A log of each kind; that in PostgreSQL is skipped where there is no server."""
    if request.param == "Memory":
        yield Memory()
        return
    if request.param == "SQLite":
        log: Any = SQLite(tmp_path / "log.db", synchronous="OFF")
    else:
        pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
        log = PostgreSQL(request.getfixturevalue("dsn"))
    async with log:
        yield log
