"""Two web processes with one log: one is killed in the middle of an answer, and the other completes the answer."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.ray_environment import ray_variables

pytestmark = pytest.mark.timeout(150)

WHERE = {
    "in PostgreSQL": [],
    "in a SQLite file": ["--here"],
}


@pytest.mark.parametrize("where", WHERE)
def test_the_other_process_gives_the_answer_and_nothing_is_done_twice(
    where, examples: Path, tmp_path: Path, request: pytest.FixtureRequest
):
    options = [*WHERE[where]]
    if where == "in PostgreSQL":
        pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
        options.append(request.getfixturevalue("dsn"))
    on_ray = "--here" not in options and importlib.util.find_spec("ray") is not None
    ran = subprocess.run(
        [sys.executable, examples / "web_fleet.py", *options],
        env={**os.environ, **ray_variables(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert [line.strip() for line in ran.stdout.splitlines()] == [
        f"log  {where}",
        f"tools  {'on Ray' if on_ray else 'in the web processes'}",
        "A  is ready",
        "B  is ready",
        "page  Is there enough tea? Order 12 boxes if there is not.",
        "A  I look what is there, and order what is missing.",
        "A  calls stock(item='tea')",
        "A  calls order(item='tea', boxes=12)",
        "kill -9  A, whose call has left an order and not returned",
        "balancer  A is gone; B is asked to resume",
        "page  is shown the 4 rows of the log again, by B",
        "B  takes up stock(item='tea')",
        "B  takes up order(item='tea', boxes=12)",
        "B  stock: success: 3",
        "B  order: failure: It is not known whether the call to 'order' happened: the program that ran it ended. "
        "It was not run again. Find out whether it had its effect before you call it again.",
        "B  There are 3 boxes of tea. I began to order 12 more, and it is not known whether that happened, so I did "
        "not order again. Please look into the orders.",
        "log  stock: success, begun 1 times, last by A",
        "log  order: unknown, begun 1 times, last by A",
        "orders  12 boxes of tea",
    ]
