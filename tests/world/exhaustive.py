"""Every kill point and every order of up to three calls: the worlds that are small enough to try them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, permutations

from .plan import ASKED_ABOUT, Ask, Call, Click, Plan, Process, Step
from .world import World

__all__ = ["every_plan", "kill_points"]

_TOOLS = ("pay", "send", "look", "wire", "book", "charge", "fail")


def every_plan(most: int, dialect: str = "cogency") -> Iterator[Plan]:
    """Every plan with one question, and an answer of up to `most` calls that end in any order.

    A decision comes after the end of other calls, or before it, as the seconds of the calls say; each is drawn with
    both verdicts.
    """
    for count in range(1, most + 1):
        for tools in combinations_with_replacement(_TOOLS, count):
            for order in sorted(set(permutations(range(count)))):
                for verdict in ("yes", "no") if set(tools) & set(ASKED_ABOUT) else ("yes",):
                    calls = tuple(
                        Call(
                            tool,
                            (0.2 * (1 + place), 0.1),
                            (Click(verdict, 1.0 + place, 0),)  # type: ignore[arg-type]
                            if tool in ASKED_ABOUT
                            else (),
                        )
                        for tool, place in zip(tools, order, strict=True)
                    )
                    for gives_up in (False, True):
                        ask = Ask(0, 0, (Step(calls),), gives_up=gives_up, resumed_by=1)
                        follows = Ask(0, 1, (), 1.0)
                        asks = (ask, follows) if gives_up else (ask,)
                        processes = (Process(), Process())
                        yield Plan(
                            1, dialect, slow_database=False, talks=1, asks=asks, processes=processes
                        )


def kill_points(plan: Plan) -> Iterator[Plan]:
    """The plan, and the same with its first process killed at each of its steps."""
    from .world import lived

    yield plan
    world: World = lived(plan)
    for step in range(1, world.machines[0].steps + 1):
        first, *others = plan.processes
        killed = replace(first, killed_at=step)
        yield replace(plan, seed=1 + step % 7, processes=(killed, *others))
