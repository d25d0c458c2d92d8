"""Where we and the sources agree, and how often: `python -m conformance.agreement` in `tests/` prints it.

Calls agree if names and arguments are the same values of the same JSON types: 1, 1.0 and true are three values.

Other parsers are held to the cases in the same way; `usual` says whether a source expects what most of them read.

Text agrees if content and reasoning are the same except for whitespace at their ends and around calls. Text is compared
only if the calls agree, and the text is well-formed or has no calls: each parser may read damaged markup in a way of
its own.

A source counts as keeping text after calls if its parsers do so in their tests: llama.cpp, Ollama, Forge and the
second dynamo-parsers. In the others (vLLM, tool-parser, the first dynamo-parsers) some parsers keep it and some drop
it, so there it is enough that the text before the first call is the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .cases import NO_CALL, WELL_FORMED, Case, cases
from .reading import Mode, reading

FLOORS = {
    Mode.STRICT: {"undisputed": 0.97, "well-formed": 0.93},
    Mode.LENIENT: {"undisputed": 0.97, "well-formed": 0.935},
}
"""The share of the cases that must agree: the reached share, rounded down to half a percent."""

DROP_TEXT = re.compile(r"vLLM |smg |dynamo-parsers 11\.")
"""Sources that may drop text after a call."""


class Outcome(Enum):
    """How our calls compare with the expected ones."""

    SAME = "the same calls"
    FEWER = "fewer calls"
    MORE = "more calls"
    OTHER = "as many calls, with other names or values"


@dataclass(frozen=True)
class Figure:
    """How many cases agree, and out of how many."""

    name: str
    agreeing: int
    of: int

    @property
    def share(self) -> float:
        return self.agreeing / self.of if self.of else 1.0

    def __str__(self) -> str:
        return f"{self.name}: {self.agreeing} of {self.of}, {self.share:.2%}"


def outcome(case: Case, mode: Mode) -> Outcome:
    theirs, ours = case.calls, reading(case, mode).calls
    if same(ours, theirs):
        return Outcome.SAME
    if len(ours) == len(theirs):
        return Outcome.OTHER
    return Outcome.FEWER if len(ours) < len(theirs) else Outcome.MORE


def same(value: Any, other: Any) -> bool:
    """Whether both are the same JSON value; for Python, 1, 1.0 and True are equal."""
    if type(value) is not type(other):
        return False
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(same(value[key], other[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(other) and all(map(same, value, other))
    return value == other


def usual(case: Case) -> bool:
    """Whether no reading of a case has more parsers than the one that its source expects."""
    readings = list(case.others.values())
    expected = 1 + sum(same(calls, case.calls) for calls in readings)
    most = max((sum(same(calls, other) for other in readings) for calls in readings), default=0)
    return expected >= most


def calls_agree(case: Case, mode: Mode) -> bool:
    return outcome(case, mode) is Outcome.SAME


def has_text_to_compare(case: Case, mode: Mode) -> bool:
    return case.kind in {WELL_FORMED, NO_CALL} and calls_agree(case, mode)


def text_agrees(case: Case, mode: Mode) -> bool:
    ours = reading(case, mode)
    enough = [ours.content, ours.before] if DROP_TEXT.match(case.source) else [ours.content]
    return any(joined(pieces, case.content) for pieces in enough) and joined(
        ours.reasoning, case.reasoning
    )


def joined(pieces: Iterable[str], text: str) -> bool:
    """Whether a text consists of these pieces, with whitespace or nothing around each."""
    pattern = r"\s*".join(["", *map(re.escape, pieces), ""])
    return re.fullmatch(pattern, text) is not None


def figures(chosen: Iterable[Case], mode: Mode) -> list[Figure]:
    chosen = list(chosen)
    undisputed = [case for case in chosen if case.undisputed]
    typed = [case for case in undisputed if case.same_types]
    well_formed = [case for case in chosen if case.kind == WELL_FORMED]
    others = [case for case in chosen if case.kind != WELL_FORMED]
    compared = [case for case in chosen if has_text_to_compare(case, mode)]
    return [
        figure("undisputed", undisputed, mode, calls_agree),
        figure("undisputed, with types", typed, mode, calls_agree),
        figure("well-formed", well_formed, mode, calls_agree),
        figure("others", others, mode, calls_agree),
        figure("text", compared, mode, text_agrees),
    ]


def figure(
    name: str, chosen: Iterable[Case], mode: Mode, agrees: Callable[[Case, Mode], bool]
) -> Figure:
    found = [agrees(case, mode) for case in chosen]
    return Figure(name, sum(found), len(found))


def every_case() -> list[Case]:
    return [case for found in cases().values() for case in found]


if __name__ == "__main__":
    for mode in Mode:
        for dialect, found in cases().items():
            print(
                f"{dialect}, {mode.value}",
                *(f"  {each}" for each in figures(found, mode) if each.of),
                sep="\n",
            )
        print(
            f"all dialects, {mode.value}",
            *(f"  {each}" for each in figures(every_case(), mode)),
            sep="\n",
        )
