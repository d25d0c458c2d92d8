"""`cogency-rs timeline`: what is drawn where, that nothing overlaps, and that a file is whole or not there."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cogency_rs import Accumulator, Execution, SQLite, ToolCall, parse_tokens, tool
from support import commands, logs
from support.commands import POSIX
from support.logs import Stored, call, failure, success
from support.tools import block

pytest.importorskip("typer", reason="the command line is in the extra cli")

from rich.cells import cell_len

from cogency_rs.cli import picture
from cogency_rs.cli.log import rows
from cogency_rs.cli.turns import turns_of

SVG = "{http://www.w3.org/2000/svg}"


@dataclass
class Shape:
    """An element of a picture, and how much room it takes."""

    kind: str
    style: str
    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Shape) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class Picture:
    """A picture as who looks at it sees it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg
        self.root = ElementTree.fromstring(svg)
        self.width, self.height = float(self.root.get("width")), float(self.root.get("height"))
        drawn = (_shape(node) for node in self.root.iter() if not _is_inside_defs(node, self.root))
        self.shapes = [shape for shape in drawn if shape is not None]

    @property
    def texts(self) -> list[Shape]:
        return [shape for shape in self.shapes if shape.kind == "text"]

    @property
    def words(self) -> list[str]:
        return [shape.text for shape in self.texts]

    @property
    def bars(self) -> list[Shape]:
        """What stands for a duration, without the legend's."""
        return [
            shape
            for shape in self.shapes
            if shape.kind == "rect" and shape.bottom - shape.top == picture.BAR
        ]

    def in_the_line_of(self, text: str) -> list[Shape]:
        """The shapes of a line, by one of its texts."""
        [group] = [
            group
            for group in self.root.iter(f"{SVG}g")
            if text in [node.text for node in group.iter(f"{SVG}text")]
        ]
        return [shape for shape in map(_shape, group) if shape is not None]


def _is_inside_defs(node: ElementTree.Element, root: ElementTree.Element) -> bool:
    return any(node in defs.iter() for defs in root.iter(f"{SVG}defs"))


def _shape(node: ElementTree.Element) -> Shape | None:
    kind = node.tag.removeprefix(SVG)
    get = lambda name: float(node.get(name))  # noqa: E731
    if kind == "text":
        size = get("font-size")
        width = cell_len(node.text) * size * picture.CHARACTER
        start = {"start": 0.0, "middle": width / 2, "end": width}[node.get("text-anchor", "start")]
        left = get("x") - start
        box = (left, get("y") - 0.8 * size, left + width, get("y") + 0.25 * size)
    elif kind == "rect" and node.get("x"):
        box = (get("x"), get("y"), get("x") + get("width"), get("y") + get("height"))
    elif kind == "circle":
        box = (get("cx") - 5, get("cy") - 5, get("cx") + 5, get("cy") + 5)
    elif kind == "line":
        box = (get("x1"), get("y1"), get("x2"), get("y2"))
    else:
        return None
    return Shape(kind, node.get("class", ""), node.text or "", *box)


def drawn(tmp_path: Path, stored: list[Stored], conversation: str = "staging") -> Picture:
    path = logs.write(tmp_path / "log.db", stored, conversation=conversation)
    turns = turns_of(rows(path, conversation))
    return Picture(picture.draw(conversation, turns, of=len(turns)))


@pytest.fixture
def session(tmp_path) -> Picture:
    return drawn(tmp_path, logs.SESSION)


# What is drawn.


def test_every_entry_has_a_line_with_its_name_and_what_came_of_it(session):
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


def test_a_heading_says_which_turn_it_is_when_it_was_and_what_came_of_it(session):
    assert "conversation staging" in session.words
    [heading] = [words for words in session.words if words.startswith("turn 1 of 1   ")]
    assert heading.endswith("   8.71 s   5 calls, 1 failed")


