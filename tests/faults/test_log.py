"""The SQLite log of whole turns: its rows after a kill, its rows when many programs use one file, and its commits."""

import asyncio
import json
import os
import sys
from collections import Counter

import pytest

from cogency_rs import Accumulator, Execution, History, SQLite, ToolResult, assemble, parse_tokens
from support.log_files import select
from support.programs import started
from support.tools import returns
from support.turns_until_killed import reports_until_killed

pytestmark = pytest.mark.concurrency

KILL_ROUNDS = int(os.environ.get("COGENCY_RS_KILL_ROUNDS", "10"))


def test_after_a_kill_every_acknowledged_row_is_there_and_every_call_is_answered(tmp_path):
    path = tmp_path / "store.db"
    acknowledged = Counter()
    for generation in range(KILL_ROUNDS):
        acknowledged += reports_until_killed("SQLite", path, generation)
        stored = Counter(select(path, "SELECT conversation_id, type FROM messages"))
        assert acknowledged <= stored
        assert select(path, "PRAGMA integrity_check") == [("ok",)]
    names = {name for name, _ in acknowledged}
    asyncio.run(check_answered(path, names))


async def check_answered(path, names):
    async with SQLite(path) as storage:
        for name in names:
            rows = await storage.load_messages(name, "u")
            calls = sum(row["type"] == "call" for row in rows)
            assert calls % 4 == 0, "the calls of a block are saved together"
            unmerged = History(merge_roles=False)
            messages = await assemble("u", name, tools=[], storage=storage, history=unmerged)
            results = [
                json.loads(message["content"].removeprefix("<results>").removesuffix("</results>"))
                for message in messages
                if message["content"].startswith("<results>")
            ]
            assert [len(batch) for batch in results] == [4] * (calls // 4)
            for item in (item for batch in results[:-1] for item in batch):
                assert item["status"] == "success"


WRITE_WITH_OURS = """
import asyncio, sys
from cogency_rs import SQLite
async def main(path, name):
    async with SQLite(path) as storage:
        for n in range(40):
            await storage.save_messages([("c", "u", "user", f"{name} {n} {m}", None) for m in range(2)])
asyncio.run(main(*sys.argv[1:]))
"""

WRITE_WITH_COGENCY = """
import asyncio, sys
from cogency.lib.sqlite import SQLite
async def main(path, name):
    storage = SQLite(path)
    for n in range(40):
        for m in range(2):
            await storage.save_message("c", "u", "user", f"{name} {n} {m}")
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="cogency does not support this Python")
def test_eight_programs_two_of_them_plain_cogency_lose_and_double_nothing(tmp_path):
    path = tmp_path / "store.db"
    children = [
        started(WRITE_WITH_COGENCY if number < 2 else WRITE_WITH_OURS, path, number)
        for number in range(8)
    ]
    for child in children:
        child.wait()
    assert [child.returncode for child in children] == [0] * 8
    expected = sorted(f"{name} {n} {m}" for name in range(8) for n in range(40) for m in range(2))
    assert (
        sorted(content for (content,) in select(path, "SELECT content FROM messages")) == expected
    )
    assert select(path, "PRAGMA integrity_check") == [("ok",)]


async def test_a_turn_with_four_calls_takes_three_commits(tmp_path):
    calls = json.dumps([{"name": "t", "args": {"text": "x" * 400}}] * 4)
    text = f"<think>{'hm ' * 40}</think>{'So. ' * 30}<execute>{calls}</execute>"
    assert 2000 < len(text) < 2200
    async with SQLite(tmp_path / "store.db") as storage:
        await storage.save_message("c", "u", "user", "go")
        statements = []
        await storage._database.write(lambda writing: writing.set_trace_callback(statements.append))
        del statements[:]  # the commit of this write is not one of the turn's
        turn = Accumulator(
            "u", "c", execution=Execution(storage=storage, tools=[returns(ToolResult("ok"))])
        )
        async for _ in turn.process(parse_tokens(text)):
            pass
        assert statements.count("COMMIT") == 3
