"""The tools for the files of a folder: what they return, what they refuse, and that no path leads out of it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, strategies as st

from cogency_rs import Execution, ToolCall, execute_tools
from cogency_rs.errors import ConfigError
from cogency_rs.tools import file_changes, file_tools, folder as folder_module
from cogency_rs.tools.options import options_of
from support.commands import POSIX
from support.examples import examples
from support.file_calls import Call, caller, preview, problem


@pytest.fixture(params=["descriptors", "paths"])
def place(request, tmp_path, monkeypatch) -> Path:
    """A folder next to a secret file; used through open folders, and by paths as on systems without them."""
    if request.param == "paths":
        monkeypatch.setattr(folder_module, "_BY_DESCRIPTOR", False)
    elif not folder_module._BY_DESCRIPTOR:
        pytest.skip("this system cannot open a file within an open folder")
    (tmp_path / "secret.txt").write_text("a secret\n")
    place = tmp_path / "place"
    (place / "src").mkdir(parents=True)
    (place / ".git").mkdir()
    (place / "a.txt").write_text("one\ntwo\nthree\n")
    (place / "src" / "main.py").write_text("print('one')\n")
    (place / ".git" / "config").write_text("one\n")
    (place / "logo.png").write_bytes(b"\x89PNG\0\0")
    return place


@pytest.fixture
def call(place) -> Call:
    return caller(place)


def test_tools_that_read_are_read_only_and_tools_that_write_need_approval_and_run_alone(tmp_path):
    options = {tool.name: options_of(tool) for tool in file_tools(tmp_path)}
    reading = ["list_files", "read_file", "search_files"]
    assert list(options) == [*reading, "edit_file", "write_file"]
    for name, option in options.items():
        assert (option.read_only) is (name in reading)
        assert option.asks_when is (name not in reading)
        assert option.sequential is (name not in reading)
        assert (option.preview is None) is (name in reading)


@pytest.mark.parametrize("directory", ["nowhere", "a.txt"])
def test_anything_but_a_folder_is_refused(place, directory):
    with pytest.raises(ConfigError, match="name a folder that exists"):
        file_tools(place / directory)


# Listing.


async def test_a_folder_is_listed_by_name_with_sizes(call):
    result = await call("list_files")
    assert result.outcome == "4 entries in ."
    assert result.content == ".git  (closed to these tools)\na.txt  14\nlogo.png  6\nsrc/"


async def test_listing_goes_into_folders_on_request_but_not_into_hidden_ones(call):
    result = await call("list_files", recursive=True)
    assert result.content.split("\n") == [
        ".git  (closed to these tools)",
        "a.txt  14",
        "logo.png  6",
        "src/",
        "src/main.py  13",
    ]


async def test_a_list_can_be_limited_to_a_pattern_of_names(call):
    assert (await call("list_files", recursive=True, names="*.py")).content == "src/main.py  13"


async def test_a_long_list_says_that_there_is_more(call, place):
    for number in range(510):
        (place / "src" / f"{number:03}").touch()
    result = await call("list_files", path="src")
    assert (
        result.outcome
        == "the first 500 entries in src; there are more: list a folder in it, or give names"
    )
    assert len(result.content.split("\n")) == 500


# Reading.


@pytest.mark.parametrize(
    ("args", "outcome", "content"),
    [
        ({}, "a.txt, 3 lines", "one\ntwo\nthree\n"),
        ({"first_line": 2}, "a.txt, lines 2 to 3 (end of file)", "two\nthree\n"),
        (
            {"lines": 2},
            "a.txt, lines 1 to 2; read on with first_line=3 (14 bytes in all)",
            "one\ntwo\n",
        ),
        (
            {"first_line": 2, "lines": 1},
            "a.txt, lines 2 to 2; read on with first_line=3 (14 bytes in all)",
            "two\n",
        ),
        ({"first_line": 3, "lines": 1}, "a.txt, lines 3 to 3 (end of file)", "three\n"),
    ],
)
async def test_a_file_is_read_by_ranges(call, args, outcome, content):
    result = await call("read_file", path="a.txt", **args)
    assert (result.outcome, result.content, result.error) == (outcome, content, False)


async def test_an_empty_file_is_read(call, place):
    (place / "empty").touch()
    result = await call("read_file", path="empty")
    assert (result.outcome, result.content) == ("empty, 0 lines", "")


async def test_a_range_after_the_end_is_refused(call):
    result = await call("read_file", path="a.txt", first_line=9)
    assert problem(result) == "a.txt has only 3 lines, so there is no line 9"


async def test_ranges_read_one_after_the_other_are_the_whole_of_a_big_file(call, place):
    text = "".join(f"line {number} {'x' * 90}\n" for number in range(3000))
    (place / "big").write_text(text)
    read, line = "", 1
    while True:
        result = await call("read_file", path="big", first_line=line, lines=5000)
        assert len(result.content) <= 30_000
        read += result.content
        if "read on with" not in result.outcome:
            break
        line = int(result.outcome.partition("first_line=")[2].partition(" ")[0])
    assert read == text


async def test_a_long_line_is_cut(call, place):
    (place / "long").write_text("x" * 300_000 + "\nnext\n")
    result = await call("read_file", path="long")
    assert result.content == "x" * 2000 + "… (cut: a long line)\nnext\n"


@pytest.mark.parametrize("data", [b"\x89PNG\0", b"caf\xe9\n", b"a\0b"])
async def test_a_file_that_is_not_text_is_named_and_not_shown(call, place, data):
    (place / "data").write_bytes(data)
    result = await call("read_file", path="data")
    assert (result.outcome, result.content) == (
        f"data is not text: {len(data)} bytes, not shown",
        None,
    )


# Searching.


async def test_lines_are_found_with_their_places(call):
    result = await call("search_files", text="one")
    assert result.content == "a.txt:1: one\nsrc/main.py:1: print('one')"
    assert (
        result.outcome == "2 lines in 2 files; 1 file left out: large, not text, or not to be read"
    )


@pytest.mark.parametrize(
    ("args", "content"),
    [
        ({"text": "ONE"}, ""),
        ({"text": "ONE", "ignore_case": True, "names": "*.txt"}, "a.txt:1: one"),
        ({"text": "one", "path": "src"}, "src/main.py:1: print('one')"),
        ({"text": "two", "path": "a.txt"}, "a.txt:2: two"),
        ({"text": "one", "path": ".hidden"}, ".hidden/notes:1: one"),
        ({"text": "(o+)+$"}, ""),
    ],
)
async def test_a_search_takes_its_text_literally(call, place, args, content):
    (place / ".hidden").mkdir()
    (place / ".hidden" / "notes").write_text("one\n")
    assert (await call("search_files", **args)).content == content


async def test_a_search_with_many_hits_says_so(call, place):
    (place / "many").write_text("hit\n" * 999)
    result = await call("search_files", text="hit")
    assert len(result.content.split("\n")) == 200
    assert result.outcome.startswith("the first 200 lines; there are more")


# Changing.


async def test_an_edit_changes_one_place_and_shows_it(call, place):
    result = await call("edit_file", path="a.txt", old="two", new="2")
    assert (place / "a.txt").read_text() == "one\n2\nthree\n"
    assert result.outcome == "a.txt changed, 1 line added, 1 removed"
    assert "-two\n+2" in result.content


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("four", "old was not found in a.txt; read the file, and copy the lines exactly"),
        (
            "e",
            "old is in a.txt 3 times, at lines 1, 3, 3; give more of the lines around it, or all=true",
        ),
        ("", "old must not be empty; write_file writes a whole file"),
    ],
)
async def test_an_edit_that_does_not_name_one_place_changes_nothing(call, place, old, message):
    assert problem(await call("edit_file", path="a.txt", old=old, new="x")) == message
    assert (place / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_an_edit_of_all_places(call, place):
    await call("edit_file", path="a.txt", old="e", new="E", all=True)
    assert (place / "a.txt").read_text() == "onE\ntwo\nthrEE\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("one\r\ntwo\r\n", "one\ntwo\n", "1\n2\n", "1\r\n2\r\n"),
        ("one\r\ntwo\nthree\n", "one\ntwo\nthree", "1\n2\n3", "1\r\n2\n3\n"),
        ("one\r\ntwo\nthree\n", "two\nthree", "2\n3", "one\r\n2\n3\n"),
        ("one\r\n", "one", "one\r\ntwo", "one\r\ntwo\r\n"),
        ("one\r\ntwo\n", "one", "one\n1.5", "one\r\n1.5\r\ntwo\n"),
        ("one\r\ntwo\n", "two", "two\nthree", "one\r\ntwo\nthree\n"),
        ("one\r\ntwo", "two", "two\nthree", "one\r\ntwo\r\nthree"),
        ("one\r\ntwo\r\n", "\ntwo\n", "\n", "one\r\n"),
        ("one\r\ntwo\r\n", "one\r\ntwo", "one\ntwo", "one\ntwo\r\n"),
        ("one\ntwo\n", "one", "one\r\n1.5", "one\r\n1.5\ntwo\n"),
    ],
)
async def test_an_edit_keeps_a_file_s_line_ends(call, place, before, old, new, after):
    (place / "dos.txt").write_bytes(before.encode())
    await call("edit_file", path="dos.txt", old=old, new=new)
    assert (place / "dos.txt").read_bytes() == after.encode()


async def test_an_edit_of_all_places_keeps_the_line_ends_of_each(call, place):
    (place / "dos.txt").write_bytes(b"k\r\nk\nk")
    await call("edit_file", path="dos.txt", old="k", new="k\nj", all=True)
    assert (place / "dos.txt").read_bytes() == b"k\r\nj\r\nk\nj\nk\nj"


async def test_all_edits_of_one_batch_are_made(place):
    calls = [
        ToolCall("edit_file", {"path": "a.txt", "old": old, "new": old.upper()})
        for old in ("one", "two", "three")
    ]
    await execute_tools(
        calls,
        execution=Execution(storage=None, tools=file_tools(place)),
        approve=lambda _context, _call: True,
    )
    assert (place / "a.txt").read_text() == "ONE\nTWO\nTHREE\n"


async def test_a_new_file_is_made_with_its_folders(call, place):
    result = await call("write_file", path="x/y/z.txt", content="hi\n")
    assert (place / "x/y/z.txt").read_text() == "hi\n"
    assert result.outcome == "x/y/z.txt made, 1 line"


@POSIX
async def test_a_file_that_is_written_keeps_its_permissions(call, place):
    (place / "a.txt").chmod(0o750)
    await call("write_file", path="a.txt", content="x")
    assert (place / "a.txt").stat().st_mode & 0o777 == 0o750
    assert [path.name for path in place.iterdir() if path.name.endswith(".tmp")] == []


async def test_half_a_character_is_refused_and_the_file_stays_as_it_was(call, place):
    result = await call("write_file", path="a.txt", content="a\ud83d")
    assert "a lone surrogate" in problem(result)
    assert (place / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_a_large_file_is_not_edited(call, place):
    (place / "big").write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    assert "too many for these tools" in problem(
        await call("edit_file", path="big", old="x", new="y")
    )


@pytest.mark.parametrize("path", ["src", ".", "", "src/main.py/x"])
async def test_a_folder_cannot_be_written_as_a_file(call, path):
    assert (await call("write_file", path=path, content="x")).error


# Previews.


@pytest.mark.parametrize(
    ("name", "args", "shown"),
    [
        ("edit_file", {"path": "a.txt", "old": "two", "new": "2"}, "\n one\n-two\n+2\n three"),
        (
            "edit_file",
            {"path": "a.txt", "old": "x", "new": "2"},
            "would fail: old was not found in",
        ),
        ("write_file", {"path": "b.txt", "content": "hi\n"}, "--- /dev/null\n+++ b/b.txt\n"),
        ("write_file", {"path": "a.txt", "content": "one\n"}, "-two\n-three"),
        ("write_file", {"path": "a.txt", "content": "one\ntwo\nthree\n"}, "nothing changes"),
        (
            "write_file",
            {"path": "../x", "content": ""},
            "would fail: ../x is outside of the folder",
        ),
        (
            "write_file",
            {"path": "logo.png", "content": "x\n"},
            "-(logo.png is not text: 6 bytes)\n+x",
        ),
        ("write_file", {"path": "n", "content": "x\n" * 999}, "+x\n" * 998 + "+x"),
    ],
)
def test_a_preview_shows_what_a_call_would_do_and_does_nothing(place, name, args, shown):
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert shown in preview(place, name, **args)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("unit", ["*a", "*?", "[", "?", "[!a-", "[a-z]"])
@pytest.mark.parametrize(("name", "args"), [("list_files", {}), ("search_files", {"text": "x"})])
async def test_a_long_pattern_of_names_is_refused_before_it_is_read(call, place, name, args, unit):
    (place / ("a" * 250)).write_text("x")
    assert not (await call(name, names=(unit * 500)[:500], **args)).error
    said = problem(await call(name, names=unit * 500_000, **args))
    assert f"names has {len(unit) * 500_000:,} characters" in said
    assert "at most 500" in said


async def test_a_difference_that_was_shown_is_not_made_again(place, monkeypatch):
    made = []
    difference = file_changes.line_difference
    monkeypatch.setattr(
        file_changes, "line_difference", lambda *texts: made.append(texts) or difference(*texts)
    )
    tools = {tool.name: tool for tool in file_tools(place)}
    changes = [
        ("edit_file", {"path": "a.txt", "old": "two", "new": "2"}),
        ("write_file", {"path": "a.txt", "content": "x\n"}),
        ("write_file", {"path": "new.txt", "content": "x\n"}),
    ]
    for number, (name, args) in enumerate(changes, start=1):
        options_of(tools[name]).preview(ToolCall(name, args, id="c"))  # the question
        options_of(tools[name]).preview(ToolCall(name, args))  # whether it is still what was shown
        tools[name](**args)
        assert len(made) == number
    # What was shown and is not made is not mistaken for another change.
    options_of(tools["write_file"]).preview(
        ToolCall("write_file", {"path": "a.txt", "content": "y\n"}, id="d")
    )
    assert tools["edit_file"](path="a.txt", old="x", new="z").content.endswith("-x\n+z")


@pytest.mark.parametrize("name", ["edit_file", "write_file"])
async def test_the_largest_file_whose_lines_repeat_is_changed_and_its_preview_is_exact(
    call, place, name
):
    rows = [f"row,{number * 7919 % 130},ok\n" for number in range(400_000)]
    assert 4_000_000 < sum(map(len, rows)) < 4 * 1024 * 1024
    (place / "t.csv").write_text("".join(rows), newline="")
    after = [row.replace("row,7,ok", "row,7,no") for row in rows]
    args = (
        {"old": "row,7,ok", "new": "row,7,no", "all": True}
        if name == "edit_file"
        else {"content": "".join(after)}
    )
    shown = preview(place, name, path="t.csv", **args)
    changed = sum(row == "row,7,ok\n" for row in rows)
    assert shown.count("\n-row,7,ok\n+row,7,no") == changed > 3_000
    assert not (await call(name, path="t.csv", **args)).error
    assert (place / "t.csv").read_text() == "".join(after)


@pytest.mark.parametrize("run", ["preview", "call"])
async def test_an_edit_that_would_multiply_a_file_is_refused(call, place, run):
    (place / "a.txt").write_text("x" * 1_000_000)
    args = {"path": "a.txt", "old": "x", "new": "y" * 1_000_000, "all": True}
    said = (
        preview(place, "edit_file", **args)
        if run == "preview"
        else problem(await call("edit_file", **args))
    )
    assert "a.txt would have 1,000,000,000,000 characters: too many" in said


# No path leads out of the folder.

PATHS_OUT = ["../secret.txt", "src/../../secret.txt", "/etc/hosts", "..", "/", "a/../../..", "a\0b"]


@pytest.mark.parametrize("path", PATHS_OUT)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("list_files", {}),
        ("read_file", {}),
        ("search_files", {"text": "secret"}),
        ("edit_file", {"old": "secret", "new": "x"}),
        ("write_file", {"content": "x"}),
    ],
)
async def test_a_path_that_leads_out_is_refused(call, place, name, args, path):
    result = await call(name, path=path, **args)
    assert "is outside of the folder" in problem(result) or "cannot be a path" in problem(result)
    assert (place.parent / "secret.txt").read_text() == "a secret\n"


@POSIX
@pytest.mark.parametrize(
    ("target", "path"),
    [("..", "link/secret.txt"), ("../secret.txt", "link"), (".", "link/a.txt"), ("link", "link/x")],
)
async def test_a_link_is_not_followed_wherever_it_leads(call, place, target, path):
    (place / "link").symlink_to(target)
    for name, args in [
        ("read_file", {}),
        ("search_files", {"text": "secret"}),
        ("edit_file", {"old": "secret", "new": "x"}),
        ("write_file", {"content": "x"}),
    ]:
        assert "link, and links are not followed" in problem(await call(name, path=path, **args))
    assert (place / "link").is_symlink()
    assert (place.parent / "secret.txt").read_text() == "a secret\n"


@POSIX
async def test_a_link_is_listed_as_a_link_and_left_out_of_a_search(call, place):
    (place / "link").symlink_to("..")
    assert "link  (a link, not followed)" in (await call("list_files", recursive=True)).content
    assert (await call("search_files", text="secret")).content == ""


@POSIX
async def test_a_pipe_is_not_waited_for(call, place):
    os.mkfifo(place / "pipe")
    assert (
        problem(await call("read_file", path="pipe"))
        == "pipe is a pipe, a socket or a device, not a file"
    )
    assert "pipe  (not a file)" in (await call("list_files")).content


@POSIX
async def test_writing_to_a_hard_link_leaves_the_file_outside_as_it_was(call, place):
    os.link(place.parent / "secret.txt", place / "same")
    await call("write_file", path="same", content="x")
    assert (place.parent / "secret.txt").read_text() == "a secret\n"


async def test_an_absolute_path_within_the_folder_is_understood(call, place):
    assert (await call("read_file", path=str(place / "a.txt"))).outcome.endswith("3 lines")


NAMES = st.sampled_from(["..", ".", "", "src", "a.txt", "link", "…", " ", "~", "con"])


@examples(100, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(NAMES, max_size=6), absolute=st.booleans())
def test_no_path_reaches_a_file_outside(tmp_path_factory, parts, absolute):
    home = tmp_path_factory.mktemp("home")
    place = home / "place"
    (place / "src").mkdir(parents=True)
    (home / "a.txt").write_text("secret")
    if os.name == "posix":
        (place / "link").symlink_to("..")
    folder = folder_module.Folder(place)
    path = "/" * absolute + "/".join(parts)
    try:
        with folder.opened(path) as file:
            assert file.read() != b"secret"
    except folder_module.ToolError:
        pass
    with contextlib.suppress(folder_module.ToolError):
        folder.write(path, b"written")
    assert sorted(entry.name for entry in home.iterdir()) == ["a.txt", "place"]
    assert (home / "a.txt").read_text() == "secret"