def at(seconds: float, *, span: float = 8.71) -> float:
    """Where a moment of the session stands."""
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
def test_a_thin_line_is_where_the_model_is_waited_for(session, text, waited):
    [line] = [shape for shape in session.in_the_line_of(text) if shape.kind == "line"]
    assert (line.left, line.right) == tuple(map(at, waited))


def test_only_what_the_log_knows_is_given_in_figures(session):
    """A call alone took its time; of calls that ran together only the whole is known."""
    right = [
        shape.text for shape in session.texts if shape.right == pytest.approx(picture.DURATIONS_END)
    ]
    assert right == ["104 ms", "2.41 s", "≤ 2.41 s", "≤ 2.41 s", "≤ 2.41 s", "≤ 2.41 s"]
    assert "4 calls together" in session.words


def test_notes_say_what_the_picture_cannot(session):
    notes = " ".join(
        shape.text for shape in session.texts if shape.style == "soft" and shape.top > 600
    )
    assert "not how long each of its calls took" in notes
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


def timed(*calls: tuple[float | None, float | None, str]) -> list[Stored]:
    """Calls whose times are in the log, in a batch that takes from 1 to 5."""
    results = [
        success("t", f"done {n}") if status == "success" else failure("t", f"no {n}")
        for n, (_, _, status) in enumerate(calls)
    ]
    return [
        Stored("user", "u", 0),
        *(
            Stored("call", call("t", n=n), 1, call=logs.record("t", n, *known))
            for n, known in enumerate(calls)
        ),
        Stored("result", json.dumps(results), 1, 5),
        Stored("respond", "r", 6, 10),
    ]


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


def test_the_figures_of_calls_whose_times_are_in_the_log_are_theirs(tmp_path):
    found = drawn(tmp_path, timed((1.5, 2.5, "success"), (2.5, 4.5, "timeout")))
    right = [
        shape.text for shape in found.texts if shape.right == pytest.approx(picture.DURATIONS_END)
    ]
    assert right == ["4.00 s", "1.00 s", "2.00 s"]
    assert "Hatched" not in found.svg


def test_the_model_is_waited_for_until_the_calls_are_handed_out_and_not_until_one_begins(tmp_path):
    found = drawn(tmp_path, timed((3.0, 4.0, "success")))
    [line] = [shape for shape in found.in_the_line_of("done 0") if shape.kind == "line"]
    assert (line.left, line.right) == (at(0, span=10), at(1, span=10))


def test_a_call_that_never_began_is_a_moment(tmp_path):
    found = drawn(tmp_path, timed((None, 5, "cancelled"), (1, 5, "success")))
    [mark] = [shape for shape in found.in_the_line_of("cancelled: no 0") if shape.kind == "circle"]
    assert mark.style == "failed"


def test_rows_whose_ids_say_nothing_are_moments_and_a_note_says_why(tmp_path):
    found = drawn(tmp_path, [row._replace(id=str(n)) for n, row in enumerate(logs.SESSION)])
    assert found.bars == []
    assert (
        len([shape for shape in found.shapes if shape.kind == "circle"]) == 11 + 5
    )  # and the legend
    assert any(words.startswith("How long things took is not drawn") for words in found.words)
    assert [words for words in found.words if "≤" in words] == []


# That it can be read.

NASTY = "<&\"'> \x1b[31m ]]> \x00\ud7ff\ufffe 深い🙂 \u202e" + "x" * 200


def nasty() -> list[Stored]:
    results = [success(NASTY, NASTY, NASTY), failure(NASTY, NASTY), success("none", None, [NASTY])]
    return [
        Stored("user", NASTY, 0),
        Stored(NASTY, NASTY, 0.5),
        Stored("think", "東京" * 200, 1, 2),
        Stored("respond", NASTY, 2, 3),
        *(Stored("call", call(result["tool"], **{NASTY: "\ud83d"}), 3) for result in results),
        Stored("result", json.dumps(results), 3, 4),
        Stored("call", NASTY, 5),
        Stored("call", "", 5),
        Stored("", "", 6),
    ]


