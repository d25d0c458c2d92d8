"""Whether a plan's world keeps every promise, and whether the same answers cut otherwise give the same prompts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .judge import Fault, judge
from .ledger import Ledger
from .plan import Ask, Plan, Process
from .world import carry_out

__all__ = ["check", "quiet"]

TWINS = 8
"""One plan of so many is also carried out with its answers cut otherwise."""


def check(plan: Plan) -> tuple[Ledger, list[Fault]]:
    """Carry out a plan; returns what happened, and what is wrong with it. `doors.opened` must be in force."""
    ledger = carry_out(plan)
    faults = judge(ledger)
    if plan.seed % TWINS == 0:
        faults += _of_cuts(quiet(plan))
    return ledger, faults


def quiet(plan: Plan) -> Plan:
    """A plan with the same answers, one after the other in one conversation, in which nothing goes wrong."""
    asks = tuple(_quiet(ask) for ask in plan.asks if ask.talk == 0 and ask.by == "owner")
    return replace(
        plan,
        ids="same" if plan.ids == "few" else "none",
        slow_database=False,
        talks=1,
        asks=asks,
        processes=(Process(),),
        troubles=(),
        forks=(),
        settles=(),
        rates=(),
    )


def _quiet(ask: Ask) -> Ask:
    steps = tuple(
        replace(
            step,
            ends="whole",
            calls=tuple(
                replace(call, clicks=tuple(replace(click, process=0) for click in call.clicks[:1]))
                for call in step.calls
            ),
        )
        for step in ask.steps
    )
    # Where it is cut decides how long an answer takes, and so whether a question comes before a decision.
    return replace(ask, process=0, resumed_by=0, alone=True, gives_up=False, steps=steps)


def _of_cuts(plan: Plan) -> list[Fault]:
    one, other = (
        [_without_ids(prompt.messages) for prompt in carry_out(replace(plan, cuts=cuts)).prompts]
        for cuts in (plan.cuts, plan.cuts + 1)
    )
    for number, (first, second) in enumerate(zip(one, other, strict=False)):
        for here, there in zip(first, second, strict=False):
            if here != there:
                what = f"prompt {number} of two cuts: {str(here)[:200]} and {str(there)[:200]}"
                return [Fault("cut", what)]
        if len(first) != len(second):
            return [Fault("cut", f"prompt {number} has {len(first)} messages, or {len(second)}")]
    if len(one) != len(other):
        return [Fault("cut", f"there are {len(one)} prompts, or {len(other)}")]
    return []


def _without_ids(messages: tuple[dict[str, Any], ...]) -> list[Any]:
    """Messages without the ids of calls, which come from a clock."""
    return [
        {
            **{name: value for name, value in message.items() if not name.endswith("_id")},
            "tool_calls": [call["function"] for call in message.get("tool_calls") or ()],
        }
        for message in messages
    ]
