"""The logs that the tests of the SQLite log write to."""

from __future__ import annotations

import pytest

from cogency_rs import SQLite


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a" / "b" / "store.db"


@pytest.fixture
async def store(path):
    async with SQLite(path) as store:
        yield store


@pytest.fixture(params=["file", "memory"])
async def log(request, path):
    """A storage of either kind, for tests of what both do in the same way."""
    async with SQLite(path if request.param == "file" else ":memory:") as store:
        yield store
