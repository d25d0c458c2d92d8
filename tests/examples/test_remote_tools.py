"""Tools on Ray: in call order, with state kept; a call whose worker is lost is unknown, and affects no other call."""

from __future__ import annotations

import importlib.util
import os
import secrets
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
    pytest.mark.timeout(150),
]


def test_each_call_has_its_result(examples, tmp_path):
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(32))
    ran = subprocess.run(
        [sys.executable, examples / "remote_tools.py"],
        env={**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)},
        cwd=tmp_path,
        capture_output=True,  # Ray itself writes to stderr of the worker that was lost
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-6:] == [
        "success  count_primes: 3245",
        "success  count_primes: 2262",
        "unknown  pay: Tool execution failed: It is not known whether the call of 'pay' happened: the worker that ran "
        "it was lost. Find out before it is called again.",
        "success  write: 1",
        "success  write: 2",
        "the notebook here: []",
    ]
