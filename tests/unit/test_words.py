"""`make words` counts what people wrote, and finds each phrase that it warns of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.words import TICS, count_words, found_tics, hand_written

TYPICAL = [
    "What stands in the log.",
    "It is kept beside the file.",
    "The schema is sent in words.",
    "The key is said by the header.",
    "A fence that has none.",
    "That is no tool.",
    "Whoever calls it.",
    "The server wants to know.",
    "A call that is to run.",
    "It is not there any more.",
    "They leave it away.",
    "A text with half a character.",
    "From line 5 to its end at 9.",
    "It turns the GIL on.",
]


@pytest.mark.parametrize(("tic", "sentence"), list(zip(TICS, TYPICAL, strict=True)), ids=TYPICAL)
def test_each_phrase_is_found(tic, sentence):
    assert [instead for _, _, instead in found_tics(f"First.\n{sentence}")] == [tic.instead]


@pytest.mark.parametrize(
    "sentence",
    [
        "`…` stands for the rest.",
        "It stands alone.",
        "There is no tool.",
        "There are no longer any.",
    ],
)
def test_ordinary_english_is_left_alone(sentence):
    assert list(found_tics(sentence)) == []


def test_the_line_and_the_phrase_are_named():
    assert list(found_tics("One.\nIt stands there.")) == [(2, "stands", "is, appears")]


def test_code_and_what_a_program_wrote_are_not_counted(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "Two words.\n"
        "```python\nprint(1)\n```\n"
        "<!-- table: made by `make table`, do not edit -->\nmany words\n<!-- table: end -->\n"
        "| a | -- | 12 |\n"
    )
    assert count_words(hand_written(page)) == 3


def test_a_generated_page_has_no_words_by_hand(tmp_path: Path):
    page = tmp_path / "api.md"
    page.write_text("Many words.")
    assert count_words(hand_written(page)) == 0
