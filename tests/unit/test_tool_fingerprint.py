"""What a person agreed to: a fingerprint of a tool, equal in every process as long as the tool says the same."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from cogency_rs import ToolCall, ToolResult, tool
from cogency_rs.servers.tool import MCPTool
from cogency_rs.tools import ToolOptions
from cogency_rs.tools.toolbox import ResolvedCall, fingerprint_of


async def call(*_: Any, **__: Any) -> ToolResult:
    return ToolResult("Success")


NOTE = MCPTool(
    "note",
    "Read a note.",
    {"type": "object", "properties": {"word": {"type": "string"}}},
    "notes",
    "note",
    ToolOptions(),
    call,
)


def print_of(made: Any, name: str = "note", server: str | None = "notes", **args: Any) -> str:
    return fingerprint_of(ResolvedCall(ToolCall(name, args, server=server), made))


@pytest.mark.parametrize(
    "changes",
    [
        {"description": "Delete a note."},
        {"schema": {"type": "object", "properties": {"word": {"type": "integer"}}}},
        {"schema": NOTE.schema | {"required": ["word"]}},
        {"hints": {"readOnlyHint": True}},
        {"options": ToolOptions(idempotent=True)},
    ],
    ids=str,
)
def test_it_changes_with_what_is_said_of_the_tool(changes):
    assert print_of(NOTE) != print_of(replace(NOTE, **changes))


def test_it_changes_with_the_name_and_the_server():
    assert len({print_of(NOTE), print_of(NOTE, "other"), print_of(NOTE, server="web")}) == 3


def test_it_is_the_same_for_each_call_and_for_a_tool_that_was_listed_again():
    again = replace(NOTE, schema=dict(reversed(NOTE.schema.items())), call=lambda *_: None)
    assert print_of(NOTE, word="a") == print_of(again, word="b")


def test_a_tool_may_say_anything():
    class Odd:
        name, description, schema = "odd", "half \ud83d", MappingProxyType({"a": object()})

    assert print_of(Odd()) == print_of(Odd())


PROGRAM = """
from cogency_rs import ToolCall, tool
from cogency_rs.tools.toolbox import fingerprint_of
from cogency_rs.tools.toolbox import ResolvedCall

@tool
def pay(euros: int, to: set[str]) -> str:
    'Pay.'

print(fingerprint_of(ResolvedCall(ToolCall("pay", {}), pay)))
"""


def test_it_is_the_same_in_every_process():
    @tool
    def pay(euros: int, to: set[str]) -> str:
        """Pay."""
        return ""

    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert ran.stdout.strip() == print_of(pay, "pay", None), ran.stderr
