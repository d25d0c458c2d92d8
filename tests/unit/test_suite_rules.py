"""What holds for every test: none waits for a fixed time, and none has a name that differs from process to process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.ids import shown

TESTS = Path(__file__).resolve().parents[1]
ENDLESS = re.compile(r"\bwhile (?!True:)[^\n]*:\n\s+await asyncio\.sleep\(0\)\n")
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


def found(pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern is in the tests."""
    return [
        f"{path.relative_to(TESTS)}:{text.count(chr(10), 0, place.start()) + 1}"
        for path in sorted(TESTS.rglob("*.py"))
        for text in [path.read_text(encoding="utf-8")]
        for place in pattern.finditer(text)
    ]


def test_no_test_sleeps_for_a_fraction_of_a_second():
    """It waits for what it needs to see: `support.waiting.until`, an event, or `support.clock.in_exact_time`."""
    assert found(SHORT_SLEEP) == []


@pytest.mark.parametrize(
    ("condition", "is_endless"),
    [("not log.rows", True), ("len(begun) < count", True), ("True", False)],
)
def test_a_loop_is_endless_if_it_only_asks_again_and_again(condition, is_endless):
    loop = f"    while {condition}:\n        await asyncio.sleep(0)\n"
    assert bool(ENDLESS.search(loop)) == is_endless


def test_no_test_waits_for_ever_for_what_does_not_happen():
    """`support.waiting.until` says what did not happen."""
    assert found(ENDLESS) == []


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
