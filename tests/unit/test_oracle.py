"""`make oracle`: a version agrees with itself, and a fault in one of two sides is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cogency_rs
from tools.oracle import differences
from tools.oracle.__main__ import main
from tools.oracle.cases import KINDS
from tools.oracle.differences import Difference, reasons, strings_changed
from tools.oracle.faults import FAULTS
from tools.oracle.shrink import shrunk

PACKAGE = str(Path(cogency_rs.__file__).resolve().parents[1])

SEEN_IN = {
    "drops_a_character": "text",
    "reorders_calls": "turn",
    "loses_an_error": "turn",
    "reads_one_row_twice": "log",
    "widens_a_grammar": "grammar",
    "merges_deltas": "chat",
}
"""The kind of case in which each fault shows."""


def compared(*arguments: str) -> int:
    return main([PACKAGE, "--tree", PACKAGE, *arguments])


def test_a_version_agrees_with_itself(capsys):
    kinds = [argument for kind in KINDS for argument in ("--kind", kind)]
    assert compared("--count", "6", *kinds) == 0, capsys.readouterr().out


def test_every_fault_has_its_kind_of_case():
    assert SEEN_IN.keys() == FAULTS.keys()


@pytest.mark.parametrize("fault", SEEN_IN)
def test_a_fault_in_the_tree_is_found(fault, capsys, monkeypatch):
    monkeypatch.setattr("tools.oracle.__main__.MOST_SHOWN", 0)  # to shrink takes seconds
    assert compared("--fault", fault, "--kind", SEEN_IN[fault], "--count", "40") == 1
    assert "no entry in tools/oracle/differences.py names it" in capsys.readouterr().out


CASE = {"kind": "text", "text": "Words (old) of the answer", "cuts": [3, 20]}

NAMED = Difference(
    "new words", "A test.", ["text"], lambda _, answer: strings_changed(answer, lambda text: text.replace("new", "old"))
)  # fmt: skip

REVERSED = Difference("order", "A test.", ["text"], lambda _, answer: sorted(answer))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (["old"], ["new"], ["new words"]),
        (["a", "b"], ["b", "a"], ["order"]),
        (["a", "old"], ["new", "a"], ["new words", "order"]),
        (["old"], ["other"], None),
    ],
    ids=["one", "another", "both", "neither"],
)
def test_a_difference_is_named_by_the_entries_that_even_it_out(old, new, named):
    found = reasons(CASE, old, new, [NAMED, REVERSED])
    assert (found and [each.name for each in found]) == named


def test_an_entry_names_nothing_in_cases_of_other_kinds():
    assert reasons({**CASE, "kind": "chat"}, ["old"], ["new"], [NAMED]) is None


def test_each_entry_has_a_name_of_its_own_and_kinds_that_exist():
    names = [each.name for each in differences.DIFFERENCES]
    assert len(names) == len({*names})
    assert {kind for each in differences.DIFFERENCES for kind in each.kinds} <= {*KINDS}


def test_a_case_is_shrunk_to_what_shows_the_difference():
    assert shrunk(CASE, lambda case: "(" in case["text"]) == {
        "kind": "text",
        "text": "(",
        "cuts": [],
    }


def test_the_types_of_rows_are_kept_while_a_case_is_shrunk():
    case = {
        "kind": "prompt",
        "rows": [["user", "Words"], ["call", json.dumps({"name": "a"})]],
        "storage": "memory",
    }
    short = shrunk(case, lambda case: len(case["rows"]) == 2)
    assert short == {"kind": "prompt", "rows": [["user", ""], ["call", ""]], "storage": "memory"}
