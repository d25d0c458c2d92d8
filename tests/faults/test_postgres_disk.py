"""The log in PostgreSQL when the disk of its tables, or that of its write-ahead log, is really full."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from cogency_rs import PostgreSQL
from cogency_rs.errors import StorageError
from cogency_rs.storage.postgres import pool
from support.postgres_server import Server

pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("postgres")]

TABLES, JOURNAL = 40, 24
"""Megabytes: a little more than an empty database takes, and room for one segment of the write-ahead log, of 16."""

CONTENT = "".join(f"{number:x}" for number in range(10_000))

LATER = 1e6  # a time after that of every earlier row


class SmallDisk:
    """A file system in memory, of this many megabytes. Only root may make one."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self._mount(f"size={megabytes}m", "tmpfs")

    def grow(self, megabytes: int) -> None:
        self._mount(f"remount,size={megabytes}m")

    def remove(self) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=True)

    def _mount(self, options: str, *device: str) -> None:
        kind = ["-t", "tmpfs"] if device else []
        command = ["mount", *kind, "-o", options, *device, str(self.folder)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(
                f"no small disk can be made here: {getattr(error, 'stderr', None) or error}"
            )


@pytest.fixture
def disk(request) -> Generator[SmallDisk, None, None]:
    # The user that the server runs as cannot read pytest's own folders.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        disk = SmallDisk(Path(folder), request.param)
        yield disk
        disk.remove()


@contextlib.contextmanager
def server_on(**disks: Path) -> Generator[Server, None, None]:
    server = Server(**disks)
    try:
        yield server
    finally:
        server.remove()


async def fill(log: PostgreSQL) -> tuple[list[str], StorageError]:
    """Save rows until one is refused; returns the acknowledged rows and the refusal."""
    saved: list[str] = []
    for number in range(10_000):
        content = f"{number} {CONTENT}"
        try:
            await log.append("c", user_id="u", rows=[("user", content, float(number))])
        except StorageError as refusal:
            return saved, refusal
        saved.append(content)
    raise AssertionError("the disk was never full")


async def contents(log: PostgreSQL) -> list[str]:
    return [row["content"] for row in (await log.read("c")).rows]


@pytest.mark.parametrize("disk", [TABLES], indirect=True)
async def test_a_row_that_does_not_fit_is_refused_and_saved_rows_stay_readable(disk):
    with server_on(disk=disk.folder) as server:
        async with PostgreSQL(server.address) as log:
            saved, refusal = await fill(log)
            assert "has no room to grow" in str(refusal)
            assert "free some disk space" in str(refusal)
            assert "\n" not in str(refusal)
            assert not refusal.retryable
            assert saved
            assert await contents(log) == saved
            disk.grow(4 * TABLES)
            await log.append("c", user_id="u", rows=[("user", "after", LATER)])
            assert await contents(log) == [*saved, "after"]


@pytest.mark.parametrize("disk", [JOURNAL], indirect=True)
async def test_a_server_without_disk_space_loses_no_acknowledged_row(disk, monkeypatch):
    """Without room for its write-ahead log a server ends, and does not start again until there is room."""
    monkeypatch.setattr(pool, "PATIENCE", 0.1)
    with server_on(journal_disk=disk.folder) as server:
        async with PostgreSQL(server.address) as log:
            saved, refusal = await fill(log)
            assert refusal.retryable
            assert "\n" not in str(refusal)
            assert saved
            disk.grow(8 * JOURNAL)
            server.start()
        async with PostgreSQL(server.address) as log:
            stored = await contents(log)
            assert stored[: len(saved)] == saved
            assert len(stored) <= len(saved) + 1, "only the refused row may be there as well"
            await log.append("c", user_id="u", rows=[("user", "after", LATER)])
            assert await contents(log) == [*stored, "after"]
