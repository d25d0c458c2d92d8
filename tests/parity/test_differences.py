"""Every deliberate difference has a predicate that is used, an example that shows it, and a row in the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .differences import ALL, ARRAYS, ROWS, SCRIPTS, STEPS, TEXT
from .document import document
from .examples import OURS, THEIRS, evaluate
from .naming import names_of
from .oracle import skip_without_cogency

skip_without_cogency()

HERE = Path(__file__).parent
DOCUMENT = HERE.parent.parent / "docs" / "differences.md"

shown = [
    pytest.param(difference, example, id=f"{difference.name}-{number}")
    for difference in ALL.values()
    for number, example in enumerate(difference.examples, 1)
]


@pytest.mark.parametrize(("difference", "example"), shown)
def test_an_example_shows_its_difference(difference, example):
    assert evaluate(example.code, THEIRS) == example.theirs
    assert evaluate(example.code, OURS) == example.ours
    assert example.theirs != example.ours


@pytest.mark.parametrize(("difference", "example"), shown)
def test_a_difference_applies_to_its_example(difference, example):
    assert difference.name in names_of(example.code)


@pytest.mark.parametrize("difference", ALL.values(), ids=ALL)
def test_a_difference_is_used_by_a_test(difference):
    if difference in (*TEXT, *SCRIPTS, *STEPS, *ARRAYS, *ROWS):
        return  # the tests go through these one by one
    sources = [*HERE.glob("differences/*.py"), *HERE.glob("test_*.py")]
    uses = re.compile(rf"(?<!def ){difference.name}[(.]")
    assert any(uses.search(source.read_text(encoding="utf-8")) for source in sources)


@pytest.mark.parametrize("difference", ALL.values(), ids=ALL)
def test_a_difference_says_what_and_why(difference):
    assert difference.examples
    for text in (difference.theirs, difference.ours, difference.why):
        assert text.endswith(".")
        assert "|" not in text


def test_the_documentation_has_a_row_for_every_difference():
    rows = re.findall(r"^\| \[`(\w+)`\]", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(ALL)


def test_the_documentation_says_what_the_predicates_say():
    assert DOCUMENT.read_text(encoding="utf-8") == document(), (
        "run in tests/: python -m parity.document > ../docs/differences.md"
    )
