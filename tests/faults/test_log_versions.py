"""The first program that opens a log of an earlier version upgrades it in place; a log of a newer one is refused."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, PostgreSQL, SQLite, tool
from cogency_rs.errors import StorageError
from cogency_rs.execution import Happened
from cogency_rs.storage.postgres import schema as postgres_schema
from cogency_rs.storage.postgres.connection import LOST_CLAIM
from cogency_rs.storage.sqlite import schema as sqlite_schema
from cogency_rs.testing import ScriptedModel
from support.postgres_server import ask
from support.programs import environment, program

pytestmark = pytest.mark.timeout(100)

SUPPORT = Path(__file__).resolve().parents[1] / "support"
VERSION_1 = SUPPORT / "postgres_version_1.sql"
VERSION_5 = SUPPORT / "sqlite_version_5.sql"

DECISIONS = """
ALTER TABLE {schema}.calls ADD COLUMN decision text;
DROP INDEX {schema}.calls_in_doubt;
"""

DISORDER = """
UPDATE {schema}.messages SET number = 100 WHERE message_id = 'm1';
UPDATE {schema}.conversations SET last = 100, latest = 'NaN';
"""

MESSAGES = """
INSERT INTO messages VALUES
    ('m1', 'old', 'u', 'user', 'hello', 1.0),
    ('m2', 'old', 'u', 'call', '{"name": "pay", "args": {}}', 2.0),
    ('m3', 'old', 'u', 'call', '{"name": "look", "args": {}}', 3.0);
INSERT INTO events VALUES ('e1', 'old', 'metric', '{}', 1.0);
INSERT INTO profiles VALUES ('u', 1, '{"who": "Ada"}', 1.0, 14);
"""

CALLS = """
INSERT INTO calls (conversation_id, user_id, message_id, call_id, batch, position, name, status, attempt, worker) VALUES
    ('old', 'u', 'm2', 'c1', 'b', 0, 'pay', 'open', 0, 'far:1'),
    ('old', 'u', 'm3', 'c2', 'b', 1, 'look', 'open', 0, 'far:1');
INSERT INTO claims VALUES ('old', 7, NULL, 0.0, 'far:1', 'far');
"""


def postgres_log(*changes: str) -> Callable[[str], Any]:
    """Makes tables of version 1 with rows in a schema, and then applies `changes`."""

    async def make(dsn: str) -> None:
        import asyncpg

        address, _, schema = dsn.partition("&schema=")
        connection = await asyncpg.connect(address)
        try:
            for statements in (VERSION_1.read_text(encoding="utf-8"), *changes):
                filled = statements.replace("{schema}", schema).replace("{lost_claim}", LOST_CLAIM)
                await connection.execute(filled)
        finally:
            await connection.close()

    return make


def sqlite_log(*steps: Any) -> Callable[[str], Any]:
    """Makes a file with rows, as it was after these `steps` and before steps were numbered."""

    async def make(path: str) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(sqlite_schema.COGENCYS)
            connection.executescript(MESSAGES)
            for step in steps:
                step(connection)
            connection.executescript(CALLS if steps else "")

    return make


async def sqlite_version_5(path: str) -> None:
    """Makes a file of version 5 in which the last row was saved first."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_5.read_text(encoding="utf-8") + MESSAGES + CALLS)
        connection.execute("UPDATE messages SET rowid = -1 WHERE message_id = 'm3'")
        connection.commit()


EARLIER: dict[str, tuple[str, Callable[[str], Any], bool]] = {
    # the storage; what makes its log; whether the log has calls
    "cogency 3.3.0": ("SQLite", sqlite_log(), False),
    "a file with calls": ("SQLite", sqlite_log(*sqlite_schema.STEPS[:1]), True),
    "a file with decisions": ("SQLite", sqlite_log(*sqlite_schema.STEPS[:2]), True),
    "a file of version 3": ("SQLite", sqlite_log(*sqlite_schema.STEPS[:3]), True),
    "a file of version 4": ("SQLite", sqlite_log(*sqlite_schema.STEPS[:4]), True),
    "a file of version 5": ("SQLite", sqlite_version_5, True),
    "tables of the first version 1": ("PostgreSQL", postgres_log(), True),
    "tables whose last row was saved first": ("PostgreSQL", postgres_log(DISORDER), True),
    "tables of the last version 1": (
        "PostgreSQL",
        postgres_log(DECISIONS),
        True,
    ),
}

