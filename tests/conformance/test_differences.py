"""The table of differences is complete, gives reasons, and is in the documentation."""

from __future__ import annotations

from collections import Counter

import pytest

from .agreement import Outcome
from .differences import ALL, Part
from .document import DOCUMENT, with_table
from .reading import Mode


@pytest.mark.parametrize("difference", ALL, ids=lambda difference: difference.name)
def test_a_difference_says_what_and_why(difference):
    assert difference.every
    for words in (difference.expected, difference.others, difference.ours, difference.why):
        assert words.endswith(".")
        assert "|" not in words


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("part", Part)
def test_a_case_has_one_reason(part, mode):
    found = Counter(case for each in ALL if each.part is part for case in each.of(mode))
    assert [case for case, count in found.items() if count > 1] == []


def test_a_reason_is_listed_once():
    assert [name for name, count in Counter(each.name for each in ALL).items() if count > 1] == []


@pytest.mark.parametrize("difference", ALL, ids=lambda difference: difference.name)
def test_an_outcome_is_the_same_exactly_if_only_text_differs(difference):
    assert (difference.outcome is Outcome.SAME) == (difference.part is Part.TEXT)


def test_the_documentation_says_what_the_table_says():
    page = DOCUMENT.read_text(encoding="utf-8")
    assert page == with_table(page), "run in tests/: python -m conformance.document"
