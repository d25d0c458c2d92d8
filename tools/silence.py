"""Writes into `docs/chat-api.md` for how many characters a reader of calls is silent: `python tools/silence.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cogency_rs import Dialect, ToolCall
from cogency_rs.reader import ChatReader

__all__ = ["PAGE", "SHAPES", "TOOLS", "watched", "with_silences"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "chat-api.md"

BEGIN, END = (
    "<!-- silence: made by `python tools/silence.py`, do not edit -->",
    "<!-- silence: end -->",
)

TEXT = "def greet(name):\n    return f\"Hello {name}\"  # <b>&amp;</b> [1, {2}] 'ü'\n"


def _tool(name: str, **parameters: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": schema}}


STRING = {"type": "string"}

TOOLS = [
    _tool("write", path=STRING, content=STRING),
    _tool("fill", **{f"field_{number}": STRING for number in range(50)}),
    _tool(
        "edit",
        change={"type": "object", "properties": {"line": {"type": "integer"}, "text": STRING}},
    ),
    _tool(
        "send", items={"type": "array", "items": {"type": "object", "properties": {"text": STRING}}}
    ),
]

SHAPES: dict[str, list[ToolCall]] = {
    "one long string": [ToolCall("write", {"path": "a.py", "content": TEXT * 125})],
    "many short ones": [
        ToolCall(
            "fill", {f"field_{number}": f"the words of field {number}" for number in range(50)}
        )
    ],
    "nested": [ToolCall("edit", {"change": {"line": 3, "text": TEXT * 125}})],
    "an array": [ToolCall("send", {"items": [{"text": TEXT * 5}] * 25})],
    "three calls": [
        ToolCall("write", {"path": f"{name}.py", "content": TEXT * 40}) for name in "abc"
    ],
}
"""The calls of a text, of about 10,000 characters or less, by the shape of their arguments."""


def watched(reader: ChatReader, text: str) -> tuple[list[dict[str, Any]], int]:
    """The deltas of a text that comes character by character, and how many come at most between two deltas."""
    deltas: list[dict[str, Any]] = []
    longest = last = 0
    for at, character in enumerate(text, 1):
        if made := reader.feed(character):
            deltas += made
            longest, last = max(longest, at - last), at
    deltas += reader.finish()[0]
    return deltas, max(longest, len(text) - last)


def with_silences(page: str) -> str:
    """The page with a new table.

    Raises:
        ValueError: the page has no place for it.
    """
    before, begins, rest = page.partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not (begins and ends):
        raise ValueError(f"{PAGE} has no place for the table: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n" + "\n".join(_table()) + f"\n\n{END}{after}"


def _table() -> Iterator[str]:
    yield _row("dialect", *SHAPES)
    yield _row(*["---"] * (len(SHAPES) + 1))
    rows = {name: tuple(_silences(name)) for name in Dialect.presets()}
    for name, silences in sorted(rows.items(), key=lambda row: (-max(row[1]), row[0])):
        yield _row(f"`{name}`", *map(str, silences))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _silences(name: str) -> Iterable[int]:
    dialect = Dialect(name)
    for calls in SHAPES.values():
        text = dialect.write_calls(calls, tools=TOOLS)
        yield watched(ChatReader(dialect, TOOLS, calls="stream"), text)[1]


if __name__ == "__main__":
    PAGE.write_text(with_silences(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
