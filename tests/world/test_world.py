"""Fixed worlds keep every promise; see the package's docstring."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from world import doors
from world.check import check
from world.exhaustive import every_plan, kill_points
from world.faults import FAULTS
from world.ledger import Ledger
from world.plan import Plan, Process, draw
from world.server import connected
from world.shrink import shrunk
from world.world import carry_out

WORLDS = 400
IN_A_TEST = 50


@pytest.fixture(autouse=True)
def _opened() -> Iterator[None]:
    with doors.opened():
        yield


def right(plan: Plan) -> None:
    """Fail with the shortest form of a plan, if its world breaks a promise."""
    __tracebackhide__ = True
    faults = check(plan)[1]
    if not faults:
        return
    kind, what = faults[0]
    small = shrunk(plan, lambda plan: any(fault.kind == kind for fault in check(plan)[1]))
    pytest.fail(
        f"{kind}: {what}\n\npython -m world --seed {plan.seed} --storage {plan.storage} shows it; "
        f"this is its shortest form:\n{small.shown()}"
    )


@pytest.mark.parametrize("first", range(1, WORLDS + 1, IN_A_TEST))
def test_worlds_in_memory_keep_every_promise(first):
    for seed in range(first, first + IN_A_TEST):
        right(draw(seed))


@pytest.mark.parametrize("seed", [1_021_852, 1_089_827, 1_097_579])
def test_worlds_that_found_a_fault_keep_every_promise(seed):
    """Stopped between the start of a call in the log and its tool; killed before anybody was shown a call."""
    right(draw(seed))


@pytest.mark.parametrize("first", range(1, 101, 25))
def test_worlds_in_a_file_keep_every_promise(first):
    for seed in range(first, first + 25):
        right(draw(seed, "sqlite"))


def test_worlds_on_a_server_keep_every_promise(postgres):
    with connected(postgres.address):
        for seed in range(1, 21):
            right(draw(seed, "postgresql"))


@pytest.mark.parametrize("dialect", ["cogency", "native"])
def test_a_call_may_be_killed_at_every_step(dialect):
    for plan in every_plan(1, dialect):
        for killed in kill_points(plan):
            right(killed)


def noted(ledger: Ledger) -> object:
    return repr((ledger.effects, ledger.decided, ledger.prompts, ledger.wrong, ledger.events))


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
def test_a_world_goes_the_same_way_each_time(storage):
    for seed in range(1, 11):
        plan = draw(seed, storage)
        assert noted(carry_out(plan)) == noted(carry_out(plan))


def test_every_plan_has_its_runs_calls_and_faults():
    for seed in range(1, 201):
        plan = draw(seed)
        assert plan.calls >= 10
        assert plan.faults >= 2
        if seed <= 40:
            assert carry_out(plan).runs >= 8


@pytest.mark.parametrize(
    "name", ["a question is saved twice", "an answer without calls is not saved"]
)
def test_the_judge_finds_a_fault_and_it_is_shrunk(name):
    [fault] = [each for each in FAULTS if each.name == name]
    plan = draw(3)
    with fault.put_in():
        [kind, *_] = {each.kind for each in check(plan)[1]}
        small = shrunk(plan, lambda plan: any(each.kind == kind for each in check(plan)[1]))
        assert any(each.kind == kind for each in check(small)[1])
    assert small.calls == 0
    assert set(small.processes) == {Process()}
