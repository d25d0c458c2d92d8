"""Where an agent's log is: a path, an address, or a log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cogency_rs import Agent, Memory, PostgreSQL, SQLite
from cogency_rs.testing import ScriptedModel


def an_agent(storage: object) -> Agent[None, str]:
    return Agent(ScriptedModel(["Hello."]), storage=storage)


@pytest.mark.parametrize("kind", [str, Path, lambda path: str(path).encode().decode()])
async def test_a_path_is_a_file_that_another_agent_goes_on_with(tmp_path, kind):
    path = tmp_path / "talk.db"
    result = await an_agent(kind(path)).run("Hi")
    again = an_agent(kind(path))
    assert isinstance(again.storage, SQLite)
    page = await again.storage.read(result.conversation_id)
    assert [row["content"] for row in page.rows] == ["Hi", "Hello."]


def test_an_address_is_a_database():
    pytest.importorskip("asyncpg")
    agent = an_agent("postgresql://ada:secret@127.0.0.1:1/talk")
    assert isinstance(agent.storage, PostgreSQL)
    assert "secret" not in repr(agent.storage)


def test_a_log_is_taken_as_it_is_and_without_one_it_is_in_memory():
    log = Memory()
    assert an_agent(log).storage is log
    assert isinstance(an_agent(None).storage, Memory)


def test_a_path_loads_nothing_of_the_other_logs(tmp_path):
    program = (
        "import sys\nfrom cogency_rs import Agent\nAgent(lambda _: '', storage=sys.argv[1])\n"
        "assert 'cogency_rs.storage.postgres.log' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "talk.db")], check=True)
