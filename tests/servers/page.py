"""Writes `docs/servers.md` from what `servers.match` kept: `python -m servers.page`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from conformance.cases import Case, cases
from conformance.differences import ALL
from conformance.reading import Mode

from .match import CHECKOUT, KEPT, SIZES, tools_of

PAGE = CHECKOUT / "docs" / "servers.md"

SIDES = ("theirs", "ours")

TITLES = {"vllm": "vLLM", "sglang": "SGLang"}

HEAD = """\
---
hide:
  - toc
---

# In vLLM and SGLang themselves

<!-- Made by `make servers`; do not edit. -->

Each name of a parser of {servers}, on the public cases of its dialect: their own parser, and ours in its
place, `cogency_<name>`, through the classes that the server itself serves with. A text is read whole, and streamed with
each mark of the dialect in one piece and all else a character at a time. *Right* are the calls that the case's source
expects, with the types of their values; *equal* are whole and streamed, to the character; *raised* would be an error of
the server. The sources are the tests of several projects, so no parser can be right in all. `make servers-case CASE=id`
shows a case and what each parser read in it.
"""


def is_right(read: dict[str, Any]) -> bool:
    return read["whole"] and read["streamed"] and read["equal"]


def reasons() -> dict[str, str]:
    """Why a case is read otherwise here, by its id: the entry of `docs/conformance.md`."""
    return {id: each.name for each in ALL for id in each.of(Mode.STRICT)}


def reason(case: Case, known: dict[str, str]) -> str:
    declared = {tool["function"]["name"] for tool in tools_of(case)}
    if any(call["name"] not in declared for call in case.calls):
        return "a call of a tool that the request does not declare is text"
    name = known.get(case.id)
    return f"[`{name}`](conformance.md#{name})" if name else "not decided"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(head)
    rule = ["---", *["--:"] * (len(names) - 1)]
    lines = [names, rule, *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def losses(kept: dict[str, Any], by_id: dict[str, Case]) -> list[list[object]]:
    """The cases in which their parser is right and ours is not."""
    known, found = reasons(), dict[str, list[object]]()
    for server, each in kept.items():
        for name, row in each["rows"].items():
            for id, sides in row["cases"].items():
                if "theirs" in sides and is_right(sides["theirs"]) and not is_right(sides["ours"]):
                    case = by_id[id]
                    ours = len(sides["ours"]["calls"][0])
                    line = found.setdefault(
                        id, [f"`{id}`", "", case.kind, len(case.calls), ours, reason(case, known)]
                    )
                    line[1] = f"{line[1]}, {name}" if line[1] else f"{TITLES[server]} {name}"
    return list(found.values())


def counts(row: dict[str, Any], side: str) -> list[object]:
    reads = [sides[side] for sides in row["cases"].values() if side in sides]
    if not reads:
        return ["", "", "", ""]
    raised = sum(read["raised"] is not None for read in reads)
    return [sum(read[field] for read in reads) for field in ("whole", "streamed", "equal")] + [
        raised
    ]


def only(row: dict[str, Any], side: str, other: str) -> int:
    return sum(
        is_right(sides[side]) and not is_right(sides[other])
        for sides in row["cases"].values()
        if len(sides) == 2
    )


def matched(rows: dict[str, Any]) -> str:
    head = ["parser", "cases"]
    head += [
        f"{side}: {field}"
        for side in SIDES
        for field in ("right whole", "right streamed", "equal", "raised")
    ]
    head += ["right only theirs", "right only ours"]
    lines = [
        [
            f"`{name}`",
            len(row["cases"]),
            *(count for side in SIDES for count in counts(row, side)),
            *(only(row, side, other) for side, other in (SIDES, SIDES[::-1])),
        ]
        for name, row in rows.items()
        if row["cases"]
    ]
    compared = [row for name, row in rows.items() if row["cases"] and not row["not run"]]
    total = ["all that ran", sum(len(row["cases"]) for row in compared)]
    total += [
        sum(int(str(counts(row, side)[place])) for row in compared)
        for side in SIDES
        for place in range(4)
    ]
    total += [sum(only(row, *sides) for row in compared) for sides in (SIDES, SIDES[::-1])]
    return table(head, [*lines, total])


def cost(found: list[float] | str | None) -> list[str]:
    if not isinstance(found, list):
        return [found or "", "", ""]
    return [f"{found[0]:.1f}", f"{found[1]:.1f}", f"{found[1] / found[0]:.2f}x"]


def speeds(rows: dict[str, Any]) -> str:
    sizes = [f"at {size:,}" for size in SIZES]
    head = [
        "parser",
        *(f"{side}: {each}" for side in SIDES for each in (*sizes, "growth")),
    ]
    return table(
        head,
        [
            [f"`{name}`", *cost(row["speed"].get("theirs")), *cost(row["speed"]["ours"])]
            for name, row in rows.items()
        ],
    )


def page() -> str:
    kept = {
        server: json.loads((KEPT / f"{server}.json").read_text(encoding="utf-8"))
        for server in TITLES
        if (KEPT / f"{server}.json").exists()
    }
    versions = {server: f"{TITLES[server]} {each['version']}" for server, each in kept.items()}
    by_id = {case.id: case for found in cases().values() for case in found}
    parts = [
        HEAD.format(servers=" and ".join(versions.values())),
        "## Where theirs is right and ours is not\n",
        table(["case", "in", "kind", "calls expected", "calls here", "why"], losses(kept, by_id)),
    ]
    for server, each in kept.items():
        parts += [f"\n## {versions[server]}\n", matched(each["rows"])]
        if left := [
            f"- `{name}`: {row['not run']}" for name, row in each["rows"].items() if row["not run"]
        ]:
            parts += ["\nTheirs could not be made here, without a model:\n", *left]
    parts += [
        "\n## What a token costs\n",
        "Microseconds of processor time a token of four characters, in answers of "
        f"{SIZES[0]:,} and {SIZES[1]:,} tokens that are one call with one long text, and how much dearer a token is "
        "in the longer one: 1x is linear.",
    ]
    for server, each in kept.items():
        parts += [f"\n### {versions[server]}, a token\n", speeds(each["rows"])]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
