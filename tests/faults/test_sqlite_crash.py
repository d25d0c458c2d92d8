"""What the SQLite log keeps when the program, the disk, the file or another program fails."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sqlite3
import subprocess
import tempfile
import threading
from collections import Counter
from pathlib import Path

import pytest

from cogency_rs import SQLite
from cogency_rs.errors import StorageError
from cogency_rs.storage.sqlite import connection, writer
from support.log_files import select
from support.programs import started
from support.users import unprivileged

KILL_ROUNDS = int(os.environ.get("COGENCY_RS_KILL_ROUNDS", "10"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
async def store(path):
    async with SQLite(path) as store:
        yield store


@contextlib.contextmanager
def locked(path):
    """Another program's open write transaction on `path`."""
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield holder
    finally:
        holder.close()


@pytest.fixture
def impatient(monkeypatch):
    """Wait only a moment for locks."""
    monkeypatch.setattr(connection, "BUSY_TIMEOUT", 0.1)


async def save(store, content, timestamp=None):
    return await store.save_message("c", "u", "user", content, timestamp)


async def contents(store):
    return [message["content"] for message in await store.load_messages("c", "u")]


# The program is killed

SAVE_UNTIL_KILLED = """
import asyncio, os, sys
from cogency_rs import SQLite

async def session(store, name):
    n = 0
    while True:
        content = f"{name}{n}"
        saved = await store.save_messages([(name, "u", "user", content, None)] * 3)
        os.write(1, f"{' '.join(saved)} {content}\\n".encode())
        n += 1

async def main(path, generation):
    store = SQLite(path)
    await asyncio.gather(*(session(store, f"{generation}.{name}.") for name in "abcd"))

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_kill_at_any_moment_loses_no_acknowledged_row(path):
    acknowledged = {}
    for generation in range(KILL_ROUNDS):
        child = started(SAVE_UNTIL_KILLED, path, generation, stdout=subprocess.PIPE)
        count = random.Random(generation).randrange(1, 200)
        reports = "".join(child.stdout.readline() for _ in range(count))
        child.kill()
        reports += child.stdout.read()
        child.stdout.close()
        child.wait()
        for report in reports.splitlines():
            *saved, content = report.split()
            acknowledged |= dict.fromkeys(saved, content)
        stored = dict(select(path, "SELECT message_id, content FROM messages"))
        assert acknowledged.items() <= stored.items(), f"round {generation}"
        assert set(Counter(stored.values()).values()) == {3}, "half a transaction"
        assert select(path, "PRAGMA integrity_check") == [("ok",)]
    assert acknowledged


# Several programs work on one file

SAVE_MANY = """
import asyncio, sys
from cogency_rs import SQLite

async def session(store, name):
    for n in range(50):
        await store.save_message("c", "u", "user", f"{name}{n}")
        await store.save_profile("u", {"who": name})

async def main(path, program):
    async with SQLite(path) as store:
        await asyncio.gather(*(session(store, f"{program}.{name}.") for name in "ab"))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_programs_writing_one_new_file_at_once_lose_and_double_nothing(tmp_path):
    path = tmp_path / "new" / "store.db"
    children = [started(SAVE_MANY, path, n) for n in range(3)]
    for child in children:
        await asyncio.to_thread(child.wait)
    assert [child.returncode for child in children] == [0, 0, 0]
    expected = [f"{program}.{name}.{n}" for program in range(3) for name in "ab" for n in range(50)]
    async with SQLite(path) as store:
        assert sorted(await contents(store)) == sorted(expected)
    assert select(path, "SELECT version FROM profiles ORDER BY 1") == [(n,) for n in range(1, 301)]
    assert select(path, "PRAGMA integrity_check") == [("ok",)]


# Another program holds the lock


async def test_a_lock_that_is_released_in_time_is_waited_for(store, path):
    await save(store, "before")
    with locked(path) as holder:
        saved = asyncio.ensure_future(save(store, "waited"))
        threading.Timer(0.2, holder.rollback).start()
        await saved
    assert await contents(store) == ["before", "waited"]


async def test_a_lock_that_stays_is_a_retryable_error(store, path, impatient):
    await save(store, "before", 1.0)
    with locked(path):
        attempts = (save(store, f"{n}", 2.0) for n in range(3))
        for failure in await asyncio.gather(*attempts, return_exceptions=True):
            assert isinstance(failure, StorageError)
            assert failure.retryable
            assert "is locked by another program" in str(failure)
            assert str(path) in str(failure)
        assert await contents(store) == ["before"]
    await save(store, "after", 3.0)
    assert await contents(store) == ["before", "after"]


async def test_a_file_that_is_locked_from_the_start_is_a_retryable_error(path, impatient):
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    async with SQLite(path) as store:
        for attempt in (save(store, "x"), contents(store)):
            with pytest.raises(StorageError, match="is locked") as caught:
                await attempt
            assert caught.value.retryable
        holder.close()
        await save(store, "after")
        assert await contents(store) == ["after"]


# The disk is full


@pytest.fixture
def small_disk(monkeypatch):
    """Let files grow to at most 40 pages (160 KiB); returns a function that lifts the limit."""
    pages, opened = 40, []

    def limit():
        with contextlib.suppress(sqlite3.ProgrammingError):  # the connection may be closed by now
            opened[-1].execute(f"PRAGMA max_page_count = {pages}")

    def connect(path):
        opened.append(connection.connect_to_write(path))
        limit()
        return opened[-1]

    def lift():
        nonlocal pages
        pages = 1_000_000
        limit()

    monkeypatch.setattr(writer, "connect_to_write", connect)
    return lift


