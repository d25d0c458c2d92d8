"""A process that was stopped just before it started a tool does not start it once another may have the conversation."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, SQLite, tool
from cogency_rs.errors import StorageError
from cogency_rs.testing import ScriptedModel, ScriptedOutside, outside
from support.agents import calls

SECONDS = 100.0

ASKS = {"call": False, "start": True}
"""After which save the process is stopped: that of a call's row, or that of its start, which one that may wait has."""


class Sleeping(SQLite):
    """A log whose process is stopped after a save, so many times."""

    def __init__(
        self, path: Path, here: ScriptedOutside, *, after: str, times: int, is_taken: bool
    ) -> None:
        super().__init__(path)
        self._file, self._here, self._is_taken = path, here, is_taken
        self._after, self._times = after, times

    def append(self, conversation_id: str, **what: Any) -> asyncio.Future[None]:
        saving = super().append(conversation_id, **what)
        kinds = {row[0] for row in what["rows"]} or {"start"}
        if self._after in kinds and self._times:
            self._times -= 1
            saving.add_done_callback(self._sleep)
        return saving

    def _sleep(self, _: object) -> None:
        self._here.pass_time(SECONDS)
        if self._is_taken:
            with sqlite3.connect(self._file) as file:
                file.execute("UPDATE claims SET owner = 'another', number = number + 1")


async def paid(path: Path, *, after: str, times: int = 1, is_taken: bool = False) -> list[str]:
    """What a process paid that sleeps."""
    paid: list[str] = []

    async def pay() -> str:
        """Pay."""
        paid.append("paid")
        return "paid"

    with outside(here := ScriptedOutside()):
        storage = Sleeping(path, here, after=after, times=times, is_taken=is_taken)
        agent = Agent(
            ScriptedModel([calls("pay"), "Done."]),
            tools=[tool(pay, requires_approval=ASKS[after])],
            storage=storage,
            approve=lambda ctx, call: True,
        )
        ends = pytest.raises(StorageError, match="was lost") if is_taken else nullcontext()
        with ends:
            await agent.run("Pay.", conversation_id="c")
        await storage.close()
    return paid


@pytest.mark.parametrize("after", ASKS)
async def test_a_tool_does_not_start_once_another_process_has_the_conversation(tmp_path, after):
    assert await paid(tmp_path / "log.db", after=after, is_taken=True) == []


@pytest.mark.parametrize("after", ASKS)
async def test_it_starts_if_the_conversation_is_still_its_own(tmp_path, after):
    assert await paid(tmp_path / "log.db", after=after) == ["paid"]


async def test_it_does_not_start_if_each_note_of_its_start_takes_too_long(tmp_path):
    assert await paid(tmp_path / "log.db", after="start", times=3) == []
