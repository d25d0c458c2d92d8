"""Reading a log that any program may have written: the newest rows are found, and no file is changed."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support import commands, logs
from support.commands import POSIX
from support.users import unprivileged

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs import SQLite
from cogency_rs.cli import log
from cogency_rs.cli.exits import UnusableError
from cogency_rs.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HELD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.read()
connection.close()
"""
NEWER = "INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp)\
 VALUES ('id', 'staging', 'ada', 'user', 'newer', 1e10)"


@contextmanager
def held(path: Path, *statements: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another program that has the database open, after it has run some statements."""
    program = subprocess.Popen(
        [sys.executable, "-c", HELD, path, *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    try:
        yield program
    finally:
        program.communicate(timeout=60)


def kill(path: Path, *statements: str) -> None:
    """Let another program run some statements, and kill it."""
    with held(path, *statements) as program:
        program.kill()


# States in which a database may be found. In each, it holds SESSION and one more row.


@contextmanager
def at_rest(path: Path) -> Iterator[None]:
    with held(path, NEWER):
        pass
    yield


@contextmanager
def open_elsewhere(path: Path) -> Iterator[None]:
    with held(path, NEWER):
        yield


@contextmanager
def in_a_transaction(path: Path) -> Iterator[None]:
    with held(path, NEWER, "BEGIN IMMEDIATE", "DELETE FROM messages"):
        yield


@contextmanager
def after_a_crash(path: Path) -> Iterator[None]:
    kill(path, NEWER)
    yield


@contextmanager
def copied_with_its_wal(path: Path) -> Iterator[None]:
    kill(path, NEWER)
    Path(f"{path}-shm").unlink()
    yield


@contextmanager
def with_an_empty_wal(path: Path) -> Iterator[None]:
    with held(path, NEWER):
        pass
    Path(f"{path}-wal").touch()
    yield


@contextmanager
def with_a_stray_shm(path: Path) -> Iterator[None]:
    with held(path, NEWER):
        pass
    Path(f"{path}-shm").touch()
    yield


@contextmanager
def in_rollback_mode(path: Path) -> Iterator[None]:
    with held(path, NEWER, "PRAGMA journal_mode = DELETE"):
        pass
    yield


@contextmanager
def in_rollback_mode_and_open_elsewhere(path: Path) -> Iterator[None]:
    with held(
        path, NEWER, "PRAGMA journal_mode = DELETE", "BEGIN IMMEDIATE", "DELETE FROM messages"
    ):
        yield


STATES = [
    at_rest,
    open_elsewhere,
    in_a_transaction,
    after_a_crash,
    copied_with_its_wal,
    with_an_empty_wal,
    with_a_stray_shm,
    in_rollback_mode,
    in_rollback_mode_and_open_elsewhere,
]


@pytest.fixture
def path(tmp_path) -> Path:
    (tmp_path / "it").mkdir()
    return logs.write(tmp_path / "it" / "a log?&#%.db", logs.SESSION)


def names(path: Path) -> set[str]:
    """The names of all files in the folder of a database."""
    return {file.name for file in path.parent.iterdir()}


def files(path: Path) -> dict[str, tuple[bytes, int]]:
    """The contents and times of all files in the folder of a database."""
    return {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.parent.iterdir()
    }


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_the_newest_rows_are_found_and_no_file_is_changed_or_made(path, state):
    """Without `-shm`, rows in the WAL cannot be read; it is made, as by any program that opens the log."""
    with state(path):
        before = files(path)
        made = {f"{path.name}-shm"} if state is copied_with_its_wal else set[str]()
        listed = commands.run("show", path, "--json")
        shown = commands.run("show", path, "staging", "--json")
        drawn = commands.run("timeline", path, "staging", "-o", "-")
        after = files(path)
        assert after.keys() - before.keys() == made
        assert {name: after[name] for name in before} == before
    assert (listed.code, listed.err, shown.code, shown.err) == (0, "", 0, "")
    assert listed.objects[0]["rows"] == len(logs.SESSION) + 1
    assert shown.objects[-1]["content"] == "newer"
    assert (drawn.code, drawn.err, "newer" in drawn.out) == (0, "", True)


def written_elsewhere(path: Path) -> None:
    """Let another program save a row and close the log; if no other has it open, that removes the WAL."""
    with held(path, NEWER):
        pass


@POSIX
@pytest.mark.parametrize(
    "read",
    [
        log.conversations,
        lambda path: log.rows(path, "staging"),
        log.state,
        lambda path: log.conversations(path.with_name("link.db")),
    ],
    ids=["conversations", "rows", "state", "by a link"],
)
async def test_reading_keeps_the_locks_of_a_log_that_the_process_has_open(path, read):
    path.with_name("link.db").symlink_to(path)
    async with SQLite(path) as storage:
        await storage.save_message("mine", "ada", "user", "first", 1e9)
        read(path)
        written_elsewhere(path)
        assert f"{path.name}-wal" in names(path), "the other program took the log for closed"
        await storage.save_message("mine", "ada", "respond", "second", 1e9 + 1)
        mine = [row.content for row in log.rows(path, "mine")]
    assert mine == ["first", "second"]
    assert log.rows(path, "staging")[-1].content == "newer"


AUDITED = """
import sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
from cogency_rs.cli import main
try:
    main()
finally:
    assert any("/" in name for name in opened)
    assert not [name for name in opened if ".db" in name], opened
"""


@pytest.mark.parametrize(
    ("state", "args"),
    [
        *((state, ["show", "LOG", "staging"]) for state in STATES),
        (open_elsewhere, ["timeline", "LOG", "staging", "-o", "-"]),
        (open_elsewhere, ["doctor", "LOG"]),
        (open_elsewhere, ["settle", "LOG"]),
        (open_elsewhere, ["copy", "LOG", "COPY"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value.__name__,
)
def test_no_command_opens_a_log_but_through_sqlite(path, tmp_path, state, args):
    places = {"LOG": str(path), "COPY": str(tmp_path / "copy.db")}
    with state(path):
        ended = subprocess.run(
            [sys.executable, "-c", AUDITED, *(places.get(arg, arg) for arg in args)],
            capture_output=True,
            check=False,
            timeout=60,
        )
    assert (ended.stderr.decode(), ended.returncode) == ("", 0)


WRITER = """
import asyncio, select, sys
from cogency_rs import SQLite

async def main():
    while not select.select([sys.stdin], [], [], 0)[0]:
        async with SQLite(sys.argv[1]) as log:
            for _ in range(10):
                await log.save_message("staging", "ada", "respond", "more", 2e9)

asyncio.run(main())
"""


@POSIX
def test_a_reader_does_not_disturb_a_program_that_opens_writes_and_closes_all_the_time(path):
    counts = []
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE) as writer:
        while len(counts) < 5:
            ended = commands.run("show", path, "--json")
            assert (ended.code, ended.err) == (0, "")
            counts.append(ended.objects[0]["rows"])
    assert writer.returncode == 0
    assert counts == sorted(counts)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        [written] = connection.execute("SELECT COUNT(*) FROM messages").fetchone()
    assert (written - len(logs.SESSION)) % 10 == 0
    assert len(logs.SESSION) <= counts[0] <= counts[-1] <= written


def test_a_log_that_is_reached_by_a_link_is_read_in_its_own_folder(path, tmp_path):
    kill(path, NEWER)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert log.conversations(link)[0].rows == len(logs.SESSION) + 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["it", "link.db"]


def test_a_log_without_conversations_is_a_log(tmp_path):
    path = logs.write(tmp_path / "new.db", [])
    assert log.conversations(path) == []


# What goes wrong.


def test_an_unfinished_transaction_is_reported(tmp_path):
    path = logs.write(tmp_path / "hot.db", logs.SESSION)
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999) "
    insert = "INSERT INTO messages SELECT i, 'c', 'u', 'user', hex(zeroblob(99)), 1 FROM n"
    kill(path, "PRAGMA journal_mode = DELETE", "PRAGMA cache_size = 1", "BEGIN", many + insert)
    before = files(path)
    with pytest.raises(
        UnusableError, match="was left in the middle of a transaction; open it once"
    ):
        log.conversations(path)
    assert files(path) == before


def test_a_lock_that_is_held_too_long_can_be_tried_again(path, monkeypatch):
    monkeypatch.setattr(log, "_PATIENCE", 0.05)
    with (
        held(path, "PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE"),
        pytest.raises(StorageError, match="is locked by another program; try again when"),
    ):
        log.conversations(path)


def test_a_lock_ends_the_command_with_1(command, path, monkeypatch):
    monkeypatch.setattr(log, "_PATIENCE", 0.05)
    with held(path, "PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE"):
        ended = command("show", path)
    assert (ended.code, ended.out) == (1, "")
    assert (
        ended.err == f"cogency-rs: {path} is locked by another program; try again when it is done\n"
    )


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs the permissions of POSIX")
def test_rows_in_a_wal_that_cannot_be_read_where_it_is_are_not_left_out(path):
    place = Path(tempfile.mkdtemp())  # other users can enter it, unlike `tmp_path`
    copy = place / "log.db"
    try:
        with open_elsewhere(path):
            shutil.copyfile(path, copy)
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        place.chmod(0o555)
        with unprivileged(), pytest.raises(UnusableError, match="copy it, with its -wal, to a fol"):
            log.conversations(copy)
        place.chmod(0o777)
        with unprivileged():
            assert log.rows(copy, "staging")[-1].content == "newer"
    finally:
        shutil.rmtree(place)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs the permissions of POSIX")
@pytest.mark.parametrize("state", [at_rest, open_elsewhere, in_rollback_mode])
def test_a_log_in_a_folder_that_cannot_be_written_is_read(state):
    place = Path(tempfile.mkdtemp())
    try:
        path = logs.write(place / "log.db", logs.SESSION)
        with state(path):
            for file in place.iterdir():
                file.chmod(0o444)
            place.chmod(0o555)
            with unprivileged():
                assert log.rows(path, "staging")[-1].content == "newer"
            place.chmod(0o777)
    finally:
        shutil.rmtree(place)


@pytest.fixture
def touch(monkeypatch) -> Callable[[int], None]:
    """Changes the file in the middle of this many reads."""

    def touch(times: int) -> None:
        check = log._check_schema
        moments = iter(range(times))

        def checked(connection: sqlite3.Connection, path: Path) -> None:
            if next(moments, None) is not None:
                state = path.stat()
                os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1000))
            check(connection, path)

        monkeypatch.setattr(log, "_check_schema", checked)

    return touch


def test_a_file_that_changes_while_it_is_read_without_locks_is_read_again(path, touch):
    touch(3)
    assert log.conversations(path)[0].rows == len(logs.SESSION)


def test_a_file_that_changes_all_the_time_is_given_up(path, touch, monkeypatch):
    monkeypatch.setattr(log, "_PATIENCE", 0.05)
    touch(sys.maxsize)
    with pytest.raises(StorageError, match="keeps changing; try again"):
        log.conversations(path)


# Rows.


def test_a_conversation_is_listed_once_per_user_in_order_of_the_last_rows(tmp_path):
    path = tmp_path / "log.db"
    row = logs.Stored
    logs.write(path, [row("user", "one", 10), row("user", "two", 11)], conversation="a", user="u")
    logs.write(path, [row("respond", "x", 5), row("user", "y", 6)], conversation="a", user="v")
    logs.write(path, [row("think", "x", 7)], conversation="b", user=None)
    logs.write(path, [row("think", "x", 8)], conversation="b", user="")
    found = [
        (
            c.conversation_id,
            c.user_id,
            c.rows,
            c.first - logs.BEGIN,
            c.last - logs.BEGIN,
            c.question,
        )
        for c in log.conversations(path)
    ]
    assert found == [
        ("a", "v", 2, 5, 6, "y"),
        ("b", "", 2, 7, 8, None),
        ("a", "u", 2, 10, 11, "one"),
    ]


def test_rows_are_in_order_of_their_times_and_then_in_the_order_of_saving(tmp_path):
    rows = [logs.Stored("user", str(at), at) for at in (3, 1, 2)] + [logs.Stored("think", "b", 1)]
    path = logs.write(tmp_path / "log.db", rows)
    assert [row.content for row in log.rows(path, "staging")] == ["1", "b", "2", "3"]


@pytest.mark.parametrize(
    ("id", "saved"),
    [
        (logs.id_of(12.345), logs.BEGIN + 12.345),
        (logs.id_of(12.345).replace("-", "").upper(), logs.BEGIN + 12.345),
        ("2b1c0b0c-5a3c-4d6e-8f00-0123456789ab", None),  # of version 4
        ("42", None),
        ("", None),
        ("é", None),
    ],
)
def test_the_time_at_which_a_row_was_saved_is_read_from_its_id(tmp_path, id, saved):
    path = logs.write(tmp_path / "log.db", [logs.Stored("user", "x", 0, id=id)])
    assert [row.saved for row in log.rows(path, "staging")] == [saved]


@pytest.mark.parametrize(
    ("content", "timestamp", "read"),
    [
        ("'text'", "'yesterday'", ("text", 0.0)),
        ("x'610062ff'", "-5", ("a\0b\ufffd", 0.0)),
        ("CAST(x'ff' AS TEXT)", "9e999", ("\ufffd", 253370764800.0)),
        ("12", "'7'", ("12", 7.0)),
    ],
)
def test_rows_with_values_of_other_types_are_still_read(tmp_path, content, timestamp, read):
    path = logs.write(tmp_path / "log.db", [])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            f"INSERT INTO messages VALUES ('i', 'c', 'u', 'user', {content}, {timestamp})"
        )
        connection.commit()
    assert [(row.content, row.timestamp) for row in log.rows(path, "c")] == [read]
    assert [entry.question for entry in log.conversations(path)] == [read[0]]


# Logs that cogency_rs and cogency wrote.


async def save(storage: object) -> None:
    await storage.save_message("c", "u", "user", "Hi", 5.0)
    await storage.save_message("c", "u", "respond", "Hello", 6.0)


def test_a_log_of_ours_is_read(tmp_path):
    path = tmp_path / "ours.db"

    async def write() -> None:
        async with SQLite(path) as storage:
            await save(storage)

    asyncio.run(write())
    check(path)


def test_a_log_of_cogency_is_read(tmp_path):
    pytest.importorskip("cogency", reason="cogency is in the extra parity")
    from cogency.lib.sqlite import SQLite as Theirs

    path = tmp_path / "theirs.db"
    asyncio.run(save(Theirs(str(path))))
    check(path)


def check(path: Path) -> None:
    [entry] = log.conversations(path)
    assert (entry.conversation_id, entry.user_id, entry.rows, entry.question) == ("c", "u", 2, "Hi")
    rows = log.rows(path, "c")
    assert [(row.type, row.content, row.timestamp) for row in rows] == [
        ("user", "Hi", 5.0),
        ("respond", "Hello", 6.0),
    ]
    assert all(row.saved is not None for row in rows)
