"""Shows an older wheel and the tree the same cases, and fails at every difference that no table names.

    python -m tools.oracle WHEEL [--seed 1] [--count 400] [--kind text ...] [--again CASE]

Texts in all dialects, recorded, good and broken, and cut anywhere; turns, runs, logs, prompts, deltas of the chat API,
what dialects write, grammars, the bytes of services, and chat templates. The wheel draws the cases, so they stay the
same while the tree changes. Each side is a process that sees nothing but its version of the package. What differs and
is meant is in `tools/oracle/differences.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.oracle import differences
from tools.oracle.cases import KINDS, SHARES
from tools.oracle.faults import FAULTS
from tools.oracle.shrink import shrunk
from tools.oracle.sides import CHECKOUT, Side, package_of

__all__ = ["Comparison", "main"]

BATCH = 50
"""Cases that are sent at once."""

MOST_SHOWN = 3
"""Unnamed differences of one kind that are shown, and shrunk."""

Case = dict[str, Any]


@dataclass
class Comparison:
    """Two sides, and what was found about them.

    Attributes:
        old: the wheel.
        new: the tree.
        compared: how many cases of each kind both answered.
        named: how many differences each entry explains.
        unnamed: the first cases of each kind whose difference no entry explains, with where they come from.
        faults: how many such cases there are, by kind.
    """

    old: Side
    new: Side
    compared: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    unnamed: list[tuple[str, Case]] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)

    def compare(self, cases: list[Case], origin: str) -> None:
        """Ask both sides, and note the differences."""
        for first in range(0, len(cases), BATCH):
            batch = cases[first : first + BATCH]
            for place, (case, (old, new)) in enumerate(
                zip(batch, self.answers(batch), strict=True)
            ):
                self.compared[case["kind"]] += 1
                if old == new:
                    continue
                found = differences.reasons(case, old, new)
                if found is not None:
                    self.named.update(each.name for each in found)
                    continue
                self.faults[case["kind"]] += 1
                if self.faults[case["kind"]] <= MOST_SHOWN:
                    self.unnamed.append((f"{origin} {first + place}", case))

    def answers(self, batch: list[Case]) -> list[tuple[Any, Any]]:
        """What both sides say; they answer at the same time."""
        for side in (self.old, self.new):
            side.send({"cases": batch})
        got = [self._received(side, batch) for side in (self.old, self.new)]
        return list(zip(*got, strict=True))

    def _received(self, side: Side, batch: list[Case]) -> list[Any]:
        answers = side.receive()
        if answers is not None:
            return answers
        alone = []  # it died: of which case?
        for case in batch:
            side.send({"cases": [case]})
            answered = side.receive()
            alone.append([{"died": "or took too long"}] if answered is None else answered)
        return [each for (each,) in alone]

    def place(self, case: Case) -> str:
        """Where the answers to a case differ, without numbers; "" if they do not, or an entry explains it."""
        ((old, new),) = self.answers([case])
        if old == new or differences.reasons(case, old, new) is not None:
            return ""
        return re.sub(r"\d+", "", next(_first_difference(old, new)))


def _first_difference(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Where two answers differ first, and what is there."""
    if type(old) is type(new) is dict:
        for key in [*old, *(key for key in new if key not in old)]:
            if old.get(key) != new.get(key) or (key in old) != (key in new):
                yield from _first_difference(old.get(key), new.get(key), f"{at}.{key}")
                return
    elif type(old) is type(new) is list:
        for place in range(max(len(old), len(new))):
            one, other = old[place : place + 1], new[place : place + 1]
            if one != other:
                yield from (
                    _first_difference(one[0], other[0], f"{at}[{place}]")
                    if one and other
                    else [f"{at}[{place}]", f"  wheel: {one!r:.600}", f"  tree:  {other!r:.600}"]
                )
                return
    yield from (at, f"  wheel: {old!r:.600}", f"  tree:  {new!r:.600}")


def _show(comparison: Comparison, origin: str, case: Case) -> None:
    place = comparison.place(case)  # a shorter case that differs elsewhere is about something else
    shortest = shrunk(case, lambda shorter: comparison.place(shorter) == place)
    ((old, new),) = comparison.answers([shortest])
    print(
        f"\n{origin}: a difference that no entry names, at "
        + "\n".join(_first_difference(old, new))
    )
    written = json.dumps(shortest)
    print(
        f"  shortest case: {written}"
        if len(written) < 4000
        else f"  a case of {len(written)} characters"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.oracle", description=__doc__)
    parser.add_argument("wheel", type=Path, help="a wheel, or a folder with the package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--count", type=int, default=400, help="cases of a kind; there are more of some kinds"
    )
    parser.add_argument(
        "--kind", action="append", choices=[*KINDS, "recorded"], help="only these; may come again"
    )
    parser.add_argument(
        "--tree", type=Path, default=CHECKOUT / "python", help="the folder with the other package"
    )
    parser.add_argument("--fault", choices=FAULTS, help="put this fault into the tree's side")
    parser.add_argument("--again", help="only this case, as a report shows it")
    given = parser.parse_args(arguments)
    package = given.wheel if given.wheel.is_dir() else package_of(given.wheel)
    comparison = Comparison(Side("the wheel", package), Side("the tree", given.tree, given.fault))
    began = time.monotonic()
    try:
        if given.again:
            comparison.compare([json.loads(given.again)], "the case")
        else:
            _compare_all(comparison, given)
        for origin, case in comparison.unnamed:
            _show(comparison, origin, case)
    finally:
        comparison.old.close()
        comparison.new.close()
    print(
        f"\n{sum(comparison.compared.values()):,} cases in {time.monotonic() - began:.0f} s: ",
        end="",
    )
    print(", ".join(f"{count:,} {kind}" for kind, count in comparison.compared.items()))
    for each in differences.DIFFERENCES:
        print(f"{comparison.named[each.name]:6,} differ as named: {each.name} ({each.reason})")
    for kind, count in comparison.faults.items():
        print(f"{count:6,} of {kind} differ and no entry in tools/oracle/differences.py names it")
    return 1 if comparison.faults else 0


def _compare_all(comparison: Comparison, given: argparse.Namespace) -> None:
    wanted = given.kind or ["recorded", *KINDS]
    if "recorded" in wanted:
        named = os.environ.get("COGENCY_RS_RECORDINGS")
        folder = Path(named) if named else CHECKOUT.parent / "shared" / "data"
        cases = comparison.old.draw({"recorded": str(folder), "seed": given.seed})
        if not cases:
            print(f"no recordings in {folder}; name their folder in COGENCY_RS_RECORDINGS")
        comparison.compare(cases, "recording")
    for kind in (each for each in KINDS if each in wanted):
        count = max(1, int(given.count * SHARES.get(kind, 1)))
        cases = comparison.old.draw({"draw": kind, "seed": given.seed, "from": 0, "to": count})
        comparison.compare(cases, f"seed {given.seed}, {kind}")


if __name__ == "__main__":
    sys.exit(main())
