"""Programs are killed at named points and at any moment: nothing happens twice, and nothing known is lost."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from crashes.bank import Bank, Effect
from crashes.judge import Ended, judge
from crashes.kills import POINTS, Victim
from crashes.programs import Kind, PlannedCall, Program, programs

from support.programs import run
from support.recordings import FOLDER

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(not hasattr(os, "waitid"), reason="processes are forked and awaited"),
]

CAMPAIGN = """
from crashes.campaign import main
sys.argv[1:] = ["--kills", sys.argv[1], "--folder", sys.argv[2]]
sys.exit(main())
"""


def test_a_short_campaign_finds_nothing_and_goes_on_where_it_was_stopped(tmp_path: Path):
    first = run(CAMPAIGN, "10", tmp_path)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "0 trials went wrong" in first.stdout
    trials = len((tmp_path / "trials").read_text().splitlines())
    again = run(CAMPAIGN, "15", tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert len((tmp_path / "trials").read_text().splitlines()) > trials


IN_A_DATABASE = """
from crashes.campaign import run
from support.recordings import FOLDER
folder, database = sys.argv[1:]
counts, wrong = run(5, FOLDER, Path(folder), database)
assert not wrong, wrong
print(counts.total() >= 5)
"""


def test_a_short_campaign_with_the_log_in_postgresql_finds_nothing(tmp_path: Path, dsn: str):
    pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
    ended = run(IN_A_DATABASE, tmp_path, dsn)
    assert ended.stdout == "True\n", ended.stdout + ended.stderr


def planned(name: str, kind: Kind) -> PlannedCall:
    return PlannedCall(name, {}, kind, 0)


PROGRAM = Program(
    "p",
    (
        (planned("look", Kind.READ), planned("pay", Kind.PLAIN)),
        (planned("book", Kind.RECONCILED), planned("mail", Kind.IDEMPOTENT)),
    ),
)
EFFECTS = [Effect(f"k{call}", call, f"receipt of {call}") for call in ("0/1", "1/0", "1/1")]
OUTCOME = [
    [Ended("look", "done", "read 0/0"), Ended("pay", "done", "receipt of 0/1")],
    [Ended("book", "done", "receipt of 1/0"), Ended("mail", "done", "receipt of 1/1")],
]
SAFE = {"0/1": "receipt of 0/1"}


def changed(batch: int, place: int, **fields: str) -> list[list[Ended]]:
    outcome = [[*each] for each in OUTCOME]
    outcome[batch][place] = replace(outcome[batch][place], **fields)  # type: ignore[arg-type]
    return outcome


def test_the_judge_finds_nothing_wrong_where_nothing_is():
    assert judge(PROGRAM, EFFECTS, SAFE, OUTCOME, is_over=True) == []
    unknown = changed(0, 1, status="unknown", result="not known")
    assert judge(PROGRAM, EFFECTS, {}, unknown, is_over=True) == []
    assert judge(PROGRAM, EFFECTS[1:], {}, unknown, is_over=True) == []


WRONG = {
    "an effect that happened twice": ([*EFFECTS, EFFECTS[0]], SAFE, OUTCOME, "0/1 had 2 effects"),
    "one that happened under two keys": (
        [*EFFECTS, Effect("k", "0/1", "receipt of 0/1")],
        SAFE,
        OUTCOME,
        "the call 0/1 had 2 effects",
    ),
    "a known result that is lost": (
        EFFECTS,
        SAFE,
        changed(0, 1, status="unknown", result=""),
        "its result was safe",
    ),
    "another order": (EFFECTS, SAFE, [OUTCOME[0][::-1], OUTCOME[1]], "the calls are"),
    "a batch that is missing": (EFFECTS, SAFE, OUTCOME[:1], "the calls are"),
    "an unknown call that a reconcile could settle": (
        EFFECTS,
        SAFE,
        changed(1, 0, status="unknown"),
        "could be settled",
    ),
    "an unknown call that could be run again": (
        EFFECTS,
        SAFE,
        changed(1, 1, status="unknown"),
        "could be settled",
    ),
    "a result without an effect": (EFFECTS[:2], SAFE, OUTCOME, "the ledger says None"),
    "another result": (EFFECTS, {}, changed(0, 1, result="receipt of 9/9"), "the ledger says"),
    "a failure": (EFFECTS, {}, changed(0, 1, status="failed"), "nothing can fail"),
    "a read that is lost": (EFFECTS, {}, changed(0, 0, status="unknown"), "is unknown"),
}


@pytest.mark.parametrize(("effects", "safe", "outcome", "words"), WRONG.values(), ids=WRONG)
def test_the_judge_finds(effects, safe, outcome, words):
    assert words in "\n".join(judge(PROGRAM, effects, safe, outcome, is_over=True))


def test_the_judge_finds_a_conversation_that_is_stuck():
    assert judge(PROGRAM, EFFECTS, SAFE, OUTCOME, is_over=False) == ["the conversation is stuck"]


def test_programs_have_calls_of_every_kind_with_or_without_recordings(tmp_path):
    for folder in (FOLDER, tmp_path):
        made = programs(folder)
        assert {kind for program in made for kind in program.tools.values()} == {*Kind}
        assert made == programs(folder)


def test_the_bank_has_one_effect_for_a_key_if_it_is_asked_to(tmp_path):
    bank = Bank(tmp_path / "ledger", Victim(None))
    assert bank.find("k") is None
    for _ in range(2):
        assert bank.do("k", "0/0", once=True) == bank.find("k") == "receipt of 0/0"
    assert len(bank.effects()) == 1
    bank.do("k", "0/0", once=False)
    assert len(bank.effects()) == 2


KILLED = """
from crashes.campaign import Trial
from crashes.kills import Kill
from crashes.programs import Kind, PlannedCall, Program
point, folder = sys.argv[1:]
trial = Trial(0, [Program("p", ((PlannedCall("book", {}, Kind.RECONCILED, 0),),))], Path(folder))
if point == "in a reconcile":  # there is one after a kill
    trial._process(Kill("before an effect", 1, 0.0), 1.0)
print(os.WTERMSIG(trial._process(Kill(point, 1, 0.0), 1.0)[0]))
"""


@pytest.mark.parametrize("point", POINTS)
def test_a_process_is_killed_at_each_named_point(point, tmp_path):
    ended = run(KILLED, point, tmp_path)
    assert ended.stdout == "9\n", ended.stdout + ended.stderr
