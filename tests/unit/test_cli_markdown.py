"""Answers as a terminal shows them: what is rendered, what is kept, and that they grow without flicker."""

from __future__ import annotations

import io
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

pytest.importorskip("rich", reason="the command line is in the extra cli")

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cogency_rs.cli.chat import markdown, view as view_module
from cogency_rs.cli.chat.markdown import GrowingMarkdown
from support.screens import Screen

WIDTH = 40


def shown(
    *pieces: str,
    width: int = WIDTH,
    margin: int = 0,
    encoding: str = "utf-8",
    changing: int = 10_000,
) -> list[Text]:
    """The lines of an answer that arrives in these pieces, on a terminal on which so many can be redrawn."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, force_terminal=True, width=width, height=20, _environ={})
    answer = GrowingMarkdown(console, width, margin)
    lines: list[Text] = []
    for piece in pieces:
        answer.feed(piece)
        lines += answer.lines(changing)[0]
    return lines + answer.lines()[0]


def plain(lines: Iterable[Text]) -> list[str]:
    return [line.plain for line in lines]


def styles(lines: Iterable[Text]) -> list[tuple[str, str]]:
    """The texts that have a style."""
    return [
        (line.plain[span.start : span.end].strip(), str(span.style))
        for line in lines
        for span in line.spans
        if str(span.style) not in ("", "none") and line.plain[span.start : span.end].strip()
    ]


@pytest.mark.parametrize(
    ("written", "lines", "styled"),
    [
        ("**bold** text", ["bold text"], [("bold", "bold")]),
        ("*slanted words* here", ["slanted words here"], [("slanted words", "italic")]),
        ("***both***", ["both"], [("both", "bold italic")]),
        ("a `code` word", ["a code word"], [("code", "cyan")]),
        ("``a ` b``", ["a ` b"], [("a ` b", "cyan")]),
        ("`**kept**`", ["**kept**"], [("**kept**", "cyan")]),
        ("(**a**, **b**)", ["(a, b)"], [("a", "bold"), ("b", "bold")]),
        ("# Title", ["Title"], [("Title", "bold")]),
        ("### A *b*", ["A b"], [("A", "bold"), ("b", "bold italic")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_marks_become_styles(written, lines, styled):
    text = shown(written)
    assert plain(text) == lines
    assert styles(text) == styled


@pytest.mark.parametrize(
    "written",
    [
        "2*3*4 and a * b",
        "__init__ and snake_case_name",
        "*args, **kwargs",
        "*.py and *.rs",
        "an open `tick and an open **star",
        "[a link](http://x.y) and <b>a tag</b>",
        "<div>\n",
        "![a picture](a.png)",
        "<http://x.y>",
        "[x]: http://x.y",
        "#hashtag and #! and C#",
        "-5 degrees, --flag",
        "2024 was a year. 3.14 is a number",
        "a | b",
        "one\ntwo\n\nthree",
        "| only one row |",
        "&amp; stays",
        "~~not struck~~ ~5",
    ],
)
def test_text_that_is_not_markdown_is_kept(written):
    assert plain(shown(written)) == written.rstrip().split("\n")


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ("- one\n- two", [" • one", " • two"]),
        ("- an item longer than a line of the whole page", [" • an item longer than a line of the", "   whole page"]),
        ("- a\n  - b", [" • a", "    • b"]),
        ("3. one\n4. two", [" 3 one", " 4 two"]),
        ("> said", ["▌ said"]),
        ("so:\n```py\nif a:\n    x\n\ny\n```\nend", ["so:", "  if a:", "      x", "", "  y", "end"]),
        ("```\n- not a list\n# nor a heading\n~~~\n````\nend", ["  - not a list", "  # nor a heading", "  ~~~", "end"]),
        ("```\nnever closed", ["  never closed"]),
        ("| a | bb |\n|---|:-:|\n| ccc | `d` |\n|e|\n\nend", ["a    bb", "───────", "ccc  d", "e", "", "end"]),
        ("a\n\n\n\n\nb", ["a", "", "b"]),
        ("a\n\n---\nb", ["a", "", "-" * WIDTH, "b"]),
    ],
)  # fmt: skip
def test_blocks_are_lines_of_their_own(written, lines):
    assert plain(shown(written)) == lines


def test_lines_have_a_margin_and_are_wrapped_within_it():
    text = shown("# A\n- " + "word " * 10 + "\n```\nx\n```", margin=2)
    assert plain(text) == [
        "  A",
        "   • word word word word word word word",
        "     word word word",
        "    x",
    ]


def test_a_terminal_with_only_ascii_is_enough():
    lines = plain(shown("- a\n\n> b\n\n|c|\n|-|\n|d|", encoding="ascii"))
    assert lines == [" - a", "", "| b", "", "c", "-", "d"]


def test_code_has_the_colours_of_its_language():
    words = [word for word, _ in styles(shown("```python\nreturn 1\n```"))]
    assert words[:2] == ["return", "1"]
    assert plain(shown("```klingon\nnuqneH\n```")) == ["  nuqneH"]


@pytest.mark.parametrize("columns", [20, 24, 39])
def test_a_narrow_terminal_shows_all_of_it(columns):
    written = (
        f"| {'a' * 30} | b |\n|-|-|\n| {'c' * 50} | d |\n\n{'- ' * 6}deep\n\n```\n{'x' * 90}\n```"
    )
    lines = plain(shown(written, width=columns, margin=2))
    assert max(map(cell_len, lines)) <= columns
    letters = [each for each in "".join(lines) if each in "abcdx"]
    assert sorted(letters) == sorted("a" * 30 + "b" + "c" * 50 + "ddx" + "x" * 89)


# While it arrives.


def test_a_block_is_drawn_anew_until_the_next_one_begins():
    answer = GrowingMarkdown(Console(file=io.StringIO(), width=WIDTH, _environ={}), WIDTH, 0)
    given: list[tuple[list[str], list[str]]] = []
    for piece in ("Hel", "lo **b", "old** on", "\n\n-", " item", "\n\nend"):
        answer.feed(piece)
        settled, growing = answer.lines(changing=9)
        given.append((plain(settled), plain(growing)))
    assert given == [
        ([], ["Hel"]),
        ([], ["Hello **b"]),
        ([], ["Hello bold on"]),
        ([], ["Hello bold on"]),  # the mark may become another one
        (["Hello bold on"], ["", " • item"]),
        (["", " • item"], ["", "end"]),
    ]


def test_only_the_last_lines_of_a_long_block_are_drawn_anew():
    answer = GrowingMarkdown(Console(file=io.StringIO(), width=WIDTH, _environ={}), WIDTH, 0)
    lines: list[str] = []
    for number in range(100):
        answer.feed(f"- {number}\n")
        settled, growing = answer.lines(changing=5)
        assert len(growing) == min(5, number + 1)
        lines += plain(settled)
    assert [line.split()[1] for line in lines + plain(answer.lines()[0])] == [*map(str, range(100))]


LONG = {
    "code": ["```python\n", *(f"x{n} = f({n})  # *why*\n" for n in range(1_200)), "\n", "```\n"],
    "lines": [f"line {n} of *a* text\n" for n in range(1_200)],
    "items": [f"{n}. an item\n\n   ```\n   code {n}\n   ```\n" for n in range(1, 700)],
    "numbers": ["1. the same number\n"] * 1_300,
    "tall": ["- first\n", "- second\n", *(f"  line {n}\n" for n in range(1_500))],
    "indented": [*(f"    code {n}\n" for n in range(1_500)), "\n", "\n"],
    "words": [*(f"word {n} " for n in range(2_000)), "\n", "\n"],
    "quote": [f"> said {n}\n>\n" for n in range(2_000)],
    "table": ["| a | b |\n", "| --- | --- |\n", *(f"| {n} | cell |\n" for n in range(1_200))],
}


@pytest.mark.parametrize("pieces", LONG.values(), ids=LONG)
def test_a_long_block_is_parted_and_shows_the_same(
    monkeypatch: pytest.MonkeyPatch, pieces: list[str]
):
    parsed: list[int] = []
    parser = markdown._PARSER  # pyright: ignore[reportPrivateUsage]
    parse = parser.parse

    def counting(text: str) -> Any:
        parsed.append(len(text))
        return parse(text)

    def words(lines: list[Text]) -> list[list[str]]:
        """Without rules and the heads of tables, of which each part has its own."""
        rows = [line.strip(" ─━").split() for line in plain(lines)]
        return [row for row in rows if row and row != ["a", "b"]]

    whole = shown("".join(pieces))
    monkeypatch.setattr(parser, "parse", counting)
    drawn = ["".join(pieces[at : at + 60]) for at in range(0, len(pieces), 60)]
    for changing in (10, 10_000):
        assert words(shown(*drawn, changing=changing)) == words(whole)
    if pieces not in (LONG["tall"], LONG["words"]):  # what has no parts is read as a whole
        assert max(parsed) < 20_000, "which none of them is as a whole"


ANSWER = """\
The **limit** is in `config/staging.toml`, as a number of seconds that the assistant waits for an answer.

