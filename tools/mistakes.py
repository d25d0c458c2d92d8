"""Makes the table of mistakes in `docs/protocol.md` of the core's: `python -m tools.mistakes`."""

from __future__ import annotations

import re

from tools.dialect_fields import CHECKOUT, types_of

__all__ = ["PAGE", "page", "table"]

PAGE = CHECKOUT / "docs" / "protocol.md"

SOURCE = CHECKOUT / "core" / "src" / "protocol" / "recovery.rs"

BEGIN, END = "<!-- mistakes: made by `python -m tools.mistakes` -->\n", "<!-- mistakes: end -->\n"


def table() -> str:
    code = SOURCE.read_text(encoding="utf-8")
    mistakes, forgiven = list(types_of(code))
    places = {each.name: each.meaning for each in forgiven.members}
    arms = re.findall(r"((?:Self::\w+\s*\|?\s*)+)=> (?:\{\s*)?Forgiven::(\w+)", code)
    of = {name: place for names, place in arms for name in re.findall(r"Self::(\w+)", names)}
    lines = ["| mistake | read as it was meant |", "| --- | --- |"]
    lines += [f"| {each.meaning} | {places[of[each.name]]} |" for each in mistakes.members]
    return "\n".join(lines) + "\n"


def page() -> str:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
