"""What type checkers say of programs that users may write: `tests/typing/passes`, and one mistake each in `fails`.

`make types` checks these folders too. There a comment keeps each mistake quiet; here it is taken out, and the checkers
must say exactly what it names.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parents[1] / "typing"
ROOT = PROGRAMS.parents[1]
MYPY = re.compile(r"  # type: ignore\[([^]]*)\]")
PYRIGHT = re.compile(r"  # pyright: ignore\[([^]]*)\]")
FAILS = sorted((PROGRAMS / "fails").glob("*.py"))

Found = set[tuple[str, int, str]]
"""The errors of a checker: file, line and rule."""


def expected(comment: re.Pattern[str]) -> Found:
    return {
        (path.name, number, rule)
        for path in FAILS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for named in comment.findall(line)
        for rule in named.split(", ")
    }


@pytest.mark.parametrize("comment", [MYPY, PYRIGHT], ids=["mypy", "pyright"])
def test_each_program_that_fails_has_one_mistake_and_the_others_have_none(comment):
    marked = Counter(name for name, _ in {(name, line) for name, line, _ in expected(comment)})
    assert marked == Counter(path.name for path in FAILS)
    for path in (PROGRAMS / "passes").glob("*.py"):
        assert comment.search(path.read_text("utf-8")) is None, path


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both folders, without the comments."""
    folder = tmp_path_factory.mktemp("programs")
    for kind in ("passes", "fails"):
        shutil.copytree(PROGRAMS / kind, folder / kind)
    for path in folder.rglob("*.py"):
        text = path.read_text("utf-8")
        path.write_text(PYRIGHT.sub("", MYPY.sub("", text)), "utf-8")
    return folder


def checked(checker: str, *arguments: str, in_folder: Path) -> str:
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed: it is in the extra `types`")
    command = [sys.executable, "-m", checker, *arguments]
    return subprocess.run(command, cwd=in_folder, capture_output=True, text=True).stdout


def test_mypy_finds_the_mistakes_and_nothing_else(copied):
    # With the repository's own settings, so that the checkers' caches of the package are used again.
    said = checked("mypy", "--output", "json", str(copied), in_folder=ROOT)
    errors = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    found = {
        (Path(each["file"]).name, each["line"], each["code"])
        for each in errors
        if each["severity"] == "error"
    }
    assert found == expected(MYPY)


def test_pyright_finds_the_mistakes_and_nothing_else(copied):
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT / "python")],
        "pythonVersion": "3.11",
    }
    (copied / "pyrightconfig.json").write_text(json.dumps(settings))
    said = checked("pyright", "--outputjson", "--pythonpath", sys.executable, in_folder=copied)
    found = {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, each["rule"])
        for each in json.loads(said)["generalDiagnostics"]
    }
    assert found == expected(PYRIGHT)
