"""Slow, failing, blocking and wrongly called tools: one result each, in call order; a hook sees starts and ends."""

from __future__ import annotations

from collections import Counter

import pytest


@pytest.fixture
def printed(run) -> tuple[list[str], list[str]]:
    """What was printed while the calls ran, and the results."""
    running, results = run("tool_timeouts.py").split("\n\n")
    return running.splitlines(), results.splitlines()


def test_each_call_has_its_own_result_in_call_order(printed, examples):
    _, results = printed
    lines = len((examples / "tool_timeouts.py").read_text(encoding="utf-8").splitlines())
    assert results == [
        "failure  wait: Tool 'wait' timed out after 1 s",
        "failure  divide: Tool execution failed: ZeroDivisionError: division by zero",
        f"success  count_lines: Success: {lines}",
        "failure  divide: Invalid arguments for tool 'divide': argument 'a' must be a number, "
        'got a string: "one"',
        "success  divide: 0.25",
    ]


def test_the_hook_sees_each_start_and_end_also_of_the_call_that_is_refused(printed):
    running, _ = printed
    seen = Counter(tuple(line.split()[:2]) for line in running if not line.startswith(" "))
    names = {"wait": 1, "divide": 3, "count_lines": 1}
    assert seen == Counter(
        {(what, name): count for what in ("start", "end") for name, count in names.items()}
    )


def test_a_tool_that_timed_out_cleans_up_before_its_call_ends(printed):
    running, _ = printed
    [end] = [line for line in running if line.startswith("end      wait")]
    assert running.index("         wait puts its things away") < running.index(end)