def many() -> list[Stored]:
    results = [failure(f"t{n}", "no") if n % 9 == 4 else success(f"t{n}", "ok") for n in range(150)]
    return [
        *(Stored("call", call(r["tool"]), 0) for r in results),
        Stored("result", json.dumps(results), 0, 1),
    ]


def hours() -> list[Stored]:
    return [
        Stored("user", "u", 0),
        Stored("call", call("train"), 5),
        Stored("result", json.dumps([success("train", "ok")]), 5, 99_999),
        Stored("user", "again", 200_000),
        Stored("respond", "r", 200_000.001, 200_000.002),
    ]


SCENES = {
    "session": lambda: logs.SESSION,
    "session with other ids": lambda: [r._replace(id=str(n)) for n, r in enumerate(logs.SESSION)],
    "nasty": nasty,
    "many": many,
    "hours": hours,
    "timed": lambda: timed((1.5, 2.5, "success"), (2.5, 2.5, "denied"), (None, 5, "cancelled")),
    "one row": lambda: [Stored("user", "u", 0)],
    "at once": lambda: [Stored("think", "t", 0), Stored("respond", "r", 0)],
}


@pytest.mark.parametrize("scene", SCENES)
def test_no_label_overlaps_another_one_or_a_bar(tmp_path, scene):
    found = drawn(tmp_path, SCENES[scene](), conversation=scene + NASTY)
    solid = [shape for shape in found.shapes if shape.kind in {"text", "circle"}] + found.bars
    solid.sort(key=lambda shape: shape.top)
    overlapping = [
        (one, other)
        for index, one in enumerate(solid)
        for other in itertools.takewhile(lambda other: other.top < one.bottom, solid[index + 1 :])  # noqa: B023
        if one.overlaps(other)
    ]
    assert overlapping == []


@pytest.mark.parametrize("scene", SCENES)
def test_everything_is_on_the_paper(tmp_path, scene):
    found = drawn(tmp_path, SCENES[scene](), conversation=scene + NASTY)
    assert [
        shape
        for shape in found.shapes
        if shape.left < 0
        or shape.right > found.width
        or shape.top < 0
        or shape.bottom > found.height
    ] == []


@pytest.mark.parametrize("scene", SCENES)
def test_nothing_in_a_log_steers_who_shows_the_picture(tmp_path, scene):
    found = drawn(tmp_path, SCENES[scene](), conversation=scene + NASTY)
    known = {
        "svg",
        "title",
        "desc",
        "style",
        "defs",
        "pattern",
        "g",
        "text",
        "rect",
        "circle",
        "line",
        "path",
    }
    assert {node.tag.removeprefix(SVG) for node in found.root.iter()} <= known
    assert not {*found.svg} & {
        *map(chr, range(9)),
        "\x0b",
        "\x0c",
        "\x1b",
        "\x7f",
        "\u202e",
        "\ufffe",
    }
    found.svg.encode("utf-8")  # without half characters


def test_who_points_at_a_line_sees_more_of_it(tmp_path):
    found = drawn(tmp_path, [Stored("respond", "first\nsecond " + "x" * 500, 0)])
    titles = [title.text for title in found.root.iter(f"{SVG}title")]
    assert "respond\nfirst\nsecond " + "x" * 500 in titles


def test_a_picture_of_a_large_output_is_small(tmp_path):
    results = [success("t", "x" * 10**6, "y" * 10**6), failure("t", "z" * 10**6)]
    stored = [
        *(Stored("call", call("t", a="w" * 10**6), 0) for _ in results),
        Stored("result", json.dumps(results), 0),
    ]
    assert len(drawn(tmp_path, stored).svg) < 20_000


def test_it_needs_no_other_file(session):
    assert "http" not in session.svg.replace("http://www.w3.org/2000/svg", "")
    assert not any(word in session.svg for word in ("href", "@import", "src=", "<script", "url(h"))


