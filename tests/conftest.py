"""What every test may ask for."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path

import pytest

from support.commands import COLOURS, Ended
from support.postgres_server import NoServerError, Server
from support.recordings import FOLDER

# A shell makes its background jobs ignore interrupts, and the programs that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded model output."""
    if not FOLDER.is_dir():
        pytest.skip(f"no recordings in {FOLDER}; name their folder in COGENCY_RS_RECORDINGS")
    return FOLDER


@pytest.fixture(scope="session")
def postgres() -> Generator[Server, None, None]:
    """A PostgreSQL server; a test that ends it must start it again."""
    try:
        server = Server()
    except NoServerError as error:
        pytest.skip(f"there is no PostgreSQL to test with: {error}")
    yield server
    server.remove()


_schemas = count(1)


@pytest.fixture
def dsn(postgres) -> str:
    """The DSN of an empty schema."""
    return f"{postgres.address}&schema=test_{next(_schemas)}"


@pytest.fixture
def command(capsys, monkeypatch) -> Callable[..., Ended]:
    """Runs the command line in this process: faster than `commands.run`, but without signals and pipes."""
    from cogency_rs.cli import main

    for name in COLOURS:
        monkeypatch.delenv(name, raising=False)

    def command(*args: object) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return Ended(ended.value.code or 0, out, err)

    return command
