"""No client runs a call that was begun and not completed: `make clients` runs this in the clients themselves."""

from __future__ import annotations

import pytest

from .ran import CLIENTS, Ran, run_all
from .served import CASES, SENT, Sent

INCOMPLETE = [case for case in CASES if case != "valid"]

Found = dict[str, dict[str, Ran]]

pytestmark = pytest.mark.timeout(600)  # the first test waits for all clients


@pytest.fixture(scope="module")
def found() -> Found:
    return run_all()


@pytest.mark.parametrize("sent", SENT)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_valid_call_runs_once(client: str, sent: Sent, found: Found):
    seen = found[client][f"{sent}/valid"]
    assert (seen["ran"], seen["raised"]) == (CASES["valid"].complete, None)


@pytest.mark.parametrize("case", INCOMPLETE)
@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_with_an_error_raises_and_nothing_runs(client: str, case: str, found: Found):
    seen = found[client][f"stream/{case}"]
    # A client that does not wait for the end of the answer runs the calls that were complete before the error.
    assert seen["ran"] == (CASES[case].complete if CLIENTS[client].is_early else [])
    assert seen["raised"] not in (None, "TimeoutError")


@pytest.mark.parametrize("case", INCOMPLETE)
@pytest.mark.parametrize("client", CLIENTS)
def test_of_whole_calls_the_complete_ones_run(client: str, case: str, found: Found):
    assert found[client][f"whole/{case}"]["ran"] == CASES[case].complete


@pytest.mark.parametrize("case", INCOMPLETE)
def test_some_client_runs_the_incomplete_call_if_the_answer_ends_without_the_error(
    case: str, found: Found
):
    seen = [found[client][f"naive/{case}"]["ran"] for client in CLIENTS]
    assert any(call not in CASES[case].complete for ran in seen for call in ran)
