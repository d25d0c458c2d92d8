"""A search finds what cogency's finds in the same file, except for the named differences."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, strategies as st

from cogency_rs import SQLite

from .differences import capital_beyond_z
from .oracle import cogency, skip_without_cogency
from .strategies import parity

skip_without_cogency()

texts = st.text("aAzéÉßİ%_ \n", min_size=1, max_size=12)


async def found(messages: list[str], query: str) -> list[list[str]]:
    """The messages that cogency finds, and those that we find."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "log.db")
        async with SQLite(path, synchronous="OFF") as ours:
            for time, message in enumerate(messages):
                await ours.save_message("c", "u", "user", message, float(time))
            theirs = cogency("lib.sqlite").SQLite(str(path))
            return [
                [match.content for match in await log.search_messages(query, "u", None, 5)]
                for log in (theirs, ours)
            ]


@parity(60)
@given(st.lists(texts, min_size=1, max_size=4, unique=True), texts)
def test_a_search_finds_what_cogency_finds(messages, query):
    if not query.split():
        return  # cogency's statement is not SQL then
    theirs, ours = asyncio.run(found(messages, query))
    if not capital_beyond_z(query):
        assert ours == theirs
    else:
        words = query.split()
        assert {*ours} >= {
            message for message in messages if any(word in message for word in words)
        }
