"""Answers as a terminal shows them: which marks are removed, what is kept, and that text may be cut anywhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, strategies as st

pytest.importorskip("rich", reason="the command line is in the extra cli")

from rich.text import Text

from cogency_rs.cli.chat.forms import Wrapped
from cogency_rs.cli.chat.markdown import Markdown

WIDTH = 40


def shown(*pieces: str, width: int = WIDTH, margin: int = 0, ascii: bool = False) -> Text:
    form = Markdown(width, margin, ascii=ascii)
    return Text().join([*map(form.feed, pieces), form.finish()])


def styles(text: Text) -> list[tuple[str, str]]:
    """The text with its styles, with words of one style joined."""
    found: list[tuple[str, str]] = []
    for at, char in enumerate(text.plain):
        style = " ".join(str(span.style) for span in text.spans if span.start <= at < span.end)
        if found and (style == found[-1][1] or char.isspace()):
            found[-1] = found[-1][0] + char, found[-1][1]
        else:
            found.append((char, style))
    return [(piece.strip(), style) for piece, style in found if style]


@pytest.mark.parametrize(
    ("written", "plain", "styled"),
    [
        ("**bold** text", "bold text", [("bold", "bold")]),
        ("*slanted words* here", "slanted words here", [("slanted words", "italic")]),
        ("***both***", "both", [("both", "bold italic")]),
        ("a `code` word", "a code word", [("code", "cyan")]),
        ("``a ` b``", "a ` b", [("a ` b", "cyan")]),
        ("`` ` ``", "`", [("`", "cyan")]),
        ("`**kept**`", "**kept**", [("**kept**", "cyan")]),
        ("**bold `code`**", "bold code", [("bold", "bold"), ("code", "cyan")]),
        ("(**a**, **b**)", "(a, b)", [("a", "bold"), ("b", "bold")]),
        ("# Title", "Title", [("Title", "bold")]),
        ("### A *b*", "A b", [("A", "bold"), ("b", "bold italic")]),
        ("- one\n* two\n+ three", "• one\n• two\n+ three", [("•", "bold"), ("•", "bold"), ("+", "bold")]),
        ("1. one\n2) two", "1. one\n2) two", [("1.", "bold"), ("2)", "bold")]),
        ("> said", "│ said", [("│", "dim")]),
        ("```\nx = 1\n```", "  x = 1", [("x = 1", "cyan")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_marks_become_styles(written, plain, styled):
    text = shown(written)
    assert text.plain == plain
    assert styles(text) == styled


@pytest.mark.parametrize(
    "written",
    [
        "2*3*4 and a * b",
        "__init__ and snake_case_name",
        "*args, **kwargs",
        "*.py and *.rs",
        r"\*not this\*",
        "an open `tick and an open **star",
        "[a link](http://x.y) and <b>a tag</b>",
        "#hashtag and #! and C#",
        "-5 degrees, --flag",
        "2024 was a year. 3.14 is a number",
        "a | b",
        "one\ntwo\n\nthree",
        "***",
        "| only one row |",
        "&amp; stays",
        "```",
    ],
)
def test_text_that_is_not_markdown_is_kept(written):
    rule = "─" * WIDTH
    assert shown(written).plain == {"***": rule, "```": ""}.get(written, written)


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ("- a list item that is longer than a line is", ["• a list item that is longer than a line", "  is"]),
        ("- a\n  - b\n    on", ["• a", "  • b", "    on"]),
        ("- a\n\n  more of a\nnot a", ["• a", "", "  more of a", "not a"]),
        ("so:\n```py\nif a:\n    x\n\n\n\ny\n```\nend", ["so:", "  if a:", "      x", *[""] * 3, "  y", "end"]),
        ("- a\n  ```\n  x\n    y\n  ```\n- b", ["• a", "  x", "    y", "• b"]),
        ("```\n- not a list\n# nor a heading\n~~~\n````\nend", ["  - not a list", "  # nor a heading", "  ~~~", "end"]),
        ("```\nnever closed", ["  never closed"]),
        ("```x\n" + "long " * 20 + "\n```", ["  " + ("long " * 20).rstrip()]),
        ("| a | bb |\n|---|:-:|\n| ccc | `d` |\n|e|\nend", ["a    bb", "───  ──", "ccc  d", "e", "end"]),
        (f"|{'x' * 50}|y|\n|-|-|\n|1|2|", [f"|{'x' * 50}|y|", "|-|-|", "|1|2|"]),
        ("a\n\n\n\n\nb", ["a", "", "b"]),
        ("a\n---\nb", ["a", "─" * WIDTH, "b"]),
    ],
)  # fmt: skip
def test_blocks_are_lines_of_their_own(written, lines):
    assert shown(written).plain.split("\n") == lines


def test_lines_with_a_margin_are_wrapped_within_it():
    text = shown("# A\n- " + "word " * 10 + "\n```\nx\n```", margin=2)
    assert text.plain.split("\n") == [
        "A",
        "  • word word word word word word word",
        "    word word word",
        "    x",
    ]


def test_a_terminal_with_only_ascii_is_enough():
    assert shown("- a\n> b\n***", ascii=True).plain == "- a\n| b\n" + "-" * WIDTH


def test_code_has_the_colours_of_its_language_or_one_colour_if_the_language_is_unknown():
    assert styles(shown("```python\nreturn 1\n```")) != [("return 1", "cyan")]
    assert styles(shown("```klingon\nnuqneH\n```")) == [("nuqneH", "cyan")]


def test_text_is_shown_while_it_arrives():
    form = Markdown(WIDTH)
    given = [form.feed(piece).plain for piece in ("Hel", "lo **b", "old", "** on", " 2")]
    assert given == ["Hel", "lo", "", " bold on", " 2"]
    form = Markdown(WIDTH)
    given = [form.feed(piece).plain for piece in ("-", " ", "item", "\n``", "`\ncode", "\n", "```")]
    assert given == ["", "", "• item", "", "", "\n  code", ""]


def test_a_mark_that_is_never_closed_does_not_hold_back_a_long_line():
    form = Markdown(WIDTH)
    assert len(form.feed("`" + "word " * 200).plain) > 700


MARKED = st.lists(
    st.sampled_from([*"ab1 \n*`-#>|_.~", "**", "```", "\n- ", "\n| a |", "|-|\n", "1. ", "word ", "äß"]),
    max_size=40,
).map("".join)  # fmt: skip


@given(MARKED, st.data())
def test_how_an_answer_is_cut_does_not_matter(written, data):
    cuts = data.draw(st.lists(st.integers(0, len(written)), max_size=8).map(sorted))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    whole, cut = shown(written), shown(*pieces)
    assert (cut.plain, styles(cut)) == (whole.plain, styles(whole))
    assert shown(*written).plain == whole.plain


def without_languages(written: str) -> str:
    """The text without the lines that open a block of code: they may name its language, which is not shown."""
    kept, mark = [], ""
    for line in written.split("\n"):
        opening = re.fullmatch(r"[ \t]*(`{3,}|~{3,})[^`]*", line)
        if mark and set(line.strip()) == {mark[0]} and len(line.strip()) >= len(mark):
            mark = ""
        elif opening and not mark:
            mark = opening[1]
        else:
            kept.append(line)
    return "\n".join(kept)


@given(MARKED)
@example("```ab\na b\n```\nb")
@example("```\n~~~a\n```b\n````\n```b\na")
def test_no_word_is_lost(written):
    kept = [char for char in shown(written).plain if char.isalnum()]
    assert kept == [char for char in without_languages(written) if char.isalnum()]


@given(st.text("abc_<&:'(\n ", max_size=120))
def test_text_without_marks_is_shown_as_plain_text(written):
    plain = Wrapped(WIDTH, 2)
    expected = Text().join([plain.feed(written), plain.finish()])
    assert shown(written, margin=2).plain == expected.plain
