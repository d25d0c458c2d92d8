"""Writes the table of presets into `docs/dialects.md`: `python tools/presets.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cogency_rs import Dialect, ToolCall

__all__ = ["EXAMPLE", "PAGE", "with_presets"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "dialects.md"

BEGIN = "<!-- presets: made by `python tools/presets.py`, do not edit -->"
END = "<!-- presets: end -->"

EXAMPLE = ToolCall("read", {"file": "a.txt", "lines": 20})


def with_presets(page: str) -> str:
    """The page with the table between its marks made anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE} has no place for the presets: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def tables() -> str:
    presets = [Dialect(name) for name in Dialect.presets()]
    rows = [
        f"| `{each.name}` | {each.models or 'any model that is told how'} | {stops(each)} |"
        for each in presets
    ]
    head = ["| name | taught to | a server stops at |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows, "", "```text", *calls(presets), "```"])


def stops(dialect: Dialect) -> str:
    """What is to be given to a server as its stop strings; a bar would end the table's cell."""
    shown = [stop.replace("\n", "\\n").replace("|", "\\|") for stop in dialect.stop]
    return " ".join(f"`{each}`" for each in shown) or "nothing of its own"


def calls(presets: list[Dialect]) -> Iterator[str]:
    """The same call in each dialect, under its name."""
    for dialect in presets:
        yield f"# {dialect.name}"
        yield f"{dialect.write_calls([EXAMPLE])}\n"


if __name__ == "__main__":
    PAGE.write_text(with_presets(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