STORAGES: dict[str, Any] = {"SQLite": SQLite, "PostgreSQL": PostgreSQL}


@pytest.fixture(params=EARLIER)
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str, bool]:
    """A log of an earlier version: its storage, its place, and whether it has calls."""
    kind, make, has_calls = EARLIER[request.param]
    place = str(tmp_path / "log.db")
    if kind == "PostgreSQL":
        pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
        place = request.getfixturevalue("dsn")
    asyncio.run(make(place))
    return kind, place, has_calls


BEGINS = """
async def main(kind, place, name):
    print("ready", flush=True)
    sys.stdin.readline()
    from cogency_rs.storage import CallRecord
    async with {"SQLite": SQLite, "PostgreSQL": PostgreSQL}[kind](place) as log:
        call = CallRecord(f"n{name}", f"z{name}", 0, "t", status="saved", decision="{}")
        rows = [("user", f"question {name}", 10.0 + int(name)), ("call", "{}", 20.0 + int(name))]
        await log.append("new", user_id="u", rows=rows, calls=[call])
        print(len((await log.read("old")).rows), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def begin_together(kind: str, place: str, count: int) -> list[str]:
    """Let `count` programs open a log at the same moment; returns what each of them read."""
    pipe = subprocess.PIPE
    programs = [
        subprocess.Popen(
            program(BEGINS, kind, place, number),
            env=environment(),
            stdin=pipe,
            stdout=pipe,
            text=True,
        )
        for number in range(count)
    ]
    for each in programs:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in programs:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    read = [each.communicate()[0] for each in programs]
    assert [each.returncode for each in programs] == [0] * count
    return read


def test_programs_that_begin_at_once_upgrade_an_earlier_log_and_lose_nothing(earlier):
    kind, place, has_calls = earlier
    assert begin_together(kind, place, 2) == ["3\n"] * 2

    async def look() -> None:
        async with STORAGES[kind](place) as log:
            assert [row["content"] for row in (await log.read("old")).rows] == [
                *("hello", '{"name": "pay", "args": {}}', '{"name": "look", "args": {}}')
            ]
            old = [(each.id, each.status, each.decision) for each in await log.calls("old")]
            assert old == ([("b-0", "open", None), ("b-1", "open", None)] if has_calls else [])
            new = [(each.id, each.status, each.decision) for each in await log.calls("new")]
            assert sorted(new) == [("n0", "saved", "{}"), ("n1", "saved", "{}")]
            assert len((await log.read("new")).rows) == 4
            assert await log.load_profile("u") == {"who": "Ada"}
            async with log.claim("old") as claim:
                assert claim.number == (8 if has_calls else 1)

    asyncio.run(look())
    applied = asyncio.run(versions(kind, place))
    steps = sqlite_schema.STEPS if kind == "SQLite" else postgres_schema.STEPS
    assert applied == [*range(1, len(steps) + 1)]


async def versions(kind: str, place: str) -> list[int]:
    if kind == "SQLite":
        with closing(sqlite3.connect(place)) as connection:
            found = connection.execute("SELECT version FROM cogency_rs_version").fetchall()
    else:
        found = await ask(place, "SELECT version FROM {}.schema_version ORDER BY version")
    return [row[0] for row in found]


@pytest.mark.parametrize("steps", range(len(sqlite_schema.STEPS) + 1))
async def test_a_file_of_an_earlier_version_is_read_before_it_is_upgraded(steps, tmp_path: Path):
    path = str(tmp_path / "log.db")
    await sqlite_log(*sqlite_schema.STEPS[:steps])(path)
    ids_of_providers = 0 < steps < 6
    calls = ["b-0", "b-1"] if ids_of_providers else ["c1", "c2"] if steps else []
    async with SQLite(path) as log:
        assert len((await log.read("old")).rows) == 3
        assert [each.id for each in await log.calls("old")] == calls
        assert [each.id for each in await log.open_calls("old")] == calls
        assert [each.id for _, _, each in await log.unsettled_calls()] == calls
        assert await log.origin("old") is None
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT 1 FROM sqlite_master WHERE name = 'cogency_rs_version'"
        assert connection.execute(query).fetchone() is None, "it was upgraded"


async def test_a_call_that_an_earlier_version_left_open_may_have_begun(tmp_path: Path):
    """The earlier version could not note that a call had not begun."""
    ran: list[str] = []

    @tool
    async def pay() -> None:
        """Pay."""
        ran.append("pay")

    @tool(read_only=True)
    async def look() -> None:
        """Look."""
        ran.append("look")

    path = str(tmp_path / "log.db")
    await sqlite_log(*sqlite_schema.STEPS[:2])(path)
    async with SQLite(path) as log:
        mine = Agent(ScriptedModel(["done"]), tools=[pay, look], storage=log)
        result = await mine.resume("old", user_id="u")
        assert result.output == "done"
        assert ran == ["look"]
        assert [each.status for each in await log.calls("old")] == ["unknown", "success"]


@pytest.mark.parametrize("way", ["reconcile", "settle"])
def test_a_call_that_an_earlier_version_left_is_listed_forked_and_settled(earlier, way):
    kind, place, has_calls = earlier
    if not has_calls:
        pytest.skip("this version kept no calls")
    reconcile = (lambda call: Happened(f"found {call.id}")) if way == "reconcile" else None

    @tool(reconcile=reconcile)
    async def pay() -> str:
        """Pay."""
        raise AssertionError

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        return "looked"

    async def go_on() -> None:
        async with STORAGES[kind](place) as log:
            mine = Agent(ScriptedModel(["done"]), tools=[pay, look], storage=log)
            assert [(each.id, each.needs) for each in await mine.pending()] == [
                ("b-0", "settling"),
                ("b-1", "settling"),
            ]
            new = await mine.fork("old", user_id="u")
            assert [row["content"] for row in (await log.read(new)).rows] == ["hello"]
            if way == "settle":
                await mine.settle("old", "b-0", "found b-0", user_id="u")
            result = await mine.resume("old", user_id="u")
            assert result.output == "done"
            values = [each.value for each in result.steps[0].executions]
            assert values == ["found b-0", "looked"]
            assert [each.status for each in await log.calls("old")] == ["success", "success"]
            assert await log.open_calls("old") == []

    asyncio.run(go_on())


async def test_a_file_of_this_version_is_not_written_when_it_is_opened(tmp_path: Path):
    path = tmp_path / "log.db"
    async with SQLite(path) as log:
        await log.append("c", rows=[("user", "hello", 1.0)])
    before = path.read_bytes()
    async with SQLite(path) as log:
        await log.read("c")
        await log.save_messages([])
    assert path.read_bytes() == before


@pytest.mark.parametrize("ask", ["append", "read", "claim"])
async def test_a_file_of_a_newer_version_is_refused_in_one_line(ask, tmp_path: Path):
    path = tmp_path / "log.db"
    async with SQLite(path) as log:
        await log.append("c", rows=[("user", "hello", 1.0)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO cogency_rs_version VALUES (99, 0.0)")
        connection.commit()
    async with SQLite(path) as log:
        with pytest.raises(StorageError) as caught:
            match ask:
                case "append":
                    await log.append("c", rows=[("user", "hello", 2.0)])
                case "read":
                    await log.read("c")
                case _:
                    async with log.claim("c"):
                        pass
    assert str(caught.value) == (
        f"the log in {path} is of version 99, but this program knows versions up to {len(sqlite_schema.STEPS)}; "
        "run: pip install --upgrade cogency-rs"
    )
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("command_line", "rest"),
    [("show", []), ("timeline", ["old", "-o", "turn.svg"]), ("doctor", []), ("copy", ["other.db"])],
)
def test_the_command_line_refuses_a_file_of_a_newer_version_too(
    command, command_line, rest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "log.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sqlite_schema.COGENCYS + MESSAGES)
        sqlite_schema.upgrade(connection, str(path))
        connection.execute("INSERT INTO cogency_rs_version VALUES (99, 0.0)")
        connection.commit()
    ended = command(command_line, path, *rest)
    assert ended.code != 0
    assert "is of version 99" in ended.err
    assert "pip install --upgrade cogency-rs" in ended.err
