"""Text as it is shown: control characters are replaced, times can be read, and lines end between words."""

from __future__ import annotations

import io
import re
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("rich", reason="the command line is in the extra cli")

from rich.cells import cell_len

from cogency_rs.cli import progress
from cogency_rs.cli.progress import Progress
from cogency_rs.cli.text import duration, exact, first_lines, moment, one_line, signature, visible
from cogency_rs.cli.wrap import Wrapper, wrapped as wrapped_whole
from support.chunks import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

DIRECTION_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""The bidirectional classes of characters that change the direction of writing."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve café, 東京, 🙂", "plain, naïve café, 東京, 🙂"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("10%\r20%", "10%␍20%"),
        ("\x1b[2J", "␛[2J"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x00\x08\x7f", "␀␈\ufffd"),
        ("\x9b2J\x85", "\ufffd2J\ufffd"),
        ("a\u202eb\u2066c\u2069", r"a\u202eb\u2066c\u2069"),
    ],
)
def test_characters_that_control_a_terminal_are_replaced(text, shown):
    assert visible(text) == shown


def test_no_control_character_is_left():
    shown = visible("".join(map(chr, range(0x3000))))
    left = [char for char in shown if unicodedata.category(char) == "Cc"]
    turning = [char for char in shown if unicodedata.bidirectional(char) in DIRECTION_CONTROLS]
    assert (left, turning) == (["\t", "\n"], [])


BLANK = "\u2800\u2d7f\ufffc\U0001107f\U00016fe4\U0001d159"
FILLERS = re.compile(
    "FILLER|INHERENT|VARIATION SELECTOR|GRAPHEME JOINER|NULL NOTEHEAD|PATTERN BLANK"
)


def test_each_character_that_is_not_seen_has_a_mark():
    """Those whose names say that they are fillers, and those that are known to be blank."""
    named = [
        each
        for each in map(chr, range(0x110000))
        if FILLERS.search(name := unicodedata.name(each, ""))
        and not re.search("LINE FILLER|GAP FILLER", name)
    ]
    assert len(named) > 250
    for each in [*named, *BLANK, "\u200b", "\u202e", "\u00ad", "\u00a0"]:
        assert exact(f"a{each}b") == [("a", False), (f"<U+{ord(each):04X}>", True), ("b", False)]


@pytest.mark.parametrize(
    ("name", "args", "shown"),
    [
        ("pay", {"to": "ada", "café": 1, "x-id": None}, 'pay(to="ada", café=1, x-id=null)'),
        ("f", {'path="a", reason': "old"}, 'f("path=\\"a\\", reason"="old")'),
        ("f", {"a) # ": 0, "": 1, "b c": 2}, 'f("a) # "=0, ""=1, "b c"=2)'),
        ('f(x=1) # "', {}, '"f(x=1) # \\""()'),
    ],
)
def test_a_name_cannot_look_like_more_than_a_name(name, args, shown):
    assert signature(name, args) == shown


@pytest.mark.parametrize(
    ("text", "line"), [("a\nb", "a b"), ("a\r\n\nb", "a  b"), ("\x1b\n", "␛ "), ("", "")]
)
def test_a_text_on_one_line(text, line):
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("text", "most", "lines"),
    [
        ("", 3, []),
        ("\n\n", 3, []),
        ("a\nb\nc\n", 3, ["a", "b", "c"]),
        ("a\nb\nc\nd", 3, ["a", "b", "… 2 more lines"]),
        ("\n".join("x" * 2000), 2, ["x", "… 1,999 more lines"]),
        ("a\tb", 3, ["a   b"]),
    ],
)
def test_the_first_lines_of_a_text(text, most, lines):
    assert first_lines(text, most) == lines


