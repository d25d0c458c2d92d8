"""We read the same as other parsers in each dialect, except for the cases that `differences` names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from .agreement import (
    FLOORS,
    Figure,
    Outcome,
    every_case,
    figures,
    has_text_to_compare,
    outcome,
    text_agrees,
)
from .cases import MISSING, Case, cases
from .differences import ALL, Part
from .document import DOCUMENT, with_figures
from .reading import CUTS, Chunks, Mode, outline, reading, whole

pytestmark = pytest.mark.skipif(not cases(), reason=MISSING)

each_dialect = pytest.mark.parametrize("dialect", cases() or ["every dialect"])
each_mode = pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)


def named(part: Part, mode: Mode, dialect: str) -> dict[str, Outcome]:
    """The cases of a dialect that the table names, and how each differs."""
    known = {case.id for case in cases()[dialect]}
    found = {case: each.outcome for each in ALL if each.part is part for case in each.of(mode)}
    return {case: how for case, how in found.items() if case in known}


@each_mode
@each_dialect
def test_calls_are_the_expected_ones(dialect: str, mode: Mode):
    expected = named(Part.CALLS, mode, dialect)
    found = {case.id: outcome(case, mode) for case in cases()[dialect]}
    differing = {case: how for case, how in found.items() if how is not Outcome.SAME}
    assert differing == expected, shown(
        (case for case in cases()[dialect] if differing.get(case.id) != expected.get(case.id)),
        lambda case: (
            case.calls,
            reading(case, mode).calls,
            differing.get(case.id),
            expected.get(case.id),
        ),
    )


@each_mode
@each_dialect
def test_text_is_the_expected_one(dialect: str, mode: Mode):
    compared = [case for case in cases()[dialect] if has_text_to_compare(case, mode)]
    differing = {case.id for case in compared if not text_agrees(case, mode)}
    expected = named(Part.TEXT, mode, dialect).keys()
    assert differing == expected, shown(
        (case for case in cases()[dialect] if case.id in differing ^ expected),
        lambda case: (case.content, case.reasoning, reading(case, mode)),
    )


def shown(found: Iterable[Case], details: Callable[[Case], object]) -> str:
    """The first few of these cases with their details, for the message of a failure."""
    return "\n\n".join(f"{case.id}: {case.text!r}\n{details(case)}" for case in list(found)[:5])


@each_mode
@each_dialect
@pytest.mark.parametrize("cut", CUTS)
def test_a_text_in_pieces_gives_the_events_of_the_whole(dialect: str, cut: str, mode: Mode):
    def differs(case: Case) -> Chunks | None:
        expected = whole(case, mode)
        found = (chunks for chunks in CUTS[cut](case) if outline(case, chunks, mode) != expected)
        return next(found, None)

    failed = {case.id: differs(case) for case in cases()[dialect]}
    assert {name: chunks for name, chunks in failed.items() if chunks is not None} == {}


@each_mode
def test_at_least_the_promised_share_agrees(mode: Mode):
    totals: dict[str, Figure] = {figure.name: figure for figure in figures(every_case(), mode)}
    for name, floor in FLOORS[mode].items():
        assert totals[name].share >= floor, str(totals[name])


def test_every_case_of_a_difference_exists():
    known = {case.id for case in every_case()}
    assert [case for each in ALL for case in each.every if case not in known] == []


def test_the_documentation_says_how_many_agree():
    page = DOCUMENT.read_text(encoding="utf-8")
    assert page == with_figures(page), "run in tests/: python -m conformance.document"
