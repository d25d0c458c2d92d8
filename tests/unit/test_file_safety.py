"""What the tools for files never touch, what a file keeps when it is written, and what a preview shows of it."""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from cogency_rs import SQLite
from cogency_rs.errors import ConfigError
from cogency_rs.tools import file_tools
from support.commands import POSIX
from support.file_calls import Call, caller, preview, problem
from support.programs import printed

EVERY_TOOL: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {}),
    ("search_files", {"text": "token"}),
    ("edit_file", {"old": "token", "new": "x"}),
    ("write_file", {"content": "x"}),
]


@pytest.fixture
def place(tmp_path) -> Path:
    place = tmp_path / "place"
    (place / ".git" / "hooks").mkdir(parents=True)
    (place / ".git" / "config").write_text("token\n")
    (place / "module" / ".git").mkdir(parents=True)
    (place / "module" / ".git" / "config").write_text("token\n")
    (place / "tree").mkdir()
    (place / "tree" / ".git").write_text("gitdir: token\n")
    (place / "a.txt").write_text("one\ntwo\n")
    return place


@pytest.fixture
def call(place) -> Call:
    return caller(place)


def names(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


def contents(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }


# .git


@pytest.mark.parametrize(("name", "args"), EVERY_TOOL)
@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        "module/.git/config",
        "tree/.git",
        "./.git//config",
        "module/../.git/config",
        ".GIT/config",
        ".Git/hooks/pre-commit",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        "git~1/config",
        "GIT~1/config",
        ".g\u200cit/config",
        "new/.git/config",
    ],
)
async def test_git_is_closed_to_every_tool_whatever_a_file_system_takes_for_its_name(
    call, place, name, args, path
):
    before = contents(place)
    assert (
        problem(await call(name, path=path, **args))
        == f"{path} is closed to these tools: .git holds credentials, and programs that git runs"
    )
    assert contents(place) == before


@pytest.mark.parametrize(
    "path", [".github/a", ".gitignore", "git/a", "a.git/b", "git~2/a", ".gi/t"]
)
async def test_names_that_only_resemble_git_are_names_like_any_other(call, place, path):
    assert not (await call("write_file", path=path, content="x")).error
    assert (place / path).read_text() == "x"


async def test_git_is_listed_as_closed_and_never_searched(call):
    listed = (await call("list_files", recursive=True)).content.split("\n")
    assert listed == [
        ".git  (closed to these tools)",
        "a.txt  8",
        "module/",
        "module/.git  (closed to these tools)",
        "tree/",
        "tree/.git  (closed to these tools)",
    ]
    assert (await call("search_files", text="token")).content == ""
    assert "is closed to these tools" in problem(await call("list_files", path=".git"))


@pytest.mark.parametrize("directory", [".git", ".git/hooks"])
def test_tools_cannot_be_made_for_a_folder_in_git(place, directory):
    with pytest.raises(ConfigError, match=r"it is in \.git, which is closed to tools"):
        file_tools(place / directory)


def bare(folder: Path) -> None:
    """What git makes for a bare repository."""
    for name in ("hooks", "objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text("token\n")
    (folder / "hooks" / "post-update").write_text("token\n")


@pytest.mark.parametrize(("name", "args"), EVERY_TOOL)
@pytest.mark.parametrize("of", ["x.git", "mirror", "deep/X.GIT"])
@pytest.mark.parametrize("what", ["config", "hooks/post-update", "hooks/new", "new"])
async def test_a_bare_repository_is_closed_like_git(call, place, name, args, of, what):
    bare(place / of)
    before = contents(place)
    said = problem(await call(name, path=f"{of}/{what}", **args))
    assert (
        f"{of}/{what} is closed to these tools: {of.rpartition('/')[2]} holds credentials" in said
    )
    assert contents(place) == before
    assert (await call("search_files", text="token")).content == ""
    assert "token" not in (await call("list_files", recursive=True)).content


@pytest.mark.parametrize(("name", "args"), EVERY_TOOL)
@pytest.mark.parametrize("what", ["config", "hooks/post-update", "HEAD", "Config", "modules/a"])
async def test_what_git_reads_is_closed_in_a_folder_that_is_called_a_repository(
    call, place, name, args, what
):
    path = place / "x.git" / what
    path.parent.mkdir(parents=True)
    path.write_text("token\n")
    assert "is closed to these tools: x.git holds" in problem(
        await call(name, path=f"x.git/{what}", **args)
    )
    assert (await call("search_files", text="token")).content == ""


async def test_the_folder_of_a_work_tree_elsewhere_is_closed(call, place):
    (place / "wt").mkdir()
    (place / "wt" / "HEAD").write_text("ref: x\n")
    (place / "wt" / "commondir").write_text("token\n")
    assert "is closed" in problem(await call("read_file", path="wt/commondir"))


def test_tools_cannot_be_made_for_a_bare_repository(place):
    bare(place / "mirror")
    with pytest.raises(ConfigError, match="git keeps a repository in it"):
        file_tools(place / "mirror")


# Hard links.


@POSIX
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "outside and inside"])
async def test_a_file_with_a_name_outside_is_not_read(call, place, inside):
    (place.parent / "outside.txt").write_text("token\n")
    os.link(place.parent / "outside.txt", place / "same.txt")
    if inside:
        os.link(place / "same.txt", place / "again.txt")
    assert "has other names (hard links)" in problem(await call("read_file", path="same.txt"))
    said = problem(await call("search_files", text="token", path="same.txt"))
    assert "has other names (hard links)" in said
    found = await call("search_files", text="token")
    assert (found.content, "left out" in found.outcome) == ("", True)
    await call("write_file", path="same.txt", content="x")
    assert (place.parent / "outside.txt").read_text() == "token\n"


