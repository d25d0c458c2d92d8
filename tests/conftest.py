"""Fixtures for every test."""

from __future__ import annotations

import gc
import random
import signal
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from support.commands import COLOURS, Ended
from support.postgres_server import NoServerError, Server
from support.recordings import FOLDER

if TYPE_CHECKING:
    from support.ways import Way

pytest_plugins = ["support.hanging", "support.left_behind"]

# A shell makes its background jobs ignore interrupts, and the programs that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# `nohup` makes them ignore a hang-up. A handler is not inherited, and this one keeps the tests themselves running.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# No property is decided by chance, by what an earlier run has found, or by the speed of the machine.
settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# The profile of `make test-random`: other examples for each seed, and ten times as many.
settings.register_profile(
    "random",
    settings.get_profile("fixed"),
    derandomize=False,
    max_examples=10 * settings.get_profile("fixed").max_examples,
)
settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--order", type=int, metavar="SEED", help="run the tests in a random order, by this seed"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests in each file: a file stays whole, as its fixtures are made once."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(
                f"{item.nodeid} has an address in its name, which differs from process to process: "
                "name its cases with ids=support.ids.shown"
            )
    seed = config.getoption("order")
    if seed is None:
        return
    order = random.Random(seed)
    files = sorted({item.path for item in items})
    order.shuffle(files)
    place = {path: number for number, path in enumerate(files)}
    order.shuffle(items)
    items.sort(key=lambda item: place[item.path])


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later garbage collection, which would look at all of it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show half a surrogate pair, as hostile texts have, as an escape: a worker can send nothing else to its runner."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "both_ways" in metafunc.fixturenames:
        from support.ways import WAYS

        runs_one_way = metafunc.definition.get_closest_marker("only_at_the_end") is not None
        metafunc.parametrize("both_ways", WAYS[:1] if runs_one_way else WAYS, indirect=True)


@pytest.fixture
def both_ways(request, monkeypatch) -> Generator[Way, None, None]:
    """The way in which the calls of a test begin. The test runs once in each way; see `support/ways.py`."""
    from support.ways import AT_THE_END, eager

    if request.param != "eager":
        yield AT_THE_END
        return
    way = eager(monkeypatch)
    yield way
    assert way.begun or not way.missed, "no call began early, although one might have"


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded model output."""
    if not FOLDER.is_dir():
        pytest.skip(f"no recordings in {FOLDER}; name their folder in COGENCY_RS_RECORDINGS")
    return FOLDER


@pytest.fixture(scope="session")
def postgres() -> Generator[Server, None, None]:
    """A PostgreSQL server; a test that stops it must start it again."""
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
async def other_connection(postgres) -> AsyncGenerator[Any, None]:
    """A connection to the server that is not the log's."""
    import asyncpg

    opened = await asyncpg.connect(postgres.address)
    yield opened
    await opened.close()


@pytest.fixture
def command(capsys, monkeypatch, tmp_path_factory) -> Callable[..., Ended]:
    """Runs the command line in this process: faster than `commands.run`, but without signals and pipes."""
    from cogency_rs.cli import main

    for name in COLOURS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))

    def command(*args: object, stdin: bytes | None = None, **changes: str) -> Ended:
        with ExitStack() as stack:
            changed = stack.enter_context(monkeypatch.context())
            for name, value in changes.items():
                changed.setenv(name, value)
            if stdin is not None:
                file = tmp_path_factory.mktemp("command") / "stdin"
                file.write_bytes(stdin)
                changed.setattr("sys.stdin", stack.enter_context(file.open()))
            ended = stack.enter_context(pytest.raises(SystemExit))
            main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return Ended(ended.value.code or 0, out, err)

    return command
