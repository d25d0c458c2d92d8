"""Plays a recorded session: what the model says is recorded, all else happens.

Text streams through the parser into the accumulator, the tools run, every row is in a SQLite file,
and the next prompt is assembled from it. Folder and file are temporary and removed at the end,
however it ends.

The model's next turn is the recorded one whatever the tools returned: a recording goes on behind
failures and behind `<end>`.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..accumulator import Accumulator
from ..context import assemble
from ..parser import parse_tokens
from ..storage import SQLite
from ..types import Execution
from . import workspace
from .tools import folder_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from ..types import Event
    from .recording import RecordedTurn
    from .view import UserEvent, View

__all__ = ["FAST", "REALISTIC", "Pace", "play"]

USER, CONVERSATION = "demo", "session"

NOT_RECORDED = "(not recorded)"
"""Stands for the user's message where a recording has none; a model's turn always answers
something: the user, or results."""


@dataclass(frozen=True)
class Pace:
    """How fast a session is played.

    Attributes:
        first_token: seconds until a model begins to answer.
        token: seconds between two tokens, on average.
        slowness: of the tools; see `folder_tools`.
    """

    first_token: float
    token: float
    slowness: float


REALISTIC = Pace(first_token=0.6, token=0.016, slowness=1)
FAST = Pace(first_token=0, token=0, slowness=0.05)


async def play(turns: Sequence[RecordedTurn], view: View, pace: Pace) -> None:
    """Play a session.

    Args:
        turns: what the model says.
        view: is told what happens, while it does.
        pace: how fast.

    Raises:
        Whatever the view raises, and StorageError when the log cannot be written.
    """
    with TemporaryDirectory(prefix="cogency-rs-") as temporary:
        folder = Path(temporary, "folder")
        workspace.seed(folder)
        async with SQLite(Path(temporary, "log.db")) as log:
            tools = folder_tools(folder, slowness=pace.slowness)
            session = _Session(Execution(storage=log, tools=tools), view, pace)
            view.session_begins(len(turns))
            for number, turn in enumerate(turns, start=1):
                await session.play_turn(number, turn)
            messages = await assemble(USER, CONVERSATION, tools=tools, storage=log)
            rows = await log.load_messages(CONVERSATION, USER)
            view.session_ends(messages, len(rows))


class _Session:
    """A session that is being played."""

    def __init__(self, execution: Execution, view: View, pace: Pace) -> None:
        self._log = execution.storage
        self._view = view
        self._pace = pace
        self._has_results = False
        self._accumulator = Accumulator(
            USER,
            CONVERSATION,
            execution=execution,
            stream="token",
            max_failures=sys.maxsize,  # the recorded model has gone on
            on_tool_start=view.tool_started,
            on_tool_end=view.tool_ended,
        )

    async def play_turn(self, number: int, turn: RecordedTurn) -> None:
        """Play the model's turn, and the user's before it if there is one."""
        if turn.user is not None or not self._has_results:
            await self._user_writes(turn.user or NOT_RECORDED)
        self._view.turn_begins(number)
        events = self._accumulator.process(parse_tokens(_stream(turn.tokens, self._pace)))
        event: Event | None = None
        async with aclosing(events):
            async for event in events:
                self._view.event(event)
        self._has_results = event is not None and event["type"] == "result"

    async def _user_writes(self, content: str) -> None:
        event: UserEvent = {"type": "user", "content": content, "timestamp": time.time()}
        await self._log.save_message(CONVERSATION, USER, "user", content, event["timestamp"])
        self._view.event(event)


async def _stream(tokens: Sequence[str], pace: Pace) -> AsyncIterator[str]:
    """What the model says, when it says it: tokens come unevenly."""
    await asyncio.sleep(pace.first_token)
    unevenness = random.Random(len(tokens))
    for token in tokens:
        yield token
        if pace.token:
            await asyncio.sleep(pace.token * unevenness.uniform(0.2, 1.8))
