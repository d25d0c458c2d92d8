"""Folders that are replaced by links, and other changes, while a tool works in them."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cogency_rs.errors import ToolError
from cogency_rs.tools.folder import Folder
from support.commands import POSIX

pytestmark = POSIX


@pytest.fixture
def place(tmp_path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("secret")
    (tmp_path / "place" / "inner").mkdir(parents=True)
    (tmp_path / "place" / "inner" / "file").write_text("public")
    return tmp_path / "place"


def swap(place: Path) -> None:
    """Replace the inner folder with a link to a folder outside `place`."""
    (place / "inner").rename(place / "moved")
    (place / "inner").symlink_to("../outside")


def swap_back(place: Path) -> None:
    (place / "inner").unlink()
    (place / "moved").rename(place / "inner")


@contextlib.contextmanager
def refused_only_for_links() -> Iterator[None]:
    """Check that the block either works or is refused because of a link."""
    try:
        yield
    except ToolError as error:
        if "links are not followed" not in str(error):
            raise


def act_before(monkeypatch: pytest.MonkeyPatch, name: str, number: int, act: object) -> None:
    """Have `act` called once, just before call `number` of the function `name` of `os`."""
    original, calls = getattr(os, name), 0

    def called(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == number:
            act()
        return original(*args, **kwargs)

    monkeypatch.setattr(os, name, called)


def swaps_at_any_moment(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str, work: Callable[[], None]
) -> int:
    """Do `work` again and again, with a swap before each of its calls of `os.<name>` in turn; returns their number."""
    for number in itertools.count(1):
        with monkeypatch.context() as patched:
            act_before(patched, name, number, lambda: swap(place))
            with refused_only_for_links():
                work()
        if not (place / "inner").is_symlink():
            return number - 1
        swap_back(place)
    raise AssertionError("unreachable")


@pytest.mark.parametrize(("name", "calls"), [("open", 3), ("stat", 3)])
def test_a_folder_that_becomes_a_link_at_any_moment_of_a_read_does_not_lead_out(
    place, monkeypatch, name, calls
):
    folder = Folder(place)

    def read() -> None:
        with folder.opened("inner/file") as file:
            assert file.read() == b"public"

    assert swaps_at_any_moment(place, monkeypatch, name, read) >= calls


@pytest.mark.parametrize(
    ("name", "calls"), [("open", 3), ("stat", 3), ("replace", 1), ("mkdir", 1)]
)
def test_a_folder_that_becomes_a_link_at_any_moment_of_a_write_does_not_lead_out(
    place, monkeypatch, name, calls
):
    folder, outside = Folder(place), place.parent / "outside"

    def write() -> None:
        folder.write("inner/file", b"new")

    assert swaps_at_any_moment(place, monkeypatch, name, write) >= calls
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("file", "secret")]


def test_a_file_that_becomes_a_link_before_it_is_opened_is_refused(place, monkeypatch):
    folder, file = Folder(place), place / "inner" / "file"

    def swap_file() -> None:
        file.unlink()
        file.symlink_to(place.parent / "outside" / "file")

    act_before(monkeypatch, "open", 3, swap_file)
    with pytest.raises(ToolError), folder.opened("inner/file") as opened:
        opened.read()


def test_a_folder_that_was_replaced_is_refused(place):
    folder = Folder(place)
    place.rename(place.parent / "old")
    (place / "inner").mkdir(parents=True)
    with pytest.raises(ToolError, match="was replaced by another folder while in use"):
        folder.entries()


def test_a_write_that_fails_leaves_the_file_and_nothing_beside_it(place, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    folder = Folder(place)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ToolError, match="inner/file cannot be used: No space left on device"):
        folder.write("inner/file", b"new")
    inner = place / "inner"
    assert [(path.name, path.read_text()) for path in inner.iterdir()] == [("file", "public")]


def test_no_descriptor_is_left_open(place):
    folder = Folder(place)

    def read(path: str) -> None:
        with folder.opened(path) as file:
            file.read()

    def write(path: str) -> None:
        folder.write(path, b"new")

    known = descriptors()
    for work in (read, folder.entries, write):
        for path in ["inner/file", "inner", "none/x", "inner/none", ".."]:
            with contextlib.suppress(ToolError):
                work(path)
            assert descriptors() <= known, f"{work} of {path} left one open"


def descriptors() -> set[str]:
    """The open descriptors, with the one that lists them: it has the lowest free number, as it had before."""
    return set(os.listdir("/dev/fd"))  # noqa: PTH208


def test_a_link_that_appears_and_disappears_never_leads_out(place):
    folder, done = Folder(place), threading.Event()

    def flicker() -> None:
        while not done.is_set():
            swap(place)
            swap_back(place)

    flickering = threading.Thread(target=flicker)
    flickering.start()
    try:
        for _ in range(300):
            with contextlib.suppress(ToolError), folder.opened("inner/file") as file:
                assert file.read() == b"public"
    finally:
        done.set()
        flickering.join()
