"""What must hold when a program has been killed and gone on with until it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .bank import Effect
from .programs import Kind, Program

__all__ = ["Ended", "judge"]


@dataclass(frozen=True)
class Ended:
    """How a call came out, as the system that carried it out says.

    Attributes:
        name: the tool's name.
        status: whether its result is known, is known to be a failure, or is unknown.
        result: the result, or the message.
    """

    name: str
    status: Literal["done", "failed", "unknown"]
    result: str


def judge(
    program: Program,
    effects: Sequence[Effect],
    acknowledged: Mapping[str, str],
    outcome: Sequence[Sequence[Ended]],
    *,
    is_over: bool,
) -> list[str]:
    """What is wrong; empty if nothing is.

    Args:
        program: the work that was given.
        effects: the ledger.
        acknowledged: the results that the system had said are safe before a kill, by call (`batch/place`).
        outcome: how each call came out, by batch.
        is_over: whether the conversation has its answer.
    """
    wrong: list[str] = []
    for what, counts in (
        ("the call", Counter(effect.call for effect in effects)),
        ("the key", Counter(effect.key for effect in effects)),
    ):
        wrong += [
            f"{what} {each} had {count} effects" for each, count in counts.items() if count > 1
        ]
    if not is_over:
        wrong.append("the conversation is stuck")
    planned = [[call.name for call in batch] for batch in program.batches]
    found = [[call.name for call in batch] for batch in outcome]
    if found != planned:
        return [*wrong, f"the calls are {found}, and should be {planned}"]
    happened = {effect.call: effect.receipt for effect in effects}
    for number, (batch, ends) in enumerate(zip(program.batches, outcome, strict=True)):
        for place, (call, end) in enumerate(zip(batch, ends, strict=True)):
            id = f"{number}/{place}"
            told = f"the call {id} of {call.name} ({call.kind}) is {end.status} ({end.result})"
            if id in acknowledged and (end.status, end.result) != ("done", acknowledged[id]):
                wrong.append(f"{told}, and its result was safe: {acknowledged[id]}")
            if call.kind is Kind.READ:
                if end.status != "done":
                    wrong.append(told)
                continue
            if end.status == "done" and happened.get(id) != end.result:
                wrong.append(f"{told}, and the ledger says {happened.get(id)}")
            if end.status == "failed":
                wrong.append(f"{told}, and nothing can fail here")
            if end.status == "unknown" and call.kind is not Kind.PLAIN:
                wrong.append(f"{told}, and it could be settled")
    return wrong
