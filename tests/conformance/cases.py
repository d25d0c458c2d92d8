"""The cases: texts as models write them, and what the parser that they come from reads in each.

They are read from `dialects.jsonl` among the recordings. A case counts if its dialect is a preset.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

from cogency_rs import Dialect
from support.recordings import FOLDER

FILE = FOLDER / "dialects.jsonl"
MISSING = f"no {FILE.name} in {FOLDER}; name its folder in COGENCY_RS_RECORDINGS"

WELL_FORMED, NO_CALL = "wellformed", "nocall"


@dataclass(frozen=True, eq=False)
class Case:
    """A text, and what is expected of it.

    Attributes:
        dialect: the preset that reads it.
        chunks: the text, cut where its source cut it; one chunk if the source does not say where.
        begins_in_think: whether the prompt has opened the reasoning.
        kind: whether the text is well-formed, has no call, or what is wrong with it.
        undisputed: whether it is well-formed and all parsers that were tried read the same calls in it.
        source: where it comes from.
        calls: the names and arguments that are expected.
    """

    id: str
    dialect: str
    text: str
    chunks: tuple[str, ...]
    tools: list[dict[str, Any]] | None
    begins_in_think: bool
    kind: str
    undisputed: bool
    source: str
    calls: list[dict[str, Any]]
    content: str
    reasoning: str


@cache
def cases() -> dict[str, list[Case]]:
    """The cases of each dialect, by the name of its preset; empty if there are no recordings."""
    found: dict[str, list[Case]] = defaultdict(list)
    if FILE.exists():
        presets = set(Dialect.presets())
        for line in FILE.read_text(encoding="utf-8").splitlines():
            case = case_of(json.loads(line))
            if case.dialect in presets:
                found[case.dialect].append(case)
    return dict(sorted(found.items()))


def case_of(line: dict[str, Any]) -> Case:
    disputed = line.get("uncertain") or line.get("contested") or line.get("cross", {}).get("differ")
    return Case(
        id=line["id"],
        dialect=line["dialect"].replace("_", "-"),
        text=line["text"],
        chunks=tuple(line.get("chunks") or ()),
        tools=line.get("tools") or None,
        begins_in_think=bool(line.get("starts_in_reasoning")),
        kind=line["kind"],
        undisputed=line["kind"] == WELL_FORMED and not disputed,
        source=line["source"],
        calls=[{"name": call["name"], "args": call["args"]} for call in line["calls"]],
        content=line["content"] or "",
        reasoning=line.get("reasoning") or "",
    )
