"""What is read in each dialect is what others read, but for what `differences` names."""

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
from .reading import CUTS, Chunks, outline, reading, whole

pytestmark = pytest.mark.skipif(not cases(), reason=MISSING)

each_dialect = pytest.mark.parametrize("dialect", cases() or ["every dialect"])

NAMED = {
    part: {case: each for each in ALL if each.part is part for case in each.cases} for part in Part
}


@each_dialect
def test_calls_are_the_expected_ones(dialect: str):
    found = {case.id: outcome(case) for case in cases()[dialect]}
    named = {case: each.outcome for case, each in NAMED[Part.CALLS].items() if case in found}
    differing = {case: how for case, how in found.items() if how is not Outcome.SAME}
    assert differing == named, shown(
        (case for case in cases()[dialect] if differing.get(case.id) != named.get(case.id)),
        lambda case: (case.calls, reading(case).calls, differing.get(case.id), named.get(case.id)),
    )


@each_dialect
def test_text_is_the_expected_one(dialect: str):
    compared = [case for case in cases()[dialect] if has_text_to_compare(case)]
    differing = {case.id for case in compared if not text_agrees(case)}
    named = NAMED[Part.TEXT].keys() & {case.id for case in cases()[dialect]}
    assert differing == named, shown(
        (case for case in cases()[dialect] if case.id in differing ^ named),
        lambda case: (case.content, case.reasoning, reading(case)),
    )


def shown(found: Iterable[Case], what: Callable[[Case], object]) -> str:
    """The first few of these cases, for the message of a failure."""
    return "\n\n".join(f"{case.id}: {case.text!r}\n{what(case)}" for case in list(found)[:5])


@each_dialect
@pytest.mark.parametrize("cut", CUTS)
def test_a_text_in_pieces_gives_the_events_of_the_whole(dialect: str, cut: str):
    def differs(case: Case) -> Chunks | None:
        found = (chunks for chunks in CUTS[cut](case) if outline(case, chunks) != whole(case))
        return next(found, None)

    failed = {case.id: differs(case) for case in cases()[dialect]}
    assert {name: chunks for name, chunks in failed.items() if chunks is not None} == {}


@pytest.fixture(scope="module")
def totals() -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(every_case())}


@pytest.mark.parametrize("name", FLOORS)
def test_no_fewer_agree_than_promised(totals, name: str):
    assert totals[name].share >= FLOORS[name], str(totals[name])


def test_every_case_of_a_difference_is_there():
    known = {case.id for case in every_case()}
    assert [case for each in ALL for case in each.cases if case not in known] == []
