"""The run of `one_run.py`, kept in a file of SQLite; each in a conversation of its own."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

from one_run import ANSWER, CALLS, LOOKING, QUESTION, agent_of_openai, agent_of_ours
from side import OURS, Run, Side


def database() -> Path:
    """Of a new database, in a folder that goes with the program."""
    folder = tempfile.TemporaryDirectory()
    FOLDERS.append(folder)
    return Path(folder.name) / "conversations.db"


FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def ours() -> Run:
    from cogency_rs import SQLite

    agent = agent_of_ours(storage=SQLite(database()))

    async def run() -> None:
        assert (await agent.run(QUESTION)).output == ANSWER

    return run


def openai_agents() -> Run:
    from agents import Runner, SQLiteSession

    agent, path, numbers = agent_of_openai(), database(), itertools.count()

    async def run() -> None:
        session = SQLiteSession(f"c{next(numbers)}", path)
        result = await Runner.run(agent, QUESTION, session=session)
        assert result.final_output == ANSWER
        session.close()

    return run


def cogency() -> Run:
    """Its accumulator, as its own loop uses it: a turn for each answer."""
    from sides import THEIRS, Tool, block, cut, drain, execution, stream

    storage, numbers = THEIRS.sqlite(str(database())), itertools.count()
    calls = block([("look", {"text": "x"})] * CALLS)
    answers = [cut(answer, 16) for answer in (f"{LOOKING}{calls}", ANSWER)]
    tools: list[Any] = [Tool("look")]

    async def run() -> None:
        conversation = f"c{next(numbers)}"
        await storage.save_message(conversation, "u", "user", QUESTION)
        for answer in answers:
            await THEIRS.assemble("u", conversation, tools=tools, storage=storage, **WHOLE)
            turn = THEIRS.accumulator("u", conversation, execution=execution(tools, storage))
            await drain(turn.process(THEIRS.parse_tokens(stream(answer))))

    return run


WHOLE = {"history_window": None, "history_transform": None, "profile_enabled": False}

STORED = (
    Side(OURS, ours, OURS),
    Side("openai-agents, `SQLiteSession`", openai_agents, "openai-agents"),
    Side("cogency", cogency, "cogency"),
)