def test_it_is_light_or_dark_like_the_page_it_is_on(session):
    style = session.root.find(f"{SVG}style").text
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for name in picture._COLOURS:
        assert f".{name} {{ fill: #" in light
        assert f".{name} {{ fill: #" in dark


@pytest.mark.parametrize("paper", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("colour", "ratio"),
    [("ink", 7), ("soft", 4.5), ("failed", 4.5), ("think", 3), ("text", 3), ("done", 3)],
)
def test_colours_can_be_told_from_the_paper(paper, colour, ratio):
    """The contrast that WCAG 2 asks of text (4.5) and of graphics (3)."""

    def luminance(name: str) -> float:
        code = picture._COLOURS[name][paper]
        parts = [int(code[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for behind in ("paper", "band"):
        low, high = sorted([luminance(colour), luminance(behind)])
        assert (high + 0.05) / (low + 0.05) >= ratio


# Which turns.


@pytest.fixture
def two_turns(tmp_path) -> Path:
    return logs.write(
        tmp_path / "store.db",
        [
            Stored("user", "one", 0),
            Stored("respond", "a", 1),
            Stored("user", "two", 9),
            *logs_of_a_call(10),
        ],
    )


def logs_of_a_call(at: float) -> list[Stored]:
    return [
        Stored("call", call("t"), at),
        Stored("result", json.dumps([failure("t", "no")]), at, at + 1),
    ]


@pytest.mark.parametrize(
    ("options", "turns", "said"),
    [
        ([], ["turn 2 of 2"], "turn 2 of 2, 1 call, 1 failed"),
        (["--turn", "1"], ["turn 1 of 2"], "turn 1 of 2, 0 calls, 0 failed"),
        (["--turn", "2"], ["turn 2 of 2"], "turn 2 of 2, 1 call, 1 failed"),
        (["--all"], ["turn 1 of 2", "turn 2 of 2"], "all turns, 1 call, 1 failed"),
    ],
)
def test_the_last_turn_is_drawn_or_another_or_all(command, two_turns, options, turns, said):
    file = two_turns.with_name("out.svg")
    ended = command("timeline", two_turns, "staging", "-o", file, *options)
    assert (ended.code, ended.out, ended.err) == (0, f"{file}: {said}\n", "")
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
def test_a_pipe_with_a_name_is_written_to(command, two_turns):
    pipe = two_turns.with_name("pipe")
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    command("timeline", two_turns, "staging", "-o", pipe)
    reader.join(timeout=60)
    assert [text[:4] for text in read] == ["<svg"]


@pytest.mark.parametrize("name", ["store.db", "store.db-wal", "store.db-shm", "link.svg"])
def test_the_log_itself_is_never_written_over(command, two_turns, name):
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
    assert look.right < text.right, "it was over before the model was done"
    assert {"3.00 s", "4.00 s", "6.00 s"} <= set(shown.words), "two calls, and their batch"
    assert any("need not wait" in words for words in shown.words)


def test_without_text_the_bar_lies_on_the_line_of_the_model_s_turn(tmp_path):
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
    @tool(read_only=True)
    async def look(n: int) -> int:
        """Look."""
        await asyncio.sleep(0.02)
        return n

    async def written():
        text = "So. " + block(*(ToolCall("look", {"n": n}) for n in range(3)))
        for start in range(0, len(text), 4):
            await asyncio.sleep(0.005)
            yield text[start : start + 4]

    async with SQLite(tmp_path / "log.db") as log:
        await log.append("c", user_id="u", rows=[("user", "Hello", time.time())])
        execution = Execution(storage=log, tools=[look])
        turns = Accumulator("u", "c", execution=execution, eager=eager)
        async for _ in turns.process(parse_tokens(written())):
            pass
    [turn] = turns_of(rows(tmp_path / "log.db", "c"))
    shown = Picture(picture.draw("c", [turn], of=1))
    text, *calls = shown.bars
    assert [bar.left < text.right - 1 for bar in calls[:2]] == [eager] * 2
    assert len(calls) == 3
