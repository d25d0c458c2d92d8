"""Terminals of fewer than 40 columns: no line is wider than the terminal, and all of the text is there."""

from __future__ import annotations

import io
import re

import pytest

from support import logs

pytest.importorskip("typer", reason="the command line is in the extra cli")

from hypothesis import given, settings, strategies as st
from rich.cells import cell_len
from rich.console import Console

from cogency_rs import RunResult, ToolCall, ToolResult
from cogency_rs.cli import page as page_module
from cogency_rs.cli.chat.chart import chart
from cogency_rs.cli.chat.events import CallBegan, CallEnded
from cogency_rs.cli.chat.view import View
from cogency_rs.cli.log import rows
from cogency_rs.cli.page import Page
from cogency_rs.cli.turns import turns_of
from cogency_rs.models import Usage

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

WIDTHS = st.integers(20, 45)
WORDS = st.lists(st.text("ab", min_size=1, max_size=30), max_size=12).map(" ".join)


def terminal(columns: int) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=True, width=columns, height=20, _environ={}), out


def lines(out: io.StringIO) -> list[str]:
    """The lines that were written, with those that were drawn over."""
    return re.split(r"[\r\n]", _CONTROLS.sub("", out.getvalue()))


def widest(out: io.StringIO) -> int:
    return max(map(cell_len, lines(out)))


@settings(deadline=None)
@given(columns=WIDTHS, prefix=st.text("p ", max_size=18), text=WORDS)
def test_a_text_after_a_prefix(columns, prefix, text):
    console, out = terminal(columns)
    Page(console).hanging([(prefix, "")], text)
    assert widest(out) <= columns
    assert "".join("".join(lines(out)).split()) == "".join((prefix + text).split())


@pytest.mark.parametrize("columns", [20, 24, 30, 39])
def test_the_chat(columns):
    console, out = terminal(columns)
    view = View(console)
    call = ToolCall("read_file", {"path": "config/staging/of/a/long/path.toml"})
    with view:
        view.begin()
        view.happened({"type": "think", "content": "Let me look at it. " * 5})
        view.happened(
            {"type": "respond", "content": "I **look** at it, and at the others too. " * 5}
        )
        view.happened(
            {"type": "respond", "content": "\n\n# A heading\n\n- an item of a list\n- " + "b" * 50}
        )
        view.happened(CallBegan("1", call))
        view.happened({"type": "progress", "execution_id": "1", "progress": 2, "total": 3})
        view.happened(CallEnded("1", call, ToolResult("a summary of all that is in it"), 1.5))
        view.happened(CallEnded("2", call, ToolResult("it is not there at all", error=True), 1.5))
        view.note("a note of some words that goes on")
        view.error("an error of some words that goes on")
        result = RunResult("", "completed", None, Usage(), (), (), "c", "r")
        view.end(result, Usage(1_000_000, 1_000_000), 12, 5.31)
    assert widest(out) <= columns


@pytest.mark.parametrize("columns", [20, 24, 30, 39])
def test_the_bars_of_a_turn(tmp_path, columns):
    [turn, *_] = turns_of(rows(logs.write(tmp_path / "store.db", logs.SESSION), "staging"))
    console, out = terminal(columns)
    chart(Page(console), turn)
    assert widest(out) <= columns
    assert "━" in out.getvalue()


@pytest.mark.parametrize("columns", [20, 24, 30, 39])
def test_a_conversation_of_a_log(command, monkeypatch, tmp_path, columns):
    path = logs.write(tmp_path / "store.db", logs.SESSION)
    monkeypatch.setattr(page_module, "PLAIN", columns)
    out = command("show", path, "staging").out
    assert max(map(cell_len, out.split("\n"))) <= columns
    assert "Productionworksandstagingdoesnot:comparethetwo." in "".join(out.split())
