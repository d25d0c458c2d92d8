"""Writes the table of faults into `docs/reliability.md`, from what their tests hold: `python tools/faults.py`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

__all__ = ["FAULTS", "PAGE", "Fault", "with_faults"]

CHECKOUT = Path(__file__).resolve().parents[1]

PAGE = CHECKOUT / "docs" / "reliability.md"

BEGIN, END = (
    "<!-- faults: made by `python tools/faults.py`, do not edit -->",
    "<!-- faults: end -->",
)


class Fault(TypedDict):
    """What goes wrong, what happens then, and the test in `tests/faults` that causes it, as `file::function`."""

    fault: str
    outcome: str
    test: str


FAULTS: dict[str, list[Fault]] = tomllib.loads(
    (CHECKOUT / "tests" / "faults" / "faults.toml").read_text(encoding="utf-8")
)
"""By what is at fault: the source, a tool, the process."""


def with_faults(page: str) -> str:
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
    yield from ("| fault | outcome |", "| --- | --- |")
    for group, faults in FAULTS.items():
        yield f"| **{group}** | |"
        yield from (f"| {each['fault']} | {each['outcome']} |" for each in faults)


if __name__ == "__main__":
    PAGE.write_text(with_faults(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
