"""The example of an agent, run as a program."""

from __future__ import annotations

from collections.abc import Callable


def test_the_program_prints_each_text_on_one_line(run: Callable[..., str]) -> None:
    *lines, last = run("agent_loop.py").splitlines()
    assert [line.rstrip() for line in lines] == [
        "user    What is 19 + 23, and what is 2 + 3?",
        "think   Two sums; neither needs the other.",
        "respond I add both at once.",
        'call    {"name": "add", "args": {"a": 19, "b": 23}}',
        'call    {"name": "add", "args": {"a": 2, "b": 3}}',
        "execute",
        'result  [{"tool": "add", "status": "success", "content": 42}, '
        '{"tool": "add", "status": "success", "content": 5}]',
        "metric",
        "respond The sums are 42 and 5.",
        "metric",
    ]
    assert last.startswith("completed in 2 steps, about ")