- one item, which is longer than a line of this terminal is
- two
  - two and a half

```python
def answer(seconds: int) -> str:
    return f"after {seconds} s"
```

## Then

| name | value |
|------|-------|
| stop | end   |
""" + "".join(f"1. step number {number} of many\n" for number in range(30))


@pytest.mark.parametrize("height", [8, 20])
def test_an_answer_grows_without_flicker(monkeypatch, height):
    monkeypatch.setattr(view_module, "_REDRAW", 0)
    monkeypatch.setattr(view_module, "_SHARE", 0)
    screen = Screen(44, height)
    with view_module.View(screen.console) as view:
        for place in range(0, len(ANSWER), 3):
            view.happened({"type": "respond", "content": ANSWER[place : place + 3]})
    seen = [frame_words(frame) for frame in screen.frames]
    assert len(seen) > 300
    for before, after in pairwise(seen):
        assert len(after) >= len(before) - 1, "a word may join another, and lines never vanish"
    whole = shown(ANSWER, width=44, margin=2)
    # A number that was written before the list had ten of them is indented for one digit.
    assert [line.split() for line in screen.lines if line] == [
        line.split() for line in plain(whole) if line
    ]


def test_nothing_is_drawn_while_nothing_changes(monkeypatch):
    monkeypatch.setattr(view_module, "_REDRAW", 0)
    monkeypatch.setattr(view_module, "_SHARE", 0)
    screen = Screen()
    with view_module.View(screen.console) as view:
        view.happened({"type": "respond", "content": "One **word"})
        drawn = len(screen.frames)
        view.happened(None)
        assert len(screen.frames) == drawn
        view.happened({"type": "respond", "content": "**."})
        assert len(screen.frames) > drawn
    assert screen.lines[:2] == ["", "  One word."]


def frame_words(frame: list[str]) -> list[str]:
    """The words of a frame, without marks that may be on their way."""
    return [word for word in " ".join(frame).split() if any(map(str.isalnum, word))]


MARKED = st.lists(
    st.sampled_from([*"ab1 \n*`-#>|_.~", "**", "```", "\n- ", "\n| a |", "|-|\n", "1. ", "word ", "äß"]),
    max_size=40,
).map("".join)  # fmt: skip


@given(MARKED, st.data())
def test_how_an_answer_is_cut_does_not_matter(written, data):
    cuts = data.draw(st.lists(st.integers(0, len(written)), max_size=8).map(sorted))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    assert plain(shown(*pieces)) == plain(shown(written))
    assert plain(shown(*written)) == plain(shown(written))


@given(st.text("abc_<&:'( \n[]!>", max_size=120), st.integers(20, 60))
@example("a [![b](c)](d) `<b>`", 20)
def test_no_letter_is_lost(written, width):
    kept = [char for line in plain(shown(written, width=width)) for char in line if char in "abc"]
    assert kept == [char for char in written if char in "abc"]
