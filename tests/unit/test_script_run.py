"""What a script shows when a run of `run_sync` fails or is interrupted: nothing of the event loop's."""

from __future__ import annotations

import asyncio
import re
import signal
import traceback
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cogency_rs import Agent, tool
from support.agents import agent, calls

OF_THE_LOOP = re.compile(r"asyncio.(runners|base_events)\.py")


def shown(error: BaseException) -> str:
    """All that Python prints of an error that nobody catches."""
    return "".join(traceback.format_exception(error))


async def breaking(messages: Any) -> AsyncIterator[str]:
    raise ConnectionError("no model")
    yield ""


def test_a_failure_shows_the_script_and_the_program_s_own_code():
    with pytest.raises(ConnectionError) as raised:
        Agent(breaking, tools=[]).run_sync("?")
    text = shown(raised.value)
    assert not OF_THE_LOOP.search(text), text
    assert text.count("Traceback") == 1
    ours, theirs = text.index("run_sync("), text.index("in breaking")
    assert ours < theirs


def test_ctrl_c_shows_where_the_script_was_and_not_what_the_run_was_waiting_for():
    ended = []

    @tool
    async def wait() -> None:
        """Wait for ever."""
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("wait")

    with pytest.raises(KeyboardInterrupt) as raised:
        agent(calls("wait"), "done", tools=[wait]).run_sync("?")
    text = shown(raised.value)
    assert ended == ["wait"]
    assert not OF_THE_LOOP.search(text), text
    assert "CancelledError" not in text
    assert text.count("Traceback") == 1


def test_an_interrupt_of_the_program_s_own_shows_where_it_was_raised():
    @tool
    async def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt("own")

    with pytest.raises(KeyboardInterrupt, match="own") as raised:
        agent(calls("stop"), tools=[stop]).run_sync("?")
    assert "in stop" in shown(raised.value)
