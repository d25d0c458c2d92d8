"""The example of MCP tools: their names, which server gets each call, and calls of a server that dies."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp", reason="the servers of the example are written with mcp")


def test_it_prints_the_tools_and_the_outcome_of_each_call(run):
    assert run("mcp_tools.py").splitlines() == [
        "tools: find, fruit__find, fruit__crash, trees__find, trees__crash",
        "",
        "a batch:",
        "  success  nothing is remembered of pea",
        "  success  ['pear', 'peach']",
        "  success  ['pear tree']",
        "  failure  Server 'flowers' of tool 'find' is not known. Known servers: local, fruit, trees",
        "  told on the way: apple, ash, beech, peach, pear, pear tree",
        "",
        "a server that dies, and is there again:",
        "  unknown  Tool execution failed: server 'fruit' ended before it answered 'crash', "
        "so whether the call had an effect is not known",
        "  success  ['pear', 'peach']",
    ]
