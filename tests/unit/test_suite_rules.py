"""What holds for every test: none waits for a fixed time, and none has a name that differs from process to process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.ids import shown

TESTS = Path(__file__).resolve().parents[1]
SHORT_SLEEP = re.compile(r"\bsleep\(\s*(?:0?\.\d|\d[\d.]*e-)")


@pytest.mark.parametrize(
    ("line", "is_short"),
    [
        ("await asyncio.sleep(" + "0.01)", True),
        ("time.sleep(" + ".5)", True),
        ("sleep(\n" + "    1e-3)", True),
        ("await asyncio.sleep(0)", False),
        ("await anyio.sleep(1)", False),
        ("time.sleep(3600)", False),
        ("await asyncio.sleep(seconds)", False),
    ],
)
def test_a_sleep_is_short_if_it_is_a_fraction_of_a_second(line, is_short):
    assert bool(SHORT_SLEEP.search(line)) == is_short


def test_no_test_sleeps_for_a_fraction_of_a_second():
    """It waits for what it needs to see: `support.waiting.until`, an event, or `support.clock.in_exact_time`."""
    found = [
        f"{path.relative_to(TESTS)}:{text.count(chr(10), 0, sleep.start()) + 1}"
        for path in sorted(TESTS.rglob("*.py"))
        for text in [path.read_text(encoding="utf-8")]
        for sleep in SHORT_SLEEP.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (5, "5"),
        ("text", "'text'"),
        (object(), "<object object>"),
        ([print, test_no_test_sleeps_for_a_fraction_of_a_second],
         "[<built-in function print>, <function test_no_test_sleeps_for_a_fraction_of_a_second>]"),
    ],
    ids=["number", "text", "object", "functions"],
)  # fmt: skip
def test_a_case_is_named_without_the_address_of_its_value(value, name):
    assert shown(value) == name
