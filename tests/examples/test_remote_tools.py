"""The example of tools on Ray: results in call order, state that is kept, and a lost worker that affects one call.

The page on Ray opens with it and shows what it prints.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from support.pages import CHECKOUT
from support.ray_environment import ray_variables

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
    pytest.mark.timeout(150),
]


def test_each_call_has_its_result(examples, tmp_path):
    ran = subprocess.run(
        [sys.executable, examples / "remote_tools.py"],
        env={**os.environ, **ray_variables(tmp_path)},
        cwd=tmp_path,
        capture_output=True,  # Ray itself reports the lost worker on stderr
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-6:] == [
        "success  count_primes: 3245",
        "success  count_primes: 2262",
        "unknown  pay: Tool execution failed: It is not known whether the call to 'pay' happened: the worker that ran "
        "it was lost. Find out before it is called again.",
        "success  write: 1",
        "success  write: 2",
        "the notebook here: []",
    ]
    shown = "\n".join(ran.stdout.splitlines()[-6:])
    assert f"{shown}\n```" in (CHECKOUT / "docs" / "remote.md").read_text(encoding="utf-8")