async def test_a_full_disk_fails_the_saves_that_do_not_fit_and_keeps_the_rest(store, small_disk):
    await save(store, "before", 1.0)
    outcomes = await asyncio.gather(
        save(store, "small", 2.0),
        save(store, "x" * 200_000, 3.0),
        save(store, "small too", 4.0),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [str, StorageError, str]
    assert "has no room to grow" in str(outcomes[1])
    assert "free some disk space" in str(outcomes[1])
    assert not outcomes[1].retryable
    assert await contents(store) == ["before", "small", "small too"]
    small_disk()
    await save(store, "x" * 200_000, 5.0)
    assert (await contents(store))[-1] == "x" * 200_000


async def test_rows_saved_until_the_disk_is_full_are_all_there(store, path, small_disk):
    saved = []

    async def fill():
        for n in range(1000):
            await save(store, f"{n} " + "x" * 1000, float(n))
            saved.append(f"{n} " + "x" * 1000)

    with pytest.raises(StorageError, match="has no room to grow"):
        await fill()
    assert saved
    assert await contents(store) == saved
    assert select(path, "PRAGMA integrity_check") == [("ok",)]


# The file or its directory refuses


@pytest.fixture
def open_directory():
    """A directory that every user may read and write, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs the permissions of POSIX")
async def test_a_read_only_file_is_read_and_refuses_saves(open_directory):
    path = open_directory / "store.db"
    async with SQLite(path) as store:
        await save(store, "before", 1.0)
    path.chmod(0o444)
    async with SQLite(path) as store:
        with unprivileged():
            with pytest.raises(StorageError, match="make the file and its directory writable"):
                await save(store, "refused", 2.0)
            assert await contents(store) == ["before"]
        path.chmod(0o666)
        for left in open_directory.glob("store.db-*"):  # made by the other user
            left.chmod(0o666)
        await save(store, "after", 3.0)
        assert await contents(store) == ["before", "after"]


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs the permissions of POSIX")
async def test_a_read_only_file_of_plain_cogency_is_read(open_directory):
    """The file does not have the tables of this package, and they cannot be made."""
    path = open_directory / "store.db"
    with contextlib.closing(connection.connect(str(path))) as plain:
        plain.execute("INSERT INTO messages VALUES ('id', 'c', 'u', 'user', 'before', 1.0)")
    path.chmod(0o444)
    async with SQLite(path) as store:
        with unprivileged():
            assert await contents(store) == ["before"]
            assert [row["content"] for row in (await store.read("c")).rows] == ["before"]
            assert await store.calls("c") == []
            assert len(await store.conversations()) == 1
            for write in (
                lambda: store.append("c", user_id="u", rows=[("user", "refused", 2.0)]),
                lambda: store.claim("c").__aenter__(),
            ):
                with pytest.raises(StorageError, match="make the file and its directory writable"):
                    await write()
            assert await contents(store) == ["before"]


@pytest.mark.parametrize("attempt", [lambda store: save(store, "x"), contents])
async def test_a_directory_that_cannot_be_made_is_named(tmp_path, attempt):
    (tmp_path / "file").write_text("in the way")
    async with SQLite(tmp_path / "file" / "sub" / "store.db") as store:
        with pytest.raises(StorageError, match="cannot be made a directory") as caught:
            await attempt(store)
        assert str(tmp_path / "file" / "sub") in str(caught.value)
        assert not caught.value.retryable
        (tmp_path / "file").unlink()
        await save(store, "after")
        assert await contents(store) == ["after"]


async def test_a_path_that_is_a_directory_cannot_be_opened(path):
    path.mkdir()
    async with SQLite(path) as store:
        for attempt in (save(store, "x"), contents(store)):
            with pytest.raises(StorageError, match="cannot be opened") as caught:
                await attempt
            assert str(path) in str(caught.value)
        path.rmdir()
        await save(store, "after")
        assert await contents(store) == ["after"]


# The file is damaged


async def test_a_file_that_is_not_a_database_is_left_as_it_is(path):
    path.write_bytes(b"not a database " * 1000)
    async with SQLite(path) as store:
        for attempt in (save(store, "x"), contents(store)):
            with pytest.raises(StorageError, match="is not a SQLite database") as caught:
                await attempt
            assert str(path) in str(caught.value)
        assert path.read_bytes() == b"not a database " * 1000
        path.unlink()
        await save(store, "after")
        assert await contents(store) == ["after"]


async def test_a_damaged_file_is_an_error_and_a_restored_one_works(path, tmp_path):
    async with SQLite(path) as store:
        await store.save_messages([("c", "u", "user", "x" * 500, float(n)) for n in range(500)])
    intact = path.read_bytes()
    path.write_bytes(intact[:4096] + b"\xa5" * (len(intact) - 4096))
    async with SQLite(path) as store:
        for attempt in (save(store, "x"), contents(store)):
            with pytest.raises(StorageError, match="is damaged"):
                await attempt
        restored = tmp_path / "restored.db"
        restored.write_bytes(intact)
        restored.replace(path)
        await save(store, "after")
        assert len(await contents(store)) == 501


async def test_a_file_replaced_while_open_is_followed(store, path, tmp_path):
    await save(store, "old")
    async with SQLite(tmp_path / "other.db") as other:
        await save(other, "new")
    for left in tmp_path.glob("store.db-*"):
        left.unlink()
    (tmp_path / "other.db").replace(path)
    assert await contents(store) == ["new"]
    await save(store, "after")
    assert await contents(store) == ["new", "after"]
