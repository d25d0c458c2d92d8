"""The parser's report of a malformed block, and the place that it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from support.outlines import parse
from support.parsing import MALFORMED, block, body_with, outline

if TYPE_CHECKING:
    from collections.abc import Iterable


def error_in(chunks: Iterable[str]) -> str:
    [error] = [event["content"] for event in parse(chunks) if outline([event]) == [MALFORMED]]
    return error


PLACES = [
    pytest.param("oops", 1, 1, id="the first character"),
    pytest.param("  oops", 1, 3, id="after blanks"),
    pytest.param("\n\n oops", 3, 2, id="on the third line"),
    pytest.param("[\r\n?", 2, 1, id="after CRLF"),
    pytest.param("[1, 2,\n 3 4]", 2, 4, id="a comma missing"),
    pytest.param('[{"name": "t" "args": {}}]', 1, 15, id="a comma missing between members"),
    pytest.param('[{"name" "t"}]', 1, 10, id="a colon missing"),
    pytest.param("[1}", 1, 3, id="the wrong bracket"),
    pytest.param("1 0", 1, 3, id="a second value"),
    pytest.param("[]]", 1, 3, id="a bracket too many"),
    pytest.param("[] x", 1, 4, id="text after the array"),
    pytest.param("```json\n[]\n```", 1, 1, id="a fence"),
    pytest.param("[1", 1, 3, id="the closing tag before the JSON is complete"),
    pytest.param("\n[1,\n", 3, 1, id="the closing tag on a line of its own"),
    pytest.param('["é日😀", ?]', 1, 9, id="characters count, not bytes"),
    pytest.param('["\ud83d", ?]', 1, 7, id="a lone surrogate is one character"),
    pytest.param('["\u2028\x85\x0b", ?]', 1, 9, id="only a line feed starts a line"),
    pytest.param('["a\nb", ?]', 2, 5, id="a line feed inside a string counts"),
    pytest.param("\u2003\u3000oops", 1, 3, id="after Unicode blanks"),
]


@pytest.mark.parametrize(("body", "line", "column"), PLACES)
def test_an_error_names_line_and_column_from_the_start_of_the_body(body, line, column):
    assert f"line {line}, column {column}" in error_in([f"hi\n{block(body)}ok"])


@pytest.mark.parametrize(("body", "line", "column"), PLACES)
def test_an_error_in_text_cut_into_characters_names_the_same_place(body, line, column):
    assert f"line {line}, column {column}" in error_in(f"hi\n{block(body)}ok")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(block(""), id="empty"),
        pytest.param(block("{}"), id="not an array"),
        pytest.param(block("[1]"), id="not an object"),
        pytest.param(block('[{"args": {}}]'), id="no name"),
        pytest.param(block('[{"name": 1, "args": {}}]'), id="name not a string"),
        pytest.param(block('[{"name": "t"}]'), id="no args"),
        pytest.param(block('[{"name": "t", "args": []}]'), id="args not an object"),
        pytest.param(block(body_with("[" * 300 + "]" * 300)), id="too deep"),
        pytest.param(block('["a'), id="unterminated string"),
        pytest.param("<execute>[", id="cut off"),
        pytest.param("<execute>", id="cut off at once"),
    ],
)
def test_every_error_names_a_place(text):
    assert re.search(r"\bline \d+, column \d+\b", error_in(text))


def test_each_block_counts_its_lines_from_one():
    first, second = (event["content"] for event in parse([block("\n\noops") + block("\noops")]))
    assert ("line 3, column 1" in first, "line 2, column 1" in second) == (True, True)


def test_an_error_is_one_event_in_token_mode_too():
    assert (
        parse(block("oops"), stream="token")[0]["content"] == parse([block("oops")])[0]["content"]
    )
