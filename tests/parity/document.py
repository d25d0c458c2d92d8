"""Writes `docs/differences.md` from `differences`: `python -m parity.document > ../docs/differences.md` in `tests/`."""

from __future__ import annotations

import sys
import textwrap
from pprint import pformat
from typing import Any

from .differences import ALL, ROOMS, Difference
from .examples import OURS, THEIRS

INTRODUCTION = """\
---
hide:
  - toc
---

<!-- Made from tests/parity/differences/ by `python -m parity.document` in tests/; do not edit. -->
<!-- fragments: tests/parity/test_differences.py runs them, with both packages -->

# Where cogency-rs differs from cogency 3.3.0

cogency-rs does what cogency 3.3.0 does, byte for byte: the same events for the same text, the same rows in the log,
the same messages, the same results, the same errors. This page lists every exception, with its reason. The parity
tests (`tests/parity`) compare the rest with cogency itself, and fail on any other difference.

A difference is named after the predicate in `tests/parity/differences/` that says exactly when it applies. The tests
run its examples with both packages, in a small vocabulary: `events` parses a text, `result` is the outcome, content
and error of one call of the tool `t`, `emitted` and `saved` are what an accumulator hands to the user and to the log,
`messages` is what the model is shown of a log, `found` is what a search finds. A tuple that begins with the name of
an exception says that it was raised; `…` marks text that was cut short.
"""


def document() -> str:
    rooms = [(room, [each for each in ALL.values() if each.room == room]) for room in ROOMS]
    tables = "\n".join(f"## {room}\n\n{table(found)}" for room, found in rooms)
    examples = "\n".join(example(each) for _, found in rooms for each in found)
    return f"{INTRODUCTION}\n{tables}\n## Examples\n\n{examples}"


def table(differences: list[Difference]) -> str:
    rows = [f"| difference | {THEIRS} | {OURS} | why |", "| --- | --- | --- | --- |"]
    rows += [
        f"| [`{each.name}`](#{each.name}) | {each.theirs} | {each.ours} | {each.why} |"
        for each in differences
    ]
    return "\n".join(rows) + "\n"


def example(difference: Difference) -> str:
    shown = [
        f"{each.code}\n{comment(THEIRS, each.theirs)}\n{comment(OURS, each.ours)}"
        for each in difference.examples
    ]
    return f"### {difference.name}\n\n```python\n" + "\n\n".join(shown) + "\n```\n"


def comment(side: str, value: Any) -> str:
    start = f"# {side}: ".ljust(17)
    text = pformat(value, width=103 - len(start), sort_dicts=False)
    return textwrap.indent(text, "#".ljust(17)).replace("#".ljust(17), start, 1)


if __name__ == "__main__":
    sys.stdout.write(document())
