"""The memory that a conversation takes: each side in a process of its own, after many runs of `one_run.py`.

    python benches/peers/held.py NAME

prints the bytes for each conversation.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from one_run import QUESTION, agent_of_openai, agent_of_ours, agent_of_pydantic
from side import OURS, Side

CONVERSATIONS = 2_000

Talk = Callable[[int], Awaitable[Any]]
"""Has the conversation of this number; what it returns is kept."""


def ours() -> Talk:
    """The log in memory."""
    from cogency_rs import Memory

    agent = agent_of_ours(storage=Memory())
    return lambda number: agent.run(QUESTION, conversation_id=f"c{number}")


def openai_agents() -> Talk:
    """The history of each, as its documentation keeps it: `to_input_list`."""
    from agents import Runner

    agent = agent_of_openai()

    async def talk(number: int) -> Any:
        return (await Runner.run(agent, QUESTION)).to_input_list()

    return talk


def pydantic_ai() -> Talk:
    """The history of each: `all_messages`."""
    agent = agent_of_pydantic()

    async def talk(number: int) -> Any:
        return (await agent.run(QUESTION)).all_messages()

    return talk


HELD = (
    Side(OURS, ours, OURS),  # type: ignore[arg-type]
    Side("openai-agents", openai_agents, "openai-agents"),  # type: ignore[arg-type]
    Side("pydantic-ai-slim", pydantic_ai, "pydantic-ai-slim"),  # type: ignore[arg-type]
)


def measured(side: Side) -> int:
    """Bytes for each conversation of a side."""
    program = [sys.executable, str(Path(__file__).resolve()), side.name]
    return int(subprocess.run(program, check=True, capture_output=True, text=True).stdout)


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


async def _bytes_each(talk: Talk) -> int:
    kept = [await talk(-1 - number) for number in range(50)]  # what is made once is made
    gc.collect()
    before = _resident()
    kept += [_history(await talk(number)) for number in range(CONVERSATIONS)]
    gc.collect()
    return (_resident() - before) // CONVERSATIONS


def _history(returned: Any) -> Any:
    """Ours keeps a conversation in its log, not in what a run returns."""
    return returned if isinstance(returned, list) else None


if __name__ == "__main__":
    make: Any = next(side.make for side in HELD if side.name == sys.argv[1])
    print(asyncio.run(_bytes_each(make())))
