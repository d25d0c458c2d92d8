"""The fixture `scripted_model`: a test fails if it leaves answers unused or asks for too many, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = {**os.environ, "COLUMNS": "300", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

SUITE = """
import asyncio
import pytest

async def ask(model, times):
    for _ in range(times):
        async for piece in model([{"role": "user", "content": "Hi"}]):
            pass

def test_uses_its_script(scripted_model):
    one, two = scripted_model(["a", "b"]), scripted_model(["c"], chunk=None, name="two")
    asyncio.run(ask(one, 2))
    asyncio.run(ask(two, 1))

def test_leaves_an_answer(scripted_model):
    asyncio.run(ask(scripted_model(["a", "left"]), 1))

def test_asks_too_often_and_does_not_look(scripted_model):
    try:
        asyncio.run(ask(scripted_model(["a"]), 2))
    except Exception:
        pass

def test_fails_by_itself(scripted_model):
    scripted_model(["never used"])
    raise ValueError("its own")

def test_has_no_model():
    pass
"""

OUTCOMES = """
FAILED test_suite.py::test_asks_too_often_and_does_not_look - AssertionError: scripted: request 2 has no answer, since 1 answer was given; its last message is user: 'Hi'
FAILED test_suite.py::test_fails_by_itself - ValueError: its own
FAILED test_suite.py::test_leaves_an_answer - AssertionError: scripted: only 1 of 2 answers were used; the next one is 'left'
PASSED test_suite.py::test_has_no_model
PASSED test_suite.py::test_uses_its_script
"""  # noqa: E501


def test_a_test_is_held_to_its_script(tmp_path: Path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["cogency_rs.testing.pytest"]\n')
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    options = ["-rA", "-p", "no:cacheprovider", "--tb=no", "--capture=no"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=ENVIRONMENT,
    )
    marks = ("PASSED ", "FAILED ", "ERROR ")
    summary = [line for line in done.stdout.splitlines() if line.startswith(marks)]
    assert sorted(summary) == OUTCOMES.strip().splitlines(), done.stdout + done.stderr


def test_the_helpers_do_not_import_pytest():
    code = "import sys, cogency_rs.testing; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
