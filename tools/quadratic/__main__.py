"""Searches for texts whose cost grows faster than they do, in everything that takes text from outside.

    python -m tools.quadratic [--seed 1] [--count 3000] [--target parser ...] [--again CASE]

A text is a beginning, often a part of a good answer, and then a unit again and again, which is made of a dialect's own
marks and of a general list. Its cost, in processor time, is compared at n, 4n and 16n characters; it has to grow too
fast twice, and from a size at which it is no noise.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from random import Random

from tools.oracle.texts import WORDS, Writer, marks_of, presets
from tools.quadratic.growth import growth
from tools.quadratic.mended import Case
from tools.quadratic.targets import TARGETS, Target

__all__ = ["drawn", "main"]

_BY_NAME = {target.name: target for target in TARGETS}

GENERAL = [
    *(each for each in WORDS if not "\ud800" <= each[0] <= "\udfff"),
    *(
        "\u2060\u2060",
        "<a",
        "<!-- >",
        "&#",
        "'",
        "r'",
        "functions.",
        "Error: ",
        "a\n",
        "_",
        "*",
        "~",
        "`",
        "?",
        "+",
    ),
    *(
        "* ",
        "- ",
        "| a ",
        "> ",
        "1. ",
        "#\n",
        "```a\n",
        "![",
        "](",
        "[a]",
        "[!a",
        "\\\\",
        '\\"',
        '"""',
    ),
    *(
        "input_value=",
        ", input_type=",
        "sk-secret",
        "aaaaaaaa",
        "/../",
        "%41",
        "{{",
        "}}",
        "{%",
        "%}",
    ),
    *("data: ", "event: x\n", "id: 1\n", "row,7,ok\n"),
    "".join(f"row {number}\n" for number in range(130)),  # so many that none is seen as common
]
"""What units are made of, next to the marks of a dialect."""


def drawn(seed: int, number: int, targets: list[Target]) -> Case:
    """Case `number`."""
    random = Random(f"{seed} {number}")
    (target,) = random.choices(targets, [each.share for each in targets])
    dialect = random.choice(presets())
    pool = [*marks_of(dialect), *GENERAL] if target.of_dialects else GENERAL
    unit = "".join(random.choice(pool) for _ in range(random.choice([1, 1, 1, 2, 2, 3, 4])))
    before = ""
    match random.randrange(4):
        case 0 if target.of_dialects:  # a part of a good answer, so that the units are within it
            good = Writer(random, dialect).good()
            before = good[: random.randint(0, len(good))]
        case 1:
            before = "".join(random.choice(pool) for _ in range(random.randint(1, 4)))
        case _:
            pass
    options = {name: random.choice(values) for name, values in target.options.items()}
    return Case(target.name, dialect if target.of_dialects else "", before, unit, options)


def measured(case: Case) -> list[tuple[int, float]] | None:
    """Three sizes and costs of a case that grows too fast; `None` for any other."""
    target = _BY_NAME[case.target]
    dialect = case.dialect or "cogency"

    def text(size: int) -> str:
        return case.before + case.unit * max(1, size // len(case.unit))

    work: Callable[[str], object] = lambda text: target.run(text, dialect, **case.options)  # noqa: E731
    return growth(work, text, target.largest)


def _shown(case: Case, sizes: list[tuple[int, float]]) -> str:
    costs = ", ".join(f"{size:,} characters {seconds:.3f} s" for size, seconds in sizes)
    return f"{costs}\n  {json.dumps(asdict(case))}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.quadratic", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000, help="how many texts are tried")
    parser.add_argument(
        "--target", action="append", choices=_BY_NAME, help="only these; may come again"
    )
    parser.add_argument("--again", help="only this case, as a report shows it")
    given = parser.parse_args(arguments)
    if given.again:
        found = measured(case := Case(**json.loads(given.again)))
        print(_shown(case, found) if found else "it does not grow too fast")
        return bool(found)
    targets = [_BY_NAME[name] for name in given.target or _BY_NAME]
    spent = Counter[str]()

    def timed(case: Case) -> list[tuple[int, float]] | None:
        began = time.process_time()
        found = measured(case)
        spent[case.target] += round(1000 * (time.process_time() - began))
        return found

    too_fast = 0
    for number in range(given.count):
        case = drawn(given.seed, number, targets)
        # What decides is seen twice: the machine may be busy with other work.
        if timed(case) and (found := timed(case)):
            too_fast += 1
            print(
                f"number {number} of seed {given.seed} grows too fast: {_shown(case, found)}",
                flush=True,
            )
    print(f"{given.count:,} texts for {len(targets)} targets; most processor time: ", end="")
    print(
        ", ".join(
            f"{name} {milliseconds / 1000:.1f} s" for name, milliseconds in spent.most_common(5)
        )
    )
    if too_fast:
        print(f"{too_fast} grow too fast; mend them, and add them to tools/quadratic/mended.py")
    return bool(too_fast)


if __name__ == "__main__":
    sys.exit(main())
