"""Writes of files that fail, or whose program dies, at each step; and files that change meanwhile."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cogency_rs import Execution, ToolCall, ToolResult, execute_tools
from cogency_rs.errors import ToolError
from cogency_rs.tools import file_tools
from cogency_rs.tools.folder import Folder
from support.commands import POSIX

pytestmark = POSIX

STEPS = ["open", "fstat", "stat", "fsync", "fchmod", "replace"]
"""The functions of `os` that a write calls, each more than once."""

OLD, NEW = b"the old text\n", b"the new text\n" * 10_000


@pytest.fixture
def place(tmp_path) -> Path:
    place = tmp_path / "place"
    (place / "inner").mkdir(parents=True)
    (place / "inner" / "file").write_bytes(OLD)
    return place


DYING = """
import os, sys
from cogency_rs.tools.folder import Folder

step, number, place, path = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
folder, known, calls = Folder(place), getattr(os, step), 0

def called(*args, **kwargs):
    global calls
    calls += 1
    if calls == number:
        os._exit(9)
    return known(*args, **kwargs)

setattr(os, step, called)
folder.write(path, b"the new text\\n" * 10_000)
"""


@pytest.mark.parametrize("path", ["inner/file", "inner/made"])
@pytest.mark.parametrize("step", STEPS)
def test_a_program_that_dies_at_any_step_leaves_the_old_text_or_the_new(place, step, path):
    for number in itertools.count(1):
        args = [sys.executable, "-c", DYING, step, str(number), str(place), path]
        died = subprocess.run(args, timeout=60, check=False).returncode == 9
        file = place / path
        assert file.exists() or path == "inner/made"
        assert not file.exists() or file.read_bytes() in (OLD, NEW)
        if not died:
            assert file.read_bytes() == NEW
            break
        if path == "inner/made":
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(OLD)
    keeps = step in ("fstat", "fchmod")  # only a file that is replaced has anything to keep
    assert number > 1 or (keeps and path == "inner/made"), "no step was reached"


def failing(monkeypatch: pytest.MonkeyPatch, step: str, number: int) -> list[int]:
    """Have call `number` of a function of `os` fail in this thread; returns the numbers of its calls so far."""
    known, calls = getattr(os, step), list[int]()
    thread = threading.get_ident()

    def called(*args, **kwargs):
        if threading.get_ident() != thread:  # what other tests have left calls it, too
            return known(*args, **kwargs)
        calls.append(len(calls) + 1)
        if calls[-1] == number:
            raise OSError(5, "Input/output error")
        return known(*args, **kwargs)

    monkeypatch.setattr(os, step, called)
    return calls


@pytest.mark.parametrize("step", STEPS)
def test_a_write_that_fails_at_any_step_leaves_one_whole_file_and_no_other(
    place, monkeypatch, step
):
    folder, inner = Folder(place), place / "inner"
    for number in itertools.count(1):
        (inner / "file").write_bytes(OLD)
        with monkeypatch.context() as patched:
            calls = failing(patched, step, number)
            try:
                folder.write("inner/file", NEW)
                error = ""
            except ToolError as failed:
                error = str(failed)
        left = [(path.name, path.read_bytes()) for path in inner.iterdir()]
        if number not in calls:
            assert (left, error) == ([("file", NEW)], "")
            break
        is_written = error.startswith("inner/file is written, but it may be lost if the machine")
        assert left == [("file", NEW if is_written else OLD)]
        assert "Input/output error" in error
    assert number > 1


def test_the_text_is_on_the_disk_before_it_has_the_name_and_the_name_before_the_write_is_over(
    place, monkeypatch
):
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        sync(descriptor)
        done.append(f"sync {Path(f'/dev/fd/{descriptor}').readlink().name}")

    def replaced(old: str, new: str, **within: int) -> None:
        replace(old, new, **within)
        done.append(f"rename {old} {new}")

    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux names the file of a descriptor")
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    Folder(place).write("inner/new/file", NEW)
    temporary = done[1].removeprefix("sync ")
    assert done == ["sync inner", f"sync {temporary}", f"rename {temporary} file", "sync new"]


def test_nobody_else_may_read_the_new_text_of_a_private_file_while_it_is_written(
    place, monkeypatch
):
    (place / "inner" / "file").chmod(0o600)
    modes: list[int] = []
    opened = os.open

    def open_(path, flags, mode=0o777, **within):
        if flags & os.O_CREAT:
            modes.append(mode & 0o077)
        return opened(path, flags, mode, **within)

    monkeypatch.setattr(os, "open", open_)
    Folder(place).write("inner/file", NEW)
    assert modes == [0]


# Files that change meanwhile.


def change_before(monkeypatch: pytest.MonkeyPatch, step: str, file: Path) -> None:
    """Have another program write a file just before the first call of a function of `os`."""
    known, changed = getattr(os, step), False

    def called(*args, **kwargs):
        nonlocal changed
        if not changed:
            changed = True
            file.write_bytes(b"written by another program\n")
        return known(*args, **kwargs)

    monkeypatch.setattr(os, step, called)


@pytest.mark.parametrize("path", ["inner/file", "inner/made"])
async def test_a_file_that_another_program_writes_meanwhile_is_left_as_it_is(
    place, monkeypatch, path
):
    change_before(monkeypatch, "fsync", place / path)
    [result] = await execute_tools(
        [ToolCall("write_file", {"path": path, "content": "x"})],
        execution=Execution(storage=None, tools=file_tools(place)),
        approve=lambda _context, _call: True,
    )
    assert isinstance(result, ToolResult)
    assert result.outcome == (
        f"Tool execution failed: {path} was changed by another program meanwhile, and nothing was written; "
        "read it again"
    )
    assert (place / path).read_bytes() == b"written by another program\n"
    assert {entry.name for entry in (place / "inner").iterdir()} == {"file", Path(path).name}
