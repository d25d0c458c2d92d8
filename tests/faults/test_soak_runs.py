"""`make soak-runs`: it says what has grown, and nothing else; a short one finds that nothing is left of a run."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Memory

CHECKOUT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def soak_runs() -> Iterator[Any]:
    """The module `benches/soak_runs.py`, which is not part of a package."""
    folder = str(CHECKOUT / "benches")
    sys.path.insert(0, folder)
    try:
        import soak_runs
    finally:
        sys.path.remove(folder)
    # It quietens this logger for its whole process, in which other tests look at what is logged.
    logger = logging.getLogger("cogency_rs")
    level = logger.level
    yield soak_runs
    logger.setLevel(level)


HELD = {"memory": 40.0, "objects": 30_000, "tasks": 1, "threads": 4, "files": 9}


def steady(_: int) -> dict[str, Any]:
    return {}


CASES: dict[str, tuple[Any, list[str]]] = {
    "nothing": (steady, []),
    "memory in the warm-up": (lambda n: {"memory": 40.0 + min(n, 10)}, []),
    "memory that comes and goes": (lambda n: {"memory": 40.0 + 8 * (n % 4 == 0)}, []),
    "files, once at the end": (lambda n: {"files": 9 + (n == 39)}, []),
    "a pool's last thread": (lambda n: {"threads": 4 + (n > 25)}, []),
    "memory": (lambda n: {"memory": 40.0 + n / 8}, ["memory grew from 41.8125 to 44.3125"]),
    "objects": (lambda n: {"objects": 30_000 + 40 * n}, ["objects grew from 30,580 to 31,380"]),
    "a task": (lambda n: {"tasks": 1 + n // 20}, ["tasks grew from 1 to 2"]),
    "threads": (lambda n: {"threads": 4 + n}, ["threads grew from 18.5 to 38.5"]),
    "files": (lambda n: {"files": 9 + n // 15}, ["files grew from 9.5 to 11"]),
    "everything": (
        lambda n: dict.fromkeys(HELD, 1000 * n),
        [f"{name} grew from 14,500 to 34,500" for name in HELD],
    ),
}


@pytest.mark.parametrize(("held", "expected"), CASES.values(), ids=CASES)
def test_what_grows_after_the_warm_up_is_named(soak_runs, held, expected):
    samples = [soak_runs.Sample(runs=number, **{**HELD, **held(number)}) for number in range(40)]
    assert soak_runs.grown(samples) == expected


async def test_a_log_that_leaves_a_file_open_is_found(soak_runs, caplog):
    caplog.set_level("CRITICAL")  # tools that fail are a part of it
    left: list[int] = []

    class Leaking(Memory):
        def append(self, *given: Any, **options: Any) -> Any:
            left.append(os.dup(0))
            return super().append(*given, **options)

    samples = await soak_runs.soak(nullcontext(Leaking()), soak_runs.LEAST_RUNS)
    for file in left:
        os.close(file)
    assert any(each.startswith("files grew") for each in soak_runs.grown(samples))


@pytest.mark.parametrize("log", ["Memory", "SQLite", "PostgreSQL"])
def test_a_short_soak_leaves_no_task_and_no_file(soak_runs, log, request, monkeypatch, capsys):
    options = ["--only", log, "--runs", str(soak_runs.LEAST_RUNS * soak_runs.LOGS[log]), "--json"]
    if log == "PostgreSQL":
        pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
        options += ["--postgres", request.getfixturevalue("postgres").address]
    monkeypatch.setattr(sys, "argv", ["soak_runs.py", *options])
    with pytest.raises(SystemExit):  # with 1 if memory grew, which so few runs do not show
        soak_runs.main()
    [(found, samples)] = json.loads(capsys.readouterr().out).items()
    assert (found, len(samples)) == (log, soak_runs.SAMPLES)
    sampled = [soak_runs.Sample(*sample) for sample in samples]
    assert sampled[-1].runs == soak_runs.LEAST_RUNS
    assert {sample.tasks for sample in sampled} == {sampled[0].tasks}
    assert sampled[-1].files - sampled[0].files < soak_runs.LEAST_RUNS / 10


def test_the_table_is_written_between_its_marks(soak_runs, monkeypatch, capsys, tmp_path):
    import soak

    copy = tmp_path / "reliability.md"
    before = soak.DOCUMENT.read_text(encoding="utf-8")
    copy.write_text(before, encoding="utf-8")
    monkeypatch.setattr(soak, "DOCUMENT", copy)
    monkeypatch.setattr(
        sys, "argv", ["soak_runs.py", "--only", "Memory", "--runs", "400", "--write"]
    )
    with pytest.raises(SystemExit):  # with 1 if memory grew, which so few runs do not show
        soak_runs.main()
    after = copy.read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() in after
    assert after.startswith(before[: before.index(soak_runs.BEGIN)])
    assert after.endswith(before[before.index(soak_runs.END) :])
