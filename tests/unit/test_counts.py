"""`make counts`: it fails if a row takes more instructions than before, and counts nothing where they would differ."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
KEPT = {"core": "tested", "python": PYTHON, "counts": {"parse": 1_000, "import": 1_000}}


@pytest.fixture
def counts(monkeypatch, tmp_path) -> Iterator[Any]:
    """The module `benches/counts.py`, which is not part of a package, with a file of its own."""
    monkeypatch.syspath_prepend(str(BENCHES))
    import counts

    monkeypatch.setattr(counts, "FILE", tmp_path / "counts.json")
    counts.FILE.write_text(json.dumps(KEPT))
    monkeypatch.setattr(counts.shutil, "which", lambda _: "/usr/bin/valgrind")
    return counts


@pytest.fixture
def count(counts, monkeypatch) -> Callable[..., None]:
    """Run the program where a row takes so many instructions."""

    def count(parse: int, *options: str, core: str = "tested") -> None:
        monkeypatch.setattr(counts, "_counted", lambda _: {"parse": parse, "import": 1_000})
        monkeypatch.setattr(sys, "argv", ["counts.py", "--core", core, *options])
        counts.main()

    return count


def test_the_kept_counts_are_those_of_fifteen_rows():
    kept = json.loads((BENCHES / "counts.json").read_text())
    assert (kept["core"], len(kept["counts"])) == ("tested", 15)


@pytest.mark.parametrize("parse", [500, 1_000, 1_029])
def test_less_or_a_little_more_passes(count, parse):
    count(parse)


def test_more_fails_and_names_the_row(count):
    with pytest.raises(SystemExit, match=r"above counts.json: parse \(\+3\.1%\)\. If"):
        count(1_031)


def test_an_update_keeps_what_is_counted(count, counts):
    count(2_000, "--update")
    assert json.loads(counts.FILE.read_text())["counts"] == {"parse": 2_000, "import": 1_000}
    count(2_000)


@pytest.mark.parametrize(
    ("core", "said"),
    [
        ("release", "counted with core tested, and this is release"),
        ("", "it is not known how the core was built"),
    ],
)
def test_another_core_is_not_counted(count, capsys, core, said):
    count(9_000, core=core)
    assert said in capsys.readouterr().out


def test_without_valgrind_nothing_is_counted(count, counts, monkeypatch, capsys):
    monkeypatch.setattr(counts.shutil, "which", lambda _: None)
    count(9_000)
    assert "there is no valgrind" in capsys.readouterr().out