@POSIX
async def test_a_file_whose_names_are_all_inside_is_read(call, place):
    (place / "deep").mkdir()
    os.link(place / "a.txt", place / "deep" / "b.txt")
    assert (await call("read_file", path="deep/b.txt")).content == "one\ntwo\n"
    assert (await call("search_files", text="two", path="a.txt")).content == "a.txt:2: two"


# The log of the program.

WRITES = """
async def write():
    async with SQLite(sys.argv[1]) as log:
        await log.save_message("c", "u", "respond", "other", 1.5)

asyncio.run(write())
print("written")
"""


@pytest.mark.parametrize(("name", "args"), EVERY_TOOL)
@pytest.mark.parametrize("part", ["", "-wal", "-shm"])
async def test_a_log_that_the_program_has_open_is_closed_to_every_tool(
    call, place, name, args, part
):
    async with SQLite(place / "log.db") as log:
        await log.save_message("c", "u", "user", "token", 1.0)
        path = f"log.db{part}"
        assert (
            problem(await call(name, path=path, **args))
            == f"{path} is closed to these tools: this program keeps its log in it"
        )
    assert "closed to these tools" not in (await call(name, path="log.db", **args)).outcome


@POSIX
async def test_a_search_leaves_a_log_that_the_program_has_open_alone(call, place):
    """Another program that closes the log would otherwise take it for closed, and remove its WAL."""
    async with SQLite(place / "log.db") as log:
        await log.save_message("c", "u", "user", "token", 1.0)
        found = await call("search_files", text="two")
        assert printed(WRITES, place / "log.db") == "written\n"
        assert "log.db-wal" in names(place)
        await log.save_message("c", "u", "respond", "more", 2.0)
        assert [row["content"] for row in (await log.read("c")).rows] == ["token", "other", "more"]
    assert found.content == "a.txt:2: two"
    assert found.outcome == "1 line in 1 file; 4 files left out: large, not text, or not to be read"


# What is not a file.


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root makes devices")


@POSIX
@pytest.mark.parametrize("make", [make_pipe, make_socket, make_device])
@pytest.mark.parametrize(("name", "args"), EVERY_TOOL)
async def test_pipes_sockets_and_devices_are_neither_read_nor_replaced(
    call, place, make, name, args
):
    make(place / "odd")
    kind = (place / "odd").stat().st_mode
    assert (
        problem(await call(name, path="odd", **args))
        == "odd is a pipe, a socket or a device, not a file"
    )
    assert (place / "odd").stat().st_mode == kind


# What a file keeps.


