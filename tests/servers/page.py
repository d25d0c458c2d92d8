"""Writes `docs/servers.md` from what `servers.match` kept: `python -m servers.page`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Any

from conformance.agreement import same
from conformance.cases import Case, cases
from conformance.differences import ALL
from conformance.reading import Mode, reading

from .match import AT_A_TIME, CHECKOUT, KEPT, SIDES, SIZES, Side, tools_of

PAGE = CHECKOUT / "docs" / "servers.md"

STREAMS = 1_000
"""The longest silence, in characters, of a parser that streams."""

TITLES = {"vllm": "vLLM", "sglang": "SGLang"}

HEAD = """\
---
hide:
  - toc
---

# In vLLM and SGLang themselves

<!-- Made by `make servers`; do not edit. -->

Each name of a parser of {servers}, on the public cases of its dialect: their own parser, and ours in its place,
`cogency_<name>`, through the classes that the server itself serves with. A text is read whole, and streamed twice:
with each mark of the dialect in one piece and all else a character at a time, and in pieces of 1 to {at_a_time} of
these. *Right* are the calls that the case's source expects, with the types of their values; *equal* are the three
readings, to the character; *raised* would be an error of the server. *Broke off* are the cases of which a stream ends
with an error, since a part of a call was sent before it broke; such a stream is neither right nor equal. *Right only
theirs*, or *ours*, is right whole and streamed, and equal, where the other is not. The sources are the tests of
several projects, so no parser can be right in all. `make servers-case CASE=id` shows a case and what each parser read
in it. Parsers that read by a model's `response_template` are given one: `hf` and `response_template` that of SmolLM,
for the cases of Hermes, and vLLM's `beam` the one that SGLang has.
"""


def is_right(read: dict[str, Any]) -> bool:
    return read["whole"] and read["streamed"] and read["equal"]


UNDECIDED = "not decided"
BROKE_OFF = "Part of its call was sent before it broke; nothing but an error may follow that. Whole, it is right."
REPEATED_KEY = (
    "Two arguments have one name, and which of them is meant cannot be told while they stream."
)
REPEATED_KEYS = {"beam_rfl-327075ad2f", "gemma4-e281e6f34f", "muse_glimmer-22ff356f96"}
"""The cases with such arguments."""
UNDECLARED = "The request of the case does not declare each tool: a call of another one is text."


def reasons() -> dict[str, str]:
    """Why a case is read otherwise here, by its id: an entry of `docs/conformance.md`, and what it says."""
    return {
        id: f"[`{each.name}`](conformance.md#{each.name}): {each.why}"
        for each in ALL
        for id in each.of(Mode.STRICT)
    }


def reason(case: Case, calls: list[dict[str, Any]], known: dict[str, str]) -> str:
    """Why we read these calls in a case; `Parser`, of which the entries are, reads those of undeclared tools too."""
    if case.id in REPEATED_KEYS:
        return REPEATED_KEY
    parsed = reading(case, Mode.STRICT).calls
    if same(parsed, calls):
        return known.get(case.id, UNDECIDED)
    declared = {tool["function"]["name"] for tool in tools_of(case)}
    is_undeclared = any(call["name"] not in declared for call in parsed)
    return UNDECLARED if is_undeclared else UNDECIDED


def table(head: Iterable[str], rows: Iterable[Iterable[object]], texts: Iterable[str] = ()) -> str:
    names = list(head)
    rule = ["---" if name in (names[0], *texts) else "--:" for name in names]
    lines = [names, rule, *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def losses(kept: dict[str, Any]) -> str:
    """The cases in which their parser is right and ours is not."""
    by_id = {case.id: case for found in cases().values() for case in found}
    known, where = reasons(), defaultdict[str, list[str]](list)
    here: dict[str, dict[str, Any]] = {}
    for server, each in kept.items():
        for name, row in each["rows"].items():
            for id in won(row, "theirs"):
                where[id].append(f"{TITLES[server]} `{name}`")
                here[id] = row["ours"]["cases"][id]
    lines = [
        [
            f"`{id}`",
            ", ".join(parsers),
            by_id[id].kind,
            len(by_id[id].calls),
            len(here[id]["calls"][0]),
            BROKE_OFF if here[id]["whole"] else reason(by_id[id], here[id]["calls"][0], known),
        ]
        for id, parsers in where.items()
    ]
    head = ["case", "in", "kind", "calls expected", "calls here", "why"]
    return table(head, lines, texts=("in", "kind", "why"))


def counts(row: dict[str, Any], side: Side) -> list[Any]:
    reads = row[side]["cases"].values()
    if not reads:
        return ["", "", "", ""]
    raised = sum(read["raised"] is not None for read in reads)
    found = [sum(read[field] for read in reads) for field in ("whole", "streamed", "equal")]
    return [*found, raised]


def broken_off(row: dict[str, Any]) -> int:
    """How many cases end with an error in a stream of ours; their parsers have no such ending."""
    return sum(read["broken"] for read in row["ours"]["cases"].values())


def won(row: dict[str, Any], side: Side) -> list[str]:
    """The cases that only this side reads as they should be."""
    other = row["ours" if side == "theirs" else "theirs"]["cases"]
    return [
        id
        for id, read in row[side]["cases"].items()
        if id in other and is_right(read) and not is_right(other[id])
    ]


def matched(rows: dict[str, Any]) -> str:
    head = ["parser", "cases"]
    head += [
        f"{side}: {field}"
        for side in SIDES
        for field in ("right whole", "right streamed", "equal", "raised")
    ]
    head += ["ours: broke off", "right only theirs", "right only ours"]
    lines = [
        [
            f"`{name}`",
            len(row["ours"]["cases"]),
            *(count for side in SIDES for count in counts(row, side)),
            broken_off(row),
            *(len(won(row, side)) for side in SIDES),
        ]
        for name, row in rows.items()
        if row["ours"]["cases"]
    ]
    both = [line for line in lines if line[2] != ""]
    total = [sum(numbers) for numbers in zip(*(line[1:] for line in both), strict=True)]
    return table(head, [*lines, ["all that ran", *total]])


def cost(found: dict[str, Any] | str | None) -> list[str]:
    if not isinstance(found, dict):
        return [found or "", "", "", "", ""]
    short, long = found["token"]
    times = [f"{short:.1f}", f"{long:.1f}", f"{long / short:.2f}x"]
    return [*times, f"{found['first']:,}", f"{found['silence']:,}"]


def costs(rows: dict[str, Any]) -> str:
    sizes = [f"at {size:,}" for size in SIZES]
    head = ["parser"]
    head += [
        f"{side}: {each}"
        for side in SIDES
        for each in (*sizes, "growth", "first piece", "longest silence")
    ]
    return table(
        head,
        [
            [f"`{name}`", *(each for side in SIDES for each in cost(row[side]["costs"]))]
            for name, row in rows.items()
        ],
    )


def streaming(rows: dict[str, Any]) -> str:
    """What those that stream on both sides cost."""
    both = [[row[side]["costs"] for side in SIDES] for row in rows.values()]
    ran = [pair for pair in both if all(isinstance(each, dict) for each in pair)]
    streams = [pair for pair in ran if all(each["silence"] <= STREAMS for each in pair)]
    dearer = sorted(theirs["token"][1] / ours["token"][1] for theirs, ours in streams)
    late = sum(theirs["silence"] > STREAMS for theirs, _ in ran)
    return (
        f"Of {len(ran)} parsers that ran on both sides, {late} of theirs are silent for over {STREAMS:,} characters. "
        f"Where both stream, in {len(streams)}, a token of the longer call costs theirs {dearer[0]:.1f} to "
        f"{dearer[-1]:.1f} times as much as ours, {median(dearer):.1f} in the median."
    )


def page() -> str:
    kept = {
        server: json.loads((KEPT / f"{server}.json").read_text(encoding="utf-8"))
        for server in TITLES
        if (KEPT / f"{server}.json").exists()
    }
    versions = {server: f"{TITLES[server]} {each['version']}" for server, each in kept.items()}
    parts = [
        HEAD.format(servers=" and ".join(versions.values()), at_a_time=AT_A_TIME),
        "## Where theirs is right and ours is not\n",
        losses(kept),
    ]
    for server, each in kept.items():
        parts += [f"\n## {versions[server]}\n", matched(each["rows"])]
        if left := [
            f"- `{name}`, {side}: {row[side]['not run']}"
            for name, row in each["rows"].items()
            for side in SIDES
            if row[side]["not run"]
        ]:
            parts += ["\nNot run here, without a network and models:\n", *left]
    parts += [
        "\n## What a token costs\n",
        "Microseconds of processor time a token of four characters, in answers of "
        f"{SIZES[0]:,} and {SIZES[1]:,} tokens that are one call with one long text, and how much dearer a token is "
        "in the longer one: 1x is linear. *First piece*: how many characters of the longer one are read before "
        "something of its call is sent; *longest silence*: the most that are read before anything is.",
    ]
    for server, each in kept.items():
        parts += [f"\n### {versions[server]}, a token\n", costs(each["rows"])]
        parts += ["", streaming(each["rows"])]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    written = page()
    PAGE.write_text(written, encoding="utf-8")
    if UNDECIDED in written:
        sys.exit(f"{PAGE.name} has cases of which nobody has said why: {UNDECIDED}")
