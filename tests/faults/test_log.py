"""The log of whole turns: its rows after a kill and with many programs on one file, and its commits."""

import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from cogency_rs import (
    Accumulator,
    Execution,
    History,
    SQLite,
    ToolResult,
    assemble,
    parse_tokens,
)

KILL_ROUNDS = int(os.environ.get("COGENCY_RS_KILL_ROUNDS", "10"))


def program(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def select(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


TURNS_UNTIL_KILLED = """
import asyncio, os, sys
from cogency_rs import Accumulator, Execution, SQLite, ToolResult, parse_tokens

class Tool:
    name, description, schema = "t", "", {}
    async def execute(self, x, **_):
        await asyncio.sleep(x / 10000)
        return ToolResult("ok", x)

TEXT = "<think>hm</think>so<execute>" + str(
    [{"name": "t", "args": {"x": n}} for n in range(4)]
).replace("'", '"') + "</execute>"

async def talk(storage, name):
    turn = Accumulator("u", name, execution=Execution(storage=storage, tools=[Tool()]))
    while True:
        await storage.save_message(name, "u", "user", "go on")
        async for event in turn.process(parse_tokens(TEXT)):
            if event["type"] in ("call", "result"):  # its row is safe
                os.write(1, f"{name} {event['type']}\\n".encode())

async def main(path, generation):
    async with SQLite(path) as storage:
        await asyncio.gather(*(talk(storage, f"{generation}{name}") for name in "abc"))

asyncio.run(main(*sys.argv[1:]))
"""


def test_after_a_kill_every_acknowledged_row_is_there_and_every_call_is_answered(tmp_path):
    path = tmp_path / "store.db"
    seen = {}
    for generation in range(KILL_ROUNDS):
        child = program(TURNS_UNTIL_KILLED, path, generation)
        first = child.stdout.readline()
        time.sleep(random.uniform(0, 0.05))
        child.kill()
        reports = first + child.stdout.read()
        child.stdout.close()
        child.wait()
        for report in reports.splitlines():
            seen[report] = seen.get(report, 0) + 1
        stored = select(
            path, "SELECT conversation_id || ' ' || type, COUNT(*) FROM messages GROUP BY 1"
        )
        assert all(dict(stored).get(report, 0) >= count for report, count in seen.items())
        assert select(path, "PRAGMA integrity_check") == [("ok",)]
    names = {report.split()[0] for report in seen}
    asyncio.run(check_answered(path, names))


async def check_answered(path, names):
    async with SQLite(path) as storage:
        for name in names:
            rows = await storage.load_messages(name, "u")
            calls = sum(row["type"] == "call" for row in rows)
            assert calls % 4 == 0, "the calls of a block are saved together"
            apart = History(merge_roles=False)
            messages = await assemble("u", name, tools=[], storage=storage, history=apart)
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
        program(WRITE_WITH_COGENCY if number < 2 else WRITE_WITH_OURS, path, number)
        for number in range(8)
    ]
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0] * 8
    expected = sorted(f"{name} {n} {m}" for name in range(8) for n in range(40) for m in range(2))
    assert (
        sorted(content for (content,) in select(path, "SELECT content FROM messages")) == expected
    )
    assert select(path, "PRAGMA integrity_check") == [("ok",)]


class Tool:
    name, description, schema = "t", "", {}

    async def execute(self, **_):
        return ToolResult("ok")


async def test_a_turn_with_four_calls_takes_three_commits(tmp_path):
    calls = json.dumps([{"name": "t", "args": {"text": "x" * 400}}] * 4)
    text = f"<think>{'hm ' * 40}</think>{'So. ' * 30}<execute>{calls}</execute>"
    assert 2000 < len(text) < 2200
    async with SQLite(tmp_path / "store.db") as storage:
        await storage.save_message("c", "u", "user", "go")
        statements = []
        await storage._database.write(lambda writing: writing.set_trace_callback(statements.append))
        del statements[:]  # forget the commit of this write, which comes before those of the turn
        turn = Accumulator("u", "c", execution=Execution(storage=storage, tools=[Tool()]))
        async for _ in turn.process(parse_tokens(text)):
            pass
        assert statements.count("COMMIT") == 3