@POSIX
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0o600, 0o600),
        (0o755, 0o755),
        (0o640, 0o640),
        (0o4755, 0o755),
        (0o2755, 0o755),
        (0o1644, 0o644),
    ],
)
async def test_permissions_stay_but_not_what_gives_a_program_more_rights(
    call, place, before, after
):
    (place / "a.txt").chmod(before)
    await call("edit_file", path="a.txt", old="two", new="2")
    assert stat.S_IMODE((place / "a.txt").stat().st_mode) == after
    assert (place / "a.txt").read_text() == "one\n2\n"


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o555])
@pytest.mark.parametrize(
    ("name", "args"), [("edit_file", {"old": "two", "new": "2"}), ("write_file", {"content": "x"})]
)
async def test_a_read_only_file_is_refused_and_stays_as_it_is(call, place, name, args, mode):
    (place / "a.txt").chmod(mode)
    if os.name != "posix":
        mode = 0o444
    sentence = f"a.txt is read-only (mode {mode:04o}), so it is left as it is; ask its owner to make it writable"
    before = (place / "a.txt").stat()
    assert preview(place, name, path="a.txt", **args) == f"would fail: {sentence}"
    assert problem(await call(name, path="a.txt", **args)) == sentence
    assert (place / "a.txt").stat() == before
    assert sorted(path.name for path in place.iterdir()) == [".git", "a.txt", "module", "tree"]


@POSIX
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)
async def test_a_file_of_somebody_else_keeps_its_owner_and_its_group(call, place):
    os.chown(place / "a.txt", 12345, 23456)
    await call("write_file", path="a.txt", content="x")
    status = (place / "a.txt").stat()
    assert (status.st_uid, status.st_gid) == (12345, 23456)


@POSIX
async def test_a_file_whose_owner_cannot_be_kept_is_left_as_it_is(call, place, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    assert problem(await call("write_file", path="a.txt", content="x")) == (
        "a.txt is left as it is: its owner, permissions and attributes cannot be kept (Operation not permitted)"
    )
    assert (place / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.skipif(sys.platform != "linux", reason="extended attributes as Linux has them")
async def test_attributes_of_users_stay(call, place):
    try:
        os.setxattr(place / "a.txt", "user.origin", b"a scan")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    await call("write_file", path="a.txt", content="x")
    assert os.getxattr(place / "a.txt", "user.origin") == b"a scan"


@POSIX
async def test_other_names_of_a_file_keep_the_old_text_and_the_preview_says_so(call, place):
    os.link(place / "a.txt", place / "b.txt")
    shown = preview(place, "edit_file", path="a.txt", old="two", new="2")
    assert shown.endswith("\nthe other names of the file (hard links) keep the old text")
    result = await call("edit_file", path="a.txt", old="two", new="2")
    assert result.outcome.endswith("; the other names of the file (hard links) keep the old text")
    assert ((place / "a.txt").read_text(), (place / "b.txt").read_text()) == (
        "one\n2\n",
        "one\ntwo\n",
    )


# What a preview shows.


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a\n", "a\r\n", "-a\n+a\r"),
        ("a\n", "a", "-a\n+a\n\\ No newline at end of file"),
        ("a", "a\n", "-a\n\\ No newline at end of file\n+a"),
        ("a\u2028b\n", "a\nb\n", "-a\u2028b\n+a\n+b"),
        ("a \n", "a\n", "-a \n+a"),
    ],
)
def test_a_preview_shows_changes_of_line_ends_too(place, before, after, shown):
    (place / "a.txt").write_bytes(before.encode())
    assert preview(place, "write_file", path="a.txt", content=after).endswith(shown)


def test_a_preview_says_that_an_empty_file_is_made(place):
    assert preview(place, "write_file", path="empty", content="") == "an empty file is made"


def test_a_path_cannot_pretend_to_be_a_line_of_the_preview(place):
    shown = preview(place, "write_file", path="a\n+++ b/b", content="x\n")
    assert shown.split("\n")[1:] == ['+++ b/"a\\n+++ b/b"', "@@ -0,0 +1 @@", "+x"]


LINES = st.text("ab\r\n \t\u2028", max_size=8)


@settings(deadline=None)
@given(
    before=st.lists(LINES, min_size=2, max_size=2), after=st.lists(LINES, min_size=2, max_size=2)
)
def test_each_change_has_a_preview_of_its_own(tmp_path_factory, before, after):
    place = tmp_path_factory.mktemp("place")
    shown = []
    for old, new in zip(before, after, strict=True):
        (place / "a.txt").write_bytes(old.encode())
        shown.append(preview(place, "write_file", path="a.txt", content=new))
    is_same = (before[0], after[0]) == (before[1], after[1])
    changes_nothing = before[0] == after[0] and before[1] == after[1]
    assert (shown[0] == shown[1]) == (is_same or changes_nothing)
