"""The cases: texts as models write them, and what the parser that they come from reads in each.

They are read from `dialects.jsonl` among the recordings. A case counts if its dialect is a preset.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

from cogency_rs import Dialect
from support.recordings import FOLDER

FILE = FOLDER / "dialects.jsonl"
MISSING = f"no {FILE.name} in {FOLDER}; name its folder in COGENCY_RS_RECORDINGS"

WELL_FORMED, NO_CALL = "wellformed", "nocall"

STRUCTS: dict[str, dict[str, type]] = {
    "forge_xml-566bcb8e85": {"path": str, "recursive": bool},
    "forge_xml-24dffaab2f": {"path": str, "line_start": int, "line_end": int},
    "forge_xml-9ac519b750": {
        "name": str,
        "count": int,
        "ratio": float,
        "enabled": bool,
        "disabled": bool,
        "optional": str,
    },
}
"""The Go structs of three tests of Forge, by case.

Forge's parser hands arguments on as XML, so these cases hold text only. What the tests compare is the fields of a
struct that they read the XML into. Its types are the tool's schema here, and the expected values are its fields'.
"""

PARSERS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "smg": "tool-parser",
    "dynamo-v1": "dynamo-parsers",
}
"""The parsers that read the cases of all sources, as far as they know the dialect."""

OWN = {"vllm": r"vLLM (?!.* rust/)", "smg": "smg ", "dynamo-v1": r"dynamo-parsers 11\."}
"""How the sources begin whose tests are of one of these parsers. vLLM has another one in Rust."""

SCHEMAS = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, eq=False)
class Case:
    """A text, and what is expected of it.

    Attributes:
        dialect: the preset that reads it.
        chunks: the text, cut where its source cut it; one chunk if the source does not say where.
        begins_in_think: whether the prompt has opened the reasoning.
        kind: whether the text is well-formed, has no call, or what is wrong with it.
        undisputed: whether it is well-formed and all parsers that were tried read the same calls in it, but for the
            types of values.
        same_types: whether they also read the same types.
        source: where it comes from.
        calls: the names and arguments that are expected.
        others: what other parsers read in it, by their names; its source's own parser is not among them.
    """

    id: str
    dialect: str
    text: str
    chunks: tuple[str, ...]
    tools: list[dict[str, Any]] | None
    begins_in_think: bool
    kind: str
    undisputed: bool
    same_types: bool
    source: str
    calls: list[dict[str, Any]]
    content: str
    reasoning: str
    others: dict[str, list[dict[str, Any]]]


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
        tools=tools_of(line),
        begins_in_think=bool(line.get("starts_in_reasoning")),
        kind=line["kind"],
        undisputed=line["kind"] == WELL_FORMED and not disputed,
        same_types=not line.get("typing_differs"),
        source=line["source"],
        calls=[{"name": call["name"], "args": args_of(line, call)} for call in line["calls"]],
        content=line["content"] or "",
        reasoning=line.get("reasoning") or "",
        others=others_of(line),
    )


def tools_of(line: dict[str, Any]) -> list[dict[str, Any]] | None:
    struct = STRUCTS.get(line["id"])
    if struct is None:
        return line.get("tools") or None
    properties = {name: {"type": SCHEMAS[kind]} for name, kind in struct.items()}
    parameters = {"type": "object", "properties": properties}
    return [
        {"type": "function", "function": {"name": call["name"], "parameters": parameters}}
        for call in line["calls"]
    ]


def args_of(line: dict[str, Any], call: dict[str, Any]) -> Any:
    struct = STRUCTS.get(line["id"])
    if struct is None:
        return call["args"]
    return {name: field(text, struct[name]) for name, text in call["args"].items()}


def field(text: str, kind: type) -> Any:
    return text == "true" if kind is bool else kind(text)


def others_of(line: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    cross, readings = line.get("cross", {}), line.get("expected_by", {})
    found = dict.fromkeys(cross.get("agree", ()), line["calls"])
    for parser in (*cross.get("differ", ()), *cross.get("typing_differs", ())):
        found[parser] = readings[parser]
    return {
        PARSERS[parser]: calls
        for parser, calls in found.items()
        if parser not in OWN or not re.match(OWN[parser], line["source"])
    }
