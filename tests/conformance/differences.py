"""Where we read something else than the source of a case expects: the reasons, and the cases of each.

A case that differs and is not here fails the tests, and so does one that is here and does not differ, or differs in
another way than its reason says. `docs/dialects.md` shows the table (`python -m conformance.document`, in `tests/`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .agreement import Outcome


class Part(Enum):
    """What of a case differs."""

    CALLS = "Calls"
    TEXT = "Text"


@dataclass(frozen=True)
class Difference:
    """One reason, and the cases that differ for it.

    Attributes:
        part: what differs.
        outcome: how our calls stand to the expected ones; the same where only text differs.
        expected: what the sources of the cases expect.
        others: what the other parsers do that were tried on the cases.
        ours: what we do.
        why: the reason.
        cases: the ids.
    """

    name: str
    part: Part
    outcome: Outcome
    expected: str
    others: str
    ours: str
    why: str
    cases: tuple[str, ...]


def ids(**of: str) -> tuple[str, ...]:
    """The ids of cases, from the part behind the name of each dialect."""
    return tuple(f"{dialect}-{part}" for dialect, parts in of.items() for part in parts.split())


def calls(outcome: Outcome, name: str, *, cases: tuple[str, ...], **said: str) -> Difference:
    return Difference(name, Part.CALLS, outcome, cases=cases, **said)


def text(name: str, *, cases: tuple[str, ...], **said: str) -> Difference:
    return Difference(name, Part.TEXT, Outcome.SAME, cases=cases, **said)


ALL: tuple[Difference, ...] = (
    calls(
        Outcome.FEWER,
        "call_in_reasoning",
        expected="A call that stands in reasoning is run; in most cases the reasoning is never closed.",
        others="They run it too, where they look for calls before they look for reasoning.",
        ours="It is reasoning.",
        why="A model that thinks about a call has not made it.",
        cases=ids(
            deepseek_v4_dsml="bc0b669df8 aa83885829",
            gemma4="e21980e460",
            hermes="67a02dd73c bc36a9c704",
            kimi_k2="197f9f58c1",
            qwen3_coder="fa9409fad9 c69cb26f26 3c2b7efb2c 6a956157a9 1ad5f1316c 913e544bca",
        ),
    ),
)
