"""The commands that read a log, with a log in PostgreSQL; and `cogency-rs copy` from and to it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support import commands, logs

pytest.importorskip("typer", reason="the command line is in the extra cli")
pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")

from cogency_rs import PostgreSQL, SQLite
from cogency_rs.cli import copy as copy_command, database_log, log as file_log
from cogency_rs.errors import StorageError
from cogency_rs.storage import CallRecord, Part, copying

pytestmark = pytest.mark.timeout(120)

SECRET = "s3cr3t"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return logs.write(tmp_path / "store.db", logs.SESSION)


@pytest.fixture
def database(command, path, dsn) -> str:
    """The address of a log in PostgreSQL that holds `logs.SESSION`."""
    assert command("copy", path, dsn).code == 0
    return dsn


def in_both(command: Any, path: Path, dsn: str, *args: str) -> tuple[str, str]:
    """The output of a command for the file, and for the database."""
    printed = []
    for db in (str(path), dsn):
        ended = command(args[0], db, *args[1:])
        assert (ended.code, ended.err) == (0, "")
        printed.append(ended.out)
    return printed[0], printed[1]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_call_that_began_before_it_had_a_row_is_found_by_its_row(tmp_path, dsn, at_once):
    early = CallRecord("1", "b", 0, "look", status="early")
    begun = early._replace(status="open")
    done = begun._replace(status="success", started_at=1.0, completed_at=2.0)

    async def save(log: Any) -> None:
        rows = [("call", logs.call("look"), 1.0)]
        result = [("result", "[]", 2.0)]
        saves = [
            lambda: log.append("c", user_id="u", rows=[], calls=[early]),
            lambda: log.append("c", user_id="u", rows=rows, calls=[begun]),
            lambda: log.append("c", user_id="u", rows=result, calls=[done]),
        ]
        async with log:
            if at_once:
                await asyncio.gather(*[save() for save in saves])
            else:
                for each in saves:
                    await each()

    path = tmp_path / "log.db"
    asyncio.run(save(SQLite(path)))
    asyncio.run(save(PostgreSQL(dsn)))
    for rows in (file_log.rows(path, "c"), database_log.rows(dsn, "c")):
        assert [row.call for row in rows] == [done, None]


@pytest.mark.parametrize(
    "args",
    [
        ("show", "--json"),
        ("show", "staging"),
        ("show", "staging", "--json", "--full"),
        ("timeline", "staging", "-o", "-"),
        ("timeline", "staging", "-o", "-", "--all"),
    ],
    ids=" ".join,
)
def test_a_log_in_a_database_is_shown_like_the_same_log_in_a_file(command, path, database, args):
    of_file, of_database = in_both(command, path, database, *args)
    assert of_database == of_file


def test_the_address_of_a_database_is_shown_without_user_and_password(command, database):
    address = database.replace("postgres@", f"postgres:{SECRET}@")
    ended = command("show", address)
    assert ended.out.startswith("1 conversation in 127.0.0.1:")
    assert SECRET not in ended.out + ended.err


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (("/postgres?", "/nowhere?"), ("has no database of that name", "create it")),
        (("schema=test", "schema=Robert'"), ("cannot be the name of a schema",)),
        (("@127", f":{SECRET}/@127"), ("write @ : / ? # % as",)),
    ],
)
@pytest.mark.parametrize("args", [("show",), ("doctor",), ("copy", "FROM"), ("copy", "TO")])
def test_an_address_that_is_not_a_log_is_refused(command, tmp_path, postgres, args, change, parts):
    address = f"{postgres.address}&schema=test".replace(*change)
    match args:
        case ("copy", "FROM"):
            ended = command("copy", address, tmp_path / "new.db")
        case ("copy", "TO"):
            ended = command("copy", logs.write(tmp_path / "store.db", logs.SESSION), address)
        case _:
            ended = command(args[0], address)
    assert all(part in ended.err for part in parts), ended.err
    assert ended.code in (1, 2)
    assert ended.err.count("\n") == 1
    assert SECRET not in ended.err


@pytest.mark.parametrize("args", [("show",), ("doctor",), ("copy",)])
def test_reading_makes_no_tables(command, dsn, tmp_path, args):
    to = [tmp_path / "new.db"] if args == ("copy",) else []
    for _ in range(2):
        ended = command(*args, dsn, *to)
        assert ended.code in (1, 2)
        assert "has no log in the schema" in ended.err
        assert "?schema=NAME" in ended.err


def test_an_unknown_conversation_is_refused(command, database):
    ended = command("show", database, "stagign")
    assert ended.code == 2
    assert "has no conversation stagign" in ended.err


# Claims, and calls without a result


@pytest.mark.parametrize("kind", ["file", "database"])
def test_doctor_shows_claims_and_calls_without_a_result(command, tmp_path, dsn, kind):
    db = dsn if kind == "database" else str(tmp_path / "store.db")
    storage: Any = PostgreSQL if kind == "database" else SQLite
    worker = "far:1"

    async def run() -> list[commands.Ended]:
        async with storage(db) as log:
            calls = [
                CallRecord("one", "b", 0, "read", worker=worker),
                CallRecord("two", "b", 1, "write", status="unknown", worker=worker),
                CallRecord("three", "b", 2, "done", status="success", attempt=1),
                CallRecord("four", "b", 3, "pay", status="saved", worker=worker),
            ]
            rows = [("call", "{}", 1.0)] * 4
            await log.append("talk", user_id="u", rows=rows, calls=calls)
            async with log.claim("talk"):
                return [
                    await asyncio.to_thread(commands.run, "doctor", db, *options)
                    for options in ((), ("--json",))
                ]

    for_person, as_json = asyncio.run(run())
    assert "1 claim held, 3 calls without a result" in for_person.out
    assert "read in conversation talk is open; process far:1" in " ".join(for_person.out.split())
    [found] = as_json.objects
    [claim] = found["log"]["claims"]
    assert (claim["conversation_id"], claim["number"], claim["gone"]) == ("talk", 1, False)
    assert 0 < claim["expires_in"] <= 30
    assert found["log"]["calls"] == [
        {"conversation_id": "talk", "worker": worker, "call_id": id, "name": name, "status": status}
        for id, name, status in (
            ("one", "read", "open"),
            ("two", "write", "unknown"),
            ("four", "pay", "saved"),
        )
    ]


# Copies


async def fill(log: Any, conversations: int = 5) -> None:
    await log.append("", user_id="u", rows=[("user", "without a name", 0.0)])
    for number in range(conversations):
        parts = (Part("image", "image/png", b"\0\xff", 1), Part("file", "a/b", b"", 2))
        rows = [("user", f"{number} nul \0", 1.0), ("call", "{}", 2.0), ("user", "x", 0.5, parts)]
        call = CallRecord(f"id{number}", "b", 0, "t", "s", "waiting", worker="w:1", decision="{}")
        await log.append(f"c{number}", user_id="u", rows=rows, calls=[call])
        await log.append(f"c{number}", user_id="v", rows=[("user", "of another", 3.0)])
        await log.save_event(f"c{number}", "metric", '{"step": {}}', 1.0)
    await log.save_profile("u", {"who": "A"})
    await log.save_profile("u", {"who": "B"})


async def contents(log: Any) -> list[Any]:
    """Everything that can be read from a log."""
    listed = await log.conversations()
    found: list[Any] = [listed, await log.load_profile("u")]
    for one in listed:
        rows = (await log.read(one.conversation_id)).rows
        positions = [row.pop("position") for row in rows]
        assert positions == sorted(set(positions))
        found.append(rows)
        found.append(await log.calls(one.conversation_id))
        found.append(await log.load_latest_metric(one.conversation_id))
    return found


def test_copying_there_and_back_changes_nothing(command, dsn, tmp_path, monkeypatch):
    monkeypatch.setattr(copying, "PAGE", 2)
    first, last = tmp_path / "first.db", tmp_path / "last.db"

    async def write() -> None:
        async with SQLite(first) as log:
            await fill(log)

    async def read() -> list[list[Any]]:
        async with SQLite(first) as one, PostgreSQL(dsn) as two, SQLite(last) as three:
            return [await contents(log) for log in (one, two, three)]

    asyncio.run(write())
    ended = command("copy", first, dsn)
    assert (ended.code, ended.err) == (0, "")
    summary = "6 conversations and 21 rows copied, 0 there already, 2 versions of profiles"
    assert summary in ended.out
    assert summary in command("copy", dsn, last).out
    one, two, three = asyncio.run(read())
    assert one == two == three
    tables = (
        "SELECT * FROM messages ORDER BY rowid",
        "SELECT * FROM cogency_rs_parts ORDER BY conversation_id, message_id, number",
        "SELECT * FROM calls ORDER BY conversation_id",
        "SELECT * FROM events ORDER BY event_id",
        "SELECT * FROM profiles ORDER BY version",
    )
    with closing(sqlite3.connect(first)) as a, closing(sqlite3.connect(last)) as b:
        for query in tables:
            assert a.execute(query).fetchall() == b.execute(query).fetchall()


@pytest.mark.parametrize("way", ["to a database", "to a file"])
def test_a_copy_that_was_interrupted_goes_on_where_it_stopped(
    command, dsn, tmp_path, monkeypatch, way
):
    file = str(tmp_path / "store.db")
    source, target = (file, dsn) if way == "to a database" else (dsn, file)
    kinds: tuple[Any, Any] = (SQLite, PostgreSQL)
    here, there = kinds if way == "to a database" else kinds[::-1]

    async def write() -> None:
        async with here(source) as log:
            await fill(log)

    asyncio.run(write())
    digest, seen = copying.StoredConversation.digest, []

    def interrupted(self: copying.StoredConversation) -> str:
        seen.append(self)
        if len(seen) > 7:
            raise KeyboardInterrupt
        return digest(self)

    with monkeypatch.context() as patch:
        patch.setattr(copying.StoredConversation, "digest", interrupted)
        assert command("copy", source, target).code == 130
    ended = command("copy", source, target)
    assert "4 conversations and 16 rows copied, 2 there already" in ended.out
    assert (
        "0 conversations and 0 rows copied, 6 there already" in command("copy", source, target).out
    )

    async def grow() -> None:
        async with here(source) as log:
            await log.append("c1", user_id="u", rows=[("user", "more", 9.0)])
            settled = CallRecord("id1", "b", 0, "t", "s", "success", 1, 1.0, 2.0, "w:1")
            await log.append("c1", user_id="u", rows=[("result", "[]", 9.5)], calls=[settled])

    asyncio.run(grow())
    assert (
        "1 conversation and 2 rows copied, 5 there already" in command("copy", source, target).out
    )

    async def differ() -> None:
        async with there(target) as log:
            await log.append("c2", user_id="u", rows=[("user", "not in the source", 9.0)])

    asyncio.run(differ())
    ended = command("copy", source, target)
    assert ended.code == 1
    assert "1 of them are in" in ended.err
    assert "with different rows and were left alone: c2" in ended.err


async def test_a_copy_that_reads_back_differently_is_an_error(tmp_path):
    async with SQLite(tmp_path / "one.db") as log:
        await fill(log, 1)
    source = copy_command.FileArchive(str(tmp_path / "one.db"))
    target = copy_command.FileArchive(str(tmp_path / "two.db"))

    async def store(*_: Any, **__: Any) -> None:
        """Lose the conversation."""

    target.store = store
    with pytest.raises(StorageError, match="1 rows became 0"):
        await copying.copy(source, target)
    await source.close()
    await target.close()


def test_a_log_is_not_copied_onto_itself(command, path, dsn):
    for log in (str(path), dsn):
        ended = command("copy", log, log)
        assert ended.code == 2
        assert "is both FROM and TO" in ended.err


def test_a_file_that_is_not_there_is_not_copied(command, tmp_path, dsn):
    ended = command("copy", tmp_path / "missing.db", dsn)
    assert ended.code == 2
    assert "does not exist" in ended.err
    assert not (tmp_path / "missing.db").exists()
