"""The shortest form of a plan that still breaks the same promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from .plan import Ask, Call, Plan, Process, Step

__all__ = ["shrunk"]

T = TypeVar("T")

MOST_TRIES = 600


def shrunk(plan: Plan, is_bad: Callable[[Plan], bool]) -> Plan:
    """Leave out of a plan whatever it needs not, as long as `is_bad` says that it is still bad."""
    tries = 0
    while True:
        for smaller in _smaller(plan):
            tries += 1
            if tries > MOST_TRIES:
                return plan
            if is_bad(smaller):
                plan = smaller
                break
        else:
            return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Plans with one thing less, those with much less first."""
    for name in ("asks", "troubles", "forks", "settles", "rates"):
        items = getattr(plan, name)
        for left in _fewer(items):
            yield replace(plan, **{name: left})
    for place, process in enumerate(plan.processes):
        if process != Process():
            yield replace(plan, processes=_with(plan.processes, place, Process()))
    for simpler in (
        {"slow_database": False},
        {"ids": "none"},
        {"dialect": "cogency"},
        {"talks": 1},
    ):
        if any(getattr(plan, name) != value for name, value in simpler.items()):
            yield replace(plan, **simpler)  # type: ignore[arg-type]
    for place, process in enumerate(plan.processes):
        for other in _plainer(process):
            yield replace(plan, processes=_with(plan.processes, place, other))
    for place, ask in enumerate(plan.asks):
        for smaller in _asks(ask):
            yield replace(plan, asks=_with(plan.asks, place, smaller))


def _asks(ask: Ask) -> Iterator[Ask]:
    for steps in _fewer(ask.steps):
        yield replace(ask, steps=steps)
    yield from _plainer(ask, "talk", "steps")
    for place, step in enumerate(ask.steps):
        for smaller in _steps(step):
            yield replace(ask, steps=_with(ask.steps, place, smaller))


def _steps(step: Step) -> Iterator[Step]:
    for calls in _fewer(step.calls):
        yield replace(step, calls=calls)
    yield from _plainer(step, "calls")
    for place, call in enumerate(step.calls):
        for smaller in _calls(call):
            yield replace(step, calls=_with(step.calls, place, smaller))


def _calls(call: Call) -> Iterator[Call]:
    for clicks in _fewer(call.clicks):
        yield replace(call, clicks=clicks)
    if call.seconds != (0.0, 0.0):
        yield replace(call, seconds=(0.0, 0.0))


def _fewer(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for place in reversed(range(len(items))):
        yield (*items[:place], *items[place + 1 :])


def _with(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place + 1 :])


def _plainer(part: Any, *but: str) -> Iterator[Any]:
    """The same with one field as it is by default."""
    for field in fields(part):
        if field.name in but or not isinstance(field.default, int | float | str | tuple):
            continue
        if getattr(part, field.name) != field.default:
            yield replace(part, **{field.name: field.default})
