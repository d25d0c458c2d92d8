"""The examples of `docs/command-line.md`, run and compared."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import commands, logs
from support.commands import POSIX

pytest.importorskip("typer", reason="the command line is in the extra cli")

DOCUMENT = Path(__file__).parents[2] / "docs" / "command-line.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DIFFERENT = "…"
"""Stands for any text in a line; at the end of a line, for any number of further lines too."""

EXAMPLES = [match.group(1) for match in BLOCK.finditer(DOCUMENT.read_text(encoding="utf-8"))]


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """An environment in which `cogency-rs` is this package's command line."""
    program = tmp_path / "bin" / "cogency-rs"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cogency_rs "$@"\n')
    program.chmod(0o755)
    return commands.environment(PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@POSIX
@pytest.mark.parametrize(
    "example", EXAMPLES, ids=[example.split("\n")[0][2:40] for example in EXAMPLES]
)
def test_an_example_is_what_the_command_line_prints(tmp_path, environment, example):
    folder = tmp_path / "folder"
    folder.mkdir()
    logs.write(folder / "store.db", logs.SESSION)
    steps = [step.partition("\n") for step in re.split(r"^\$ ", example, flags=re.MULTILINE)[1:]]
    separator = "\x01"
    script = "".join(f"{step[0]}\nstatus=$?; printf '\\001'; (exit $status)\n" for step in steps)
    done = subprocess.run(
        ["sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=environment,
        timeout=100,
        check=False,
    )
    printed = done.stdout.split(separator)[:-1]
    assert len(printed) == len(steps)
    for (step, _, expected), out in zip(steps, printed, strict=True):
        assert re.fullmatch(pattern(expected), out), f"{step} printed:\n{out}"


def pattern(expected: str) -> str:
    """The regular expression for an expected output, in which `DIFFERENT` matches as it says."""
    text = re.escape(expected)
    return text.replace(re.escape(DIFFERENT) + "\\\n", "[^\0]*?\\\n").replace(
        re.escape(DIFFERENT), ".*"
    )


def test_the_document_has_an_example_of_every_command_that_prints_the_same_each_time():
    text = "".join(EXAMPLES)
    assert all(
        f"cogency-rs {name}" in text for name in ("parse", "dialects", "show", "timeline", "doctor")
    )


@POSIX
def test_the_picture_of_the_document_is_what_the_example_draws(tmp_path):
    logs.write(tmp_path / "store.db", logs.SESSION)
    ended = commands.run("timeline", "store.db", "staging", "-o", "timeline.svg", cwd=tmp_path)
    assert ended.code == 0
    drawn = tmp_path / "timeline.svg"
    if "COGENCY_RS_REDRAW" in os.environ:
        shutil.copy(drawn, DOCUMENT.with_name("timeline.svg"))
    assert drawn.read_bytes() == DOCUMENT.with_name("timeline.svg").read_bytes()