@pytest.mark.parametrize(
    ("seconds", "shown_as"),
    [
        (0, "0 ms"),
        (0.0124, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (2.414, "2.41 s"),
        (59.994, "59.99 s"),
        (59.996, "1 min 00 s"),
        (61.4, "1 min 01 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (3660, "1 h 01 min"),
        (360_000, "100 h 00 min"),
    ],
)
def test_seconds_as_a_person_reads_them(seconds, shown_as):
    assert duration(seconds) == shown_as


def test_a_call_reads_as_in_python():
    args = {"path": "a\nb", "深い": "東京", "n": [1, None, {"x": 0.5}]}
    assert signature("read", args) == r'read(path="a\nb", 深い="東京", n=[1, null, {"x": 0.5}])'


def test_a_time_is_local_and_says_so_on_request():
    shown = moment(1_790_000_000.0, zone=True)
    assert shown.startswith(moment(1_790_000_000.0) + " UTC")
    assert shown[-6] in "+-"


# Progress.


STYLE = re.compile(r"\x1b\[\??[\d;]*[mlh]")


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    times = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: times[0])
    return times


def test_short_work_shows_no_progress(monkeypatch, clock):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with Progress("reading", total=10) as shown:
        clock[0] = 0.4
        shown.at(5)
    assert terminal.getvalue() == ""


def test_long_work_shows_how_far_it_is_and_cleans_up(monkeypatch, clock):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    with Progress("reading a\x1b[red]file", total=10) as shown:
        clock[0] = 1.0
        shown.at(5)
        shown.at(6)  # too soon to be drawn again
        clock[0] = 2.0
        shown.at(20)
        drawn = terminal.getvalue()
    lines = [line for line in re.split(r"\x1b\[2K", STYLE.sub("", drawn)) if "reading" in line]
    facts = [
        re.fullmatch(r"reading a␛\[red\]file [━╸╺]+ +(\d+%) (\S+)", line.strip()) for line in lines
    ]
    assert [fact and fact.groups() for fact in facts][-2:] == [
        ("50%", "0:00:01"),
        ("100%", "0:00:02"),
    ]
    assert max(cell_len(line.strip()) for line in lines) <= 60
    left = terminal.getvalue().removeprefix(drawn)
    assert left.endswith("\x1b[2K")  # the line is empty again
    assert "\x1b[?25h" in left  # the cursor is shown again


def test_work_of_unknown_size_shows_how_long_it_takes(monkeypatch, clock):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with Progress("reading") as shown:
        clock[0] = 61.0
        shown.at()
    assert "reading 0:01:01" in STYLE.sub("", terminal.getvalue())


def test_progress_is_shown_only_at_a_terminal(capsys, clock):
    with Progress("reading") as shown:
        clock[0] = 9.0
        shown.at()
    assert capsys.readouterr() == ("", "")


# Wrapping.


def wrapped(pieces: Sequence[str], width: int = 20, margin: int = 4) -> str:
    wrapper = Wrapper(width, margin)
    return "".join([*map(wrapper.feed, pieces), wrapper.finish()])


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        (" \n a b\n ", ["a b"]),
        ("one two three four five", ["one two three", "    four five"]),
        ("a\n\n\n\nb", ["a", "", "    b"]),
        ("a:\n  b\n  c", ["a:", "      b", "      c"]),
        ("a  b", ["a  b"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijklmnop", "    qrstuvwxyz"]),
        ("ab abcdefghijklmnopqrstuvwxyz", ["ab", "    abcdefghijklmnop", "    qrstuvwxyz"]),
        ("東京東京東京東京東京", ["東京東京東京東京", "    東京"]),
    ],
)
def test_lines_end_between_words(text, lines):
    assert wrapped([text]) == "\n".join(lines)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_lines_end_between_words_however_the_text_is_cut(size):
    text = "Reading both files side by side\nwill show:\n\n  what differs, and since when."
    assert wrapped(cut(text, size)) == wrapped([text])


@given(
    st.text(st.sampled_from("abcde   \n\t東"), max_size=60), st.integers(6, 20), st.integers(0, 4)
)
def test_text_that_is_whole_is_wrapped_like_text_that_streams(text, width, margin):
    assert wrapped_whole(text, width, margin) == wrapped([text], width, margin)


@pytest.mark.parametrize("size", [1, 3, 99])
def test_no_line_is_too_long(size):
    text = " ".join("x" * length for length in range(40)) + "\n" + " " * 50 + "y"
    assert max(map(len, wrapped(cut(text, size)).split("\n"))) == 20
