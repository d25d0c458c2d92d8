"""Folders that are replaced by links, and other changes, while a tool works in them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogency_rs import ToolError
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
    """Replace the inner folder by a link that leads out."""
    (place / "inner").rename(place / "moved")
    (place / "inner").symlink_to("../outside")


@contextlib.contextmanager
def refusal_of_links() -> Iterator[None]:
    """Check that the block works, or is refused because of a link, and not for any other reason."""
    with contextlib.ExitStack() as stack:
        try:
            yield
        except ToolError:
            stack.enter_context(pytest.raises(ToolError, match="links are not followed"))
            raise


def before(monkeypatch: pytest.MonkeyPatch, name: str, number: int, act: object) -> None:
    """Act once, just before the `number`th call of a function of `os`."""
    original, calls = getattr(os, name), 0

    def called(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == number:
            act()
        return original(*args, **kwargs)

    monkeypatch.setattr(os, name, called)


@pytest.mark.parametrize("number", range(1, 5))
@pytest.mark.parametrize("name", ["open", "stat"])
def test_a_folder_that_becomes_a_link_at_any_moment_of_a_read_does_not_lead_out(
    place, monkeypatch, name, number
):
    folder = Folder(place)
    with monkeypatch.context() as patched:
        before(patched, name, number, lambda: swap(place))
        with refusal_of_links(), folder.opened("inner/file") as file:
            assert file.read() == b"public"


@pytest.mark.parametrize("number", range(1, 6))
@pytest.mark.parametrize("name", ["open", "stat", "replace", "mkdir"])
def test_a_folder_that_becomes_a_link_at_any_moment_of_a_write_does_not_lead_out(
    place, monkeypatch, name, number
):
    folder = Folder(place)
    with monkeypatch.context() as patched:
        before(patched, name, number, lambda: swap(place))
        with refusal_of_links():
            folder.write("inner/file", b"new")
    outside = place.parent / "outside"
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("file", "secret")]


def test_a_file_that_becomes_a_link_before_it_is_opened_is_refused(place, monkeypatch):
    folder, file = Folder(place), place / "inner" / "file"

    def swap_file() -> None:
        file.unlink()
        file.symlink_to(place.parent / "outside" / "file")

    before(monkeypatch, "open", 3, swap_file)
    with pytest.raises(ToolError), folder.opened("inner/file") as opened:
        opened.read()


def test_a_folder_that_was_replaced_is_refused(place):
    folder = Folder(place)
    place.rename(place.parent / "old")
    (place / "inner").mkdir(parents=True)
    with pytest.raises(ToolError, match="is not the folder any more that it was"):
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
    known = len(os.listdir("/dev/fd"))  # noqa: PTH208
    for path in ["inner/file", "inner", "none/x", "inner/none", ".."]:
        for work in (folder.opened(path).__enter__, lambda path=path: folder.entries(path)):
            with contextlib.suppress(ToolError):
                work()
    assert len(os.listdir("/dev/fd")) <= known + 1  # noqa: PTH208


def test_a_link_that_appears_and_disappears_never_leads_out(place):
    folder, over = Folder(place), threading.Event()

    def flicker() -> None:
        while not over.is_set():
            swap(place)
            (place / "inner").unlink()
            (place / "moved").rename(place / "inner")

    flickering = threading.Thread(target=flicker)
    flickering.start()
    try:
        for _ in range(300):
            with contextlib.suppress(ToolError), folder.opened("inner/file") as file:
                assert file.read() == b"public"
    finally:
        over.set()
        flickering.join()
