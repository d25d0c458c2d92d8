"""`cogency-rs timeline`: what is drawn where, that nothing overlaps, and that a file is written whole or not at all."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from cogency_rs import Accumulator, CallOptions, Execution, SQLite, ToolCall, parse_tokens, tool
from support import commands, logs
from support.chunks import cut
from support.commands import POSIX
from support.logs import Stored, call, failure, success
from support.tools import block
from support.waiting import until

pytest.importorskip("typer", reason="the command line is in the extra cli")


from cogency_rs.cli import picture
from cogency_rs.cli.log import rows
from cogency_rs.cli.turns import turns_of
from support.pictures import Picture, drawn, timed

# What is drawn.


def test_every_entry_has_a_line_with_its_name_and_its_outcome(session):
    names = [
        shape.text
        for shape in session.texts
        if shape.style == "ink" and shape.left == picture.NAMES
    ]
    assert names == [
        "user",
        "think",
        "respond",
        'list(path="config")',
        "respond",
        'search(path="logs/staging.log", text="WARN")',
        'check(path="config")',
        'read(path="config/staging.toml")',
        'read(path="CHANGES.md")',
        "think",
        "respond",
    ]
    details = [
        "2 entries in config",
        '2 of 8 lines hold "WARN"',
        "failed: CHANGES.md does not exist",
    ]
    assert [detail for detail in details if detail not in session.words] == []


def test_a_heading_has_the_turn_s_number_time_and_outcome(session):
    assert "conversation staging" in session.words
    [heading] = [words for words in session.words if words.startswith("turn 1 of 1   ")]
    assert heading.endswith("   8.71 s   5 calls, 1 failed")


def at(seconds: float, *, span: float = 8.71) -> float:
    """The horizontal position of a time in the picture; `span` is how long the turn takes."""
    return pytest.approx(picture.PLOT + (picture.PLOT_END - picture.PLOT) * seconds / span, abs=0.1)


@pytest.mark.parametrize(
    ("text", "style", "began", "ended"),
    [
        ("Production works and staging does not: compare the two.", "think", 0.61, 1.24),
        ("I'll see which files there are.", "text", 1.25, 1.902),
        ("2 entries in config", "done", 1.902, 2.006),
        ("Both files at once, with the log:", "text", 2.55, 4.402),
        ('2 of 8 lines hold "WARN"', "edge done", 4.402, 6.813),
        ("2 TOML files in config, all valid", "edge done", 4.402, 6.813),
        ("failed: CHANGES.md does not exist", "edge failed", 4.402, 6.813),
        ("The stop tag.", "think", 7.4, 7.62),
        ("Staging stops at `</exec>` instead of `</execute>`.", "text", 7.63, 8.71),
    ],
)
def test_a_bar_lasts_as_long_as_the_log_says(session, text, style, began, ended):
    [bar] = [shape for shape in session.in_the_line_of(text) if shape.kind == "rect"]
    assert (bar.style, bar.left, bar.right) == (style, at(began), at(ended))


@pytest.mark.parametrize(
    ("text", "waited"),
    [("Both files at once, with the log:", (2.006, 2.55)), ("The stop tag.", (6.813, 7.4))],
)
def test_a_thin_line_shows_the_wait_for_the_model(session, text, waited):
    [line] = [shape for shape in session.in_the_line_of(text) if shape.kind == "line"]
    assert (line.left, line.right) == tuple(map(at, waited))


def test_figures_are_given_only_for_times_that_are_in_the_log(session):
    """The time of a single call is known. Of calls that ran together, only the time of all of them is."""
    right = [
        shape.text for shape in session.texts if shape.right == pytest.approx(picture.DURATIONS_END)
    ]
    assert right == ["104 ms", "2.41 s", "≤ 2.41 s", "≤ 2.41 s", "≤ 2.41 s", "≤ 2.41 s"]
    assert "4 calls together" in session.words


def test_notes_add_what_the_picture_cannot_show(session):
    notes = " ".join(
        shape.text for shape in session.texts if shape.style == "soft" and shape.top > 600
    )
    assert "not how long each call took" in notes
    assert 'With stream="event", and in cogency 3.3.0, text comes whole' in notes


def test_the_clock_has_round_numbers(session):
    ticks = [
        shape.text
        for shape in session.texts
        if shape.bottom < 120 and shape.left > picture.PLOT - 20
    ]
    assert ticks == ["0", "2 s", "4 s", "6 s", "8 s"]


@pytest.mark.parametrize(
    ("span", "ticks"),
    [
        (0.0, ["0"]),
        (0.004, ["0", "1 ms", "2 ms", "3 ms", "4 ms"]),
        (0.9, ["0", "200 ms", "400 ms", "600 ms", "800 ms"]),
        (3.0, ["0", "500 ms", "1 s", "1.5 s", "2 s", "2.5 s", "3 s"]),
        (59.0, ["0", "10 s", "20 s", "30 s", "40 s", "50 s"]),
        (100.0, ["0", "30 s", "1 min", "1 min 30 s"]),
        (3700.0, ["0", "15 min", "30 min", "45 min", "1 h"]),
        (86400.0 * 2, ["0", "12 h", "24 h", "36 h", "48 h"]),
        (86400.0 * 700, ["0", "2,800 h", "5,600 h", "8,400 h", "11,200 h", "14,000 h", "16,800 h"]),
    ],
)
def test_the_clock_of_a_turn_of_any_length(tmp_path, span, ticks):
    stored = [Stored("user", "u", 0), Stored("respond", "r", span)]
    shapes = drawn(tmp_path, stored).texts
    assert [shape.text for shape in shapes if shape.top > 90 and shape.bottom < 120] == ticks


def test_calls_without_results_are_open(tmp_path):
    stored = [
        Stored("call", call("a"), 0),
        Stored("call", call("b"), 0),
        Stored("cancelled", "", 2),
    ]
    found = drawn(tmp_path, stored)
    [mark] = [shape for shape in found.in_the_line_of("a()") if shape.kind == "circle"]
    assert mark.style == "edge open"
    assert found.bars == []
    assert {"2 calls", "no result in the log", "call: no result in the log"} <= {*found.words}


@pytest.mark.parametrize(
    ("text", "style", "began", "ended"),
    [
        ("done 0", "done", 1.5, 2.5),
        ("timeout: no 1", "failed", 2.5, 4.5),
        ("failed: no 2", "failed", 1, 5),
        ("done 3", "edge done", 1, 5),  # its times are not within the batch's
    ],
)
def test_a_call_is_drawn_from_when_it_began_to_when_it_ended(tmp_path, text, style, began, ended):
    stored = timed(
        (1.5, 2.5, "success"), (2.5, 4.5, "timeout"), (1, 5, "failure"), (20, 30, "success")
    )
    found = drawn(tmp_path, stored)
    [bar] = [shape for shape in found.in_the_line_of(text) if shape.kind == "rect"]
    left, right = at(began, span=10), at(ended, span=10)
    assert (bar.style, bar.left, bar.right) == (style, left, right)


def test_calls_whose_times_are_in_the_log_have_figures_of_their_own(tmp_path):
    found = drawn(tmp_path, timed((1.5, 2.5, "success"), (2.5, 4.5, "timeout")))
    right = [
        shape.text for shape in found.texts if shape.right == pytest.approx(picture.DURATIONS_END)
    ]
    assert right == ["4.00 s", "1.00 s", "2.00 s"]
    assert "Hatched" not in found.svg


def test_the_wait_for_the_model_ends_when_the_calls_are_handed_out_not_when_one_begins(tmp_path):
    found = drawn(tmp_path, timed((3.0, 4.0, "success")))
    [line] = [shape for shape in found.in_the_line_of("done 0") if shape.kind == "line"]
    assert (line.left, line.right) == (at(0, span=10), at(1, span=10))


def test_a_call_that_never_began_is_a_dot(tmp_path):
    found = drawn(tmp_path, timed((None, 5, "cancelled"), (1, 5, "success")))
    [mark] = [shape for shape in found.in_the_line_of("cancelled: no 0") if shape.kind == "circle"]
    assert mark.style == "failed"


def test_rows_whose_ids_hold_no_times_are_dots_and_a_note_says_why(tmp_path):
    found = drawn(tmp_path, [row._replace(id=str(n)) for n, row in enumerate(logs.SESSION)])
    assert found.bars == []
    dots = [shape for shape in found.shapes if shape.kind == "circle"]
    assert len(dots) == 11 + 5  # 5 of them are in the legend
    assert any(words.startswith("How long things took is not drawn") for words in found.words)
    assert [words for words in found.words if "≤" in words] == []


# Which turns.


@pytest.fixture
def two_turns(tmp_path) -> Path:
    return logs.write(
        tmp_path / "store.db",
        [
            Stored("user", "one", 0),
            Stored("respond", "a", 1),
            Stored("user", "two", 9),
            *failed_call(10),
        ],
    )


def failed_call(at: float) -> list[Stored]:
    return [
        Stored("call", call("t"), at),
        Stored("result", json.dumps([failure("t", "no")]), at, at + 1),
    ]


@pytest.mark.parametrize(
    ("options", "turns", "summary"),
    [
        ([], ["turn 2 of 2"], "turn 2 of 2, 1 call, 1 failed"),
        (["--turn", "1"], ["turn 1 of 2"], "turn 1 of 2, 0 calls, 0 failed"),
        (["--turn", "2"], ["turn 2 of 2"], "turn 2 of 2, 1 call, 1 failed"),
        (["--all"], ["turn 1 of 2", "turn 2 of 2"], "all turns, 1 call, 1 failed"),
    ],
)
def test_the_last_turn_another_one_or_all_are_drawn(command, two_turns, options, turns, summary):
    file = two_turns.with_name("out.svg")
    ended = command("timeline", two_turns, "staging", "-o", file, *options)
    assert (ended.code, ended.out, ended.err) == (0, f"{file}: {summary}\n", "")
    words = Picture(file.read_text(encoding="utf-8")).words
    assert [word[:11] for word in words if word.startswith("turn ")] == turns


def test_the_picture_goes_to_standard_output_on_request(two_turns):
    ended = commands.run("timeline", two_turns, "staging", "-o", "-")
    assert (ended.code, ended.err) == (0, "")
    assert "turn 2 of 2" in " ".join(Picture(ended.out).words)
    assert [file.name for file in two_turns.parent.iterdir()] == ["store.db"]


# The file.


def test_a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it(command, two_turns):
    file = two_turns.with_name("out.svg")
    file.write_text("old" * 99_999)
    command("timeline", two_turns, "staging", "-o", file)
    assert file.read_text(encoding="utf-8").startswith("<svg ")
    assert file.read_text(encoding="utf-8").endswith("</svg>\n")
    assert sorted(entry.name for entry in two_turns.parent.iterdir()) == ["out.svg", "store.db"]


@POSIX
def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(command, two_turns):
    new, old = two_turns.with_name("new.svg"), two_turns.with_name("old.svg")
    old.touch()
    old.chmod(0o604)
    before = os.umask(0o027)
    try:
        for file in (new, old):
            command("timeline", two_turns, "staging", "-o", file)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(file.stat().st_mode) for file in (new, old)] == [0o640, 0o604]


@POSIX
def test_a_link_is_followed(command, two_turns):
    file, link = two_turns.with_name("out.svg"), two_turns.with_name("link.svg")
    link.symlink_to(file)
    command("timeline", two_turns, "staging", "-o", link)
    assert (link.is_symlink(), file.read_text(encoding="utf-8")[:4]) == (True, "<svg")


@POSIX
def test_a_named_pipe_is_written_to(command, two_turns):
    pipe = two_turns.with_name("pipe")
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    command("timeline", two_turns, "staging", "-o", pipe)
    reader.join(timeout=60)
    assert [text[:4] for text in read] == ["<svg"]


@pytest.mark.parametrize("name", ["store.db", "store.db-wal", "store.db-shm", "link.svg"])
def test_the_log_itself_is_never_overwritten(command, two_turns, name):
    two_turns.with_name("store.db-wal").touch()
    two_turns.with_name("store.db-shm").touch()
    two_turns.with_name("link.svg").symlink_to(two_turns)
    before = two_turns.read_bytes()
    ended = command("timeline", two_turns, "staging", "-o", two_turns.with_name(name))
    assert (ended.code, "is the log itself" in ended.err) == (2, True)
    assert two_turns.read_bytes() == before


# Calls that begin while the model writes.


def test_a_call_that_began_while_the_model_wrote_begins_before_the_model_s_bar_ends(tmp_path):
    early = [
        Stored("user", "Hello", 0.0),
        Stored("respond", "I look.", 1.0, saved=8.0),
        Stored("call", call("look"), 8.0, call=logs.record("look", 0, 3.0, 6.0)),
        Stored("call", call("read"), 8.0, call=logs.record("read", 1, 5.0, 9.0)),
        Stored("result", json.dumps([success("look"), success("read")]), 8.0, saved=9.0),
    ]
    shown = drawn(tmp_path, early)
    text, look, read = shown.bars
    assert text.left < look.left < read.left < text.right < read.right
    assert look.right < text.right, "the call was over before the model was"
    assert {"3.00 s", "4.00 s", "6.00 s"} <= set(shown.words), "two calls, and their batch"
    assert any("need not wait" in words for words in shown.words)


def test_without_text_the_bar_of_an_early_call_overlaps_the_wait_for_the_model(tmp_path):
    early = [
        Stored("user", "Hello", 0.0),
        Stored("call", call("look"), 8.0, call=logs.record("look", 0, 3.0, 9.0)),
        Stored("result", json.dumps([success("look")]), 8.0, saved=9.0),
    ]
    shown = drawn(tmp_path, early)
    [line] = [shape for shape in shown.in_the_line_of("look()") if shape.kind == "line"]
    [bar] = shown.bars
    assert line.left < bar.left < line.right < bar.right


@pytest.mark.parametrize("eager", [True, False])
async def test_a_turn_in_a_log_shows_whether_its_calls_began_early(tmp_path, eager):
    begun = []

    @tool(read_only=True)
    async def look(n: int) -> int:
        """Look."""
        begun.append(n)
        return n

    async def written():
        *most, last = cut("So. " + block(*(ToolCall("look", {"n": n}) for n in range(3))))
        for chunk in most:
            yield chunk
        if eager:
            await until(lambda: len(begun) >= 2, "the calls do not begin early")
        later = time.time() + 0.05  # the picture shows the time that has passed
        await until(lambda: time.time() > later, "no time passes")
        yield last

    async with SQLite(tmp_path / "log.db") as log:
        await log.append("c", user_id="u", rows=[("user", "Hello", time.time())])
        execution = Execution(storage=log, tools=[look])
        turns = Accumulator("u", "c", execution=execution, calls=CallOptions(eager=eager))
        async for _ in turns.process(parse_tokens(written())):
            pass
    [turn] = turns_of(rows(tmp_path / "log.db", "c"))
    shown = Picture(picture.draw("c", [turn], of=1))
    text, *calls = shown.bars
    assert [bar.left < text.right - 1 for bar in calls[:2]] == [eager] * 2
    assert len(calls) == 3
