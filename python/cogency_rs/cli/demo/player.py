"""Plays a recorded session: the model's answers are recorded, everything else is real.

It is a chat like `cogency-rs chat`: text streams through the parser, the tools run on a real folder, every row is in a
SQLite file. Folder and file are temporary; they are removed however the demo ends.

The model's next turn is the recorded one, whatever the tools returned: a recording goes on after failures and after
`<end>`. Every call is approved.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.text import Text

from ...agent import TextDriver
from ...agent.agent import Agent
from ...hooks import AnyHook
from ...outside import uuid7
from ...runs.context import RunLimits
from ...storage.sqlite import SQLite
from ..chat.assembly import Assembly
from ..chat.background import Background, Watched
from ..chat.events import is_event
from ..chat.keyboard import PROMPT
from ..chat.options import AgentOptions
from ..chat.session import ChatSession
from ..chat.view import View
from ..page import KINDS, Page
from ..text import count, visible
from ..wrap import Wrapper
from . import workspace
from .model import Pace, Recorded, RecordedModel
from .recording import RecordedTurn
from .tools import demo_tools

__all__ = ["play", "print_events"]

NOT_RECORDED = "(not recorded)"
"""Stands for the user's message if a recording does not have it: a model's turn always answers the user, or results."""

PONDERED = 30
"""The pause before a call is approved, in keys that could be typed meanwhile."""


def play(turns: Sequence[RecordedTurn], view: View, pace: Pace) -> None:
    """Play a session as a chat.

    Args:
        turns: the model's answers.
        view: shows the chat.
        pace: how fast to play.

    Raises:
        StorageError: the log cannot be written.
        KeyboardInterrupt: Ctrl-C.
    """
    with Background() as background:
        assembly = background.enter(_opened(turns, pace))
        typist = _Typist(assembly.model, view.page, pace)
        answers = count(len(turns), "recorded answer")
        what = f"{answers}; the agent, its tools and its log are real"
        view.page.hanging(Text.assemble(("cogency-rs demo", "bold"), "   "), what, "dim")
        session = ChatSession(assembly, background, typist, view, commands={})
        while (question := typist.question()) is not None:
            session.ask(question)


def print_events(turns: Sequence[RecordedTurn], pace: Pace) -> None:
    """Play a session, and print every event as a line of JSON."""
    with Background() as background:
        assembly = background.enter(_opened(turns, pace, approve=True))
        agent = assembly.agent(hooks=[background.watch])
        conversation_id = uuid7()
        while (turn := assembly.model.next) is not None:
            question = turn.user or NOT_RECORDED
            run = Watched(background, _asking(agent, question, conversation_id))
            _print(run)
            run.result()


def _asking(agent: Agent[Any, str], question: str, conversation_id: str) -> Callable[[], Any]:
    return lambda: agent.run(question, conversation_id=conversation_id)


def _print(run: Watched) -> None:
    try:
        for item in run:
            if is_event(item):
                print(json.dumps(item), flush=True)
    except BaseException:
        for _ in run.stop():
            pass
        raise


@dataclass(frozen=True)
class _Recording(Assembly):
    """Assembles the agent of a recording."""

    approve: bool = False

    def agent(self, *, hooks: Iterable[AnyHook] = ()) -> Agent[Any, str]:
        return Agent(
            self.model,
            tools=self.tools,
            storage=self.storage,
            limits=RunLimits(steps=None, same_errors=None),  # the recorded model has gone on
            driver=TextDriver(lenient=False),
            hooks=[*hooks, Recorded(self.model)],
            approve=(lambda _context, _call: True) if self.approve else None,
            name="demo",
        )


@asynccontextmanager
async def _opened(
    turns: Sequence[RecordedTurn], pace: Pace, *, approve: bool = False
) -> AsyncGenerator[_Recording, None]:
    """A folder to work on, a log, and an agent with both."""
    with TemporaryDirectory(prefix="cogency-rs-") as temporary:
        folder, db = Path(temporary, "folder"), Path(temporary, "log.db")
        workspace.seed(folder)
        async with SQLite(db) as storage:
            model = RecordedModel(turns, pace)
            tools = tuple(demo_tools(folder))
            yield _Recording(AgentOptions(), tools, storage, db, model, approve=approve)


class _Typist:
    """Types what was recorded, and says yes."""

    def __init__(self, model: RecordedModel, page: Page, pace: Pace) -> None:
        self._model = model
        self._page = page
        self._pace = pace

    def question(self) -> str | None:
        """Type the question before the next turn; see `Keyboard.question`."""
        turn = self._model.next
        if turn is None:
            return None
        question = turn.user or NOT_RECORDED
        self._page.line()
        self._page.begin(Text(PROMPT, KINDS["user"]))
        self._type(question)
        return question

    def answer(self, asked: str, text: str = "") -> str | None:
        """Agree; see `Keyboard.answer`."""
        self._page.begin(Text(f"  {asked} ", "bold yellow"))
        time.sleep(PONDERED * self._pace.key)
        self._type("y")
        return "y"

    def more(self, asked: str) -> str | None:
        """Go on at once; see `Keyboard.more`."""
        return ""

    def offered(self, asked: str) -> str | None:
        """Take no offer; see `Keyboard.offered`."""
        return None

    def _type(self, text: str) -> None:
        wrapper = Wrapper(self._page.width, len(PROMPT))
        for character in visible(text):
            self._page.write(wrapper.feed(character))
            time.sleep(self._pace.key)
        self._page.write(wrapper.finish() + "\n")
