"""Faults put in on purpose: the judge is judged by how many worlds find each of them.

`python -m world.faults` prints the table. A world counts if it is right without the fault and wrong with it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator

from . import doors, faults_of_calls, faults_of_decisions, faults_of_logs  # noqa: F401  # each adds its own
from .check import check
from .mutation import FAULTS, Mutation
from .plan import Plan, draw

__all__ = ["FAULTS", "Mutation", "share"]


def share(
    mutation: Mutation, clean: Iterable[Plan], most: int = 10
) -> tuple[int, int, Counter[str]]:
    """How many of these worlds find a fault, of how many; it stops when `most` have.

    Args:
        mutation: the fault.
        clean: worlds that are right without it.
        most: enough.
    """
    kinds: Counter[str] = Counter()
    found = tried = 0
    for plan in clean:
        with mutation.put_in():
            faults = check(plan)[1]
        tried += 1
        found += bool(faults)
        kinds.update({fault.kind for fault in faults})
        if found >= most:
            break
    return found, tried, kinds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m world.faults", description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000, help="at most so many for each fault")
    parser.add_argument("--enough", type=int, default=10, help="worlds that find it")
    parser.add_argument("--only", default="", help="only faults with this in their names")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--right-clocks", action="store_true", help="without clocks that differ")
    parser.add_argument("--no-ids", action="store_true", help="without ids of a provider")
    options = parser.parse_args()
    with doors.opened():
        right: dict[int, bool] = {}

        def plans() -> Iterator[Plan]:
            for seed in range(options.seed, options.seed + options.worlds):
                plan = draw(seed).without(clocks=options.right_clocks, ids=options.no_ids)
                if seed not in right:
                    right[seed] = not check(plan)[1]
                if right[seed]:
                    yield plan

        for mutation in FAULTS:
            if options.only in mutation.name:
                found, tried, kinds = share(mutation, plans(), options.enough)
                told = ", ".join(kind for kind, _ in kinds.most_common(3))
                part = found / tried if tried else 0.0
                print(f"{part:8.2%} {found:3} of {tried:5}  {mutation.name}: {told}", flush=True)


if __name__ == "__main__":
    main()
