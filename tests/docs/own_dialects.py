"""The dialects that `docs/dialects.md` makes for models without a preset, as its program makes them."""

from __future__ import annotations

from pages import CHECKOUT, blocks_of

from cogency_rs import Dialect, ToolCall

__all__ = ["CALL", "OWN", "TOOLS"]

CALL = ToolCall("read", {"file": "a.txt", "lines": 20})
TOOLS = [
    {
        "name": "read",
        "parameters": {"properties": {"file": {"type": "string"}, "lines": {"type": "integer"}}},
    }
]


def made() -> dict[str, Dialect]:
    [block] = [
        block for block in blocks_of(CHECKOUT / "docs" / "dialects.md") if "\nOWN = {" in block.code
    ]
    names: dict[str, dict[str, Dialect]] = {}
    exec(compile(block.code, block.name, "exec"), names)
    return names["OWN"]


OWN = made()
