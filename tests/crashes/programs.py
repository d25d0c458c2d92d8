"""Programs, which are batches of calls: from the recorded tau2 scripts, or small ones where there are no recordings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

__all__ = ["Kind", "PlannedCall", "Program", "programs"]


class Kind(StrEnum):
    """What a tool promises."""

    READ = "read"  # it has no effect
    PLAIN = "plain"  # it has an effect, and that is all that is known
    RECONCILED = "reconciled"  # the bank can be asked whether it happened
    IDEMPOTENT = "idempotent"  # the bank carries out each key once


@dataclass(frozen=True)
class PlannedCall:
    """A call of a program.

    Attributes:
        name: the tool's name.
        args: its arguments.
        kind: what the tool promises.
        rounds: how long it takes, in rounds of an event loop.
    """

    name: str
    args: dict[str, Any]
    kind: Kind
    rounds: int


@dataclass(frozen=True)
class Program:
    """What an agent does, batch by batch, and then it answers."""

    id: str
    batches: tuple[tuple[PlannedCall, ...], ...]

    @property
    def tools(self) -> dict[str, Kind]:
        """The tools by name."""
        return {call.name: call.kind for batch in self.batches for call in batch}


_READS = ("find_", "get_", "list_", "search_", "calculate", "think")
_SMALL = [
    ("get_account", {"n": 1}),
    *(("pay", {"euros": n}) for n in range(6)),
    ("book", {"n": 2}),
    ("mail", {"n": 3}),
]


def programs(recordings: Path) -> list[Program]:
    """Those of `tau2_scripts.jsonl` in a folder that have an effect; small ones if it is not there."""
    path = recordings / "tau2_scripts.jsonl"
    scripts: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            script = json.loads(line)
            scripts.append(
                (script["id"], [(each["name"], each["args"]) for each in script["actions"]])
            )
    else:
        scripts += [(f"small-{n}", _SMALL[n % 4 :] + _SMALL[: n % 7]) for n in range(20)]
    return [
        _program(id, actions)
        for id, actions in scripts
        if any(not name.startswith(_READS) for name, _ in actions)
    ]


def _program(id: str, actions: list[tuple[str, dict[str, Any]]]) -> Program:
    random = Random(id)
    left = [
        PlannedCall(name, args, _kind(id, name), random.choice((0, 1, 5, 40)))
        for name, args in actions
    ]
    batches: list[tuple[PlannedCall, ...]] = []
    while left:
        size = random.randint(1, 5)
        batches.append(tuple(left[:size]))
        del left[:size]
    return Program(id, tuple(batches))


def _kind(program: str, tool: str) -> Kind:
    if tool.startswith(_READS):
        return Kind.READ
    kinds = (Kind.PLAIN, Kind.RECONCILED, Kind.RECONCILED, Kind.IDEMPOTENT)
    return kinds[sha256(f"{program} {tool}".encode()).digest()[0] % len(kinds)]
