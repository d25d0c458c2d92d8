"""Dialects without a preset of their own: the preset of their models reads them, or the dialect made for them.

The texts are those of other parsers' tests, as the dialect wants them; what only one parser reads so is left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from own_dialects import OWN
from recordings import FOLDER

from cogency_rs import Dialect, Parser

FILE = FOLDER / "dialects.jsonl"

SAME = {
    "apriel": "jamba",
    "ernie45": "hermes",
    "firefunction_v2": "phi4",
    "granite_thinking": "qwen3-coder",
    "hunyuan": "jamba",
    "ling3": "glm47",
    "llama4_pythonic": "pythonic",
    "poolside_laguna": "glm45",
    "reka_edge": "hermes",
    "spark25": "glm47",
    "step3p5": "qwen3-coder",
    "xlam": "json-plain",
}
"""Dialects that are a preset under another name: those of the models that the preset lists."""

MADE = {
    "cohere_r_plus": "Command R+",
    "dots": "dots",
    "functionary_v31": "Functionary 3.1",
    "gigachat3": "GigaChat 3",
    "granite_20b_fc": "Granite 20B function calling",
    "hunyuan_v3": "Hunyuan 3",
    "hunyuan_v4": "Hunyuan 4",
    "internlm2": "InternLM 2",
    "k2_horizon": "K2 Horizon",
    "longcat": "LongCat",
    "plamo3": "PLaMo 3",
    "seed_oss": "Seed-OSS",
    "step3": "Step 3",
}
"""Dialects that the documentation makes."""

DIFFERENT = {
    "poolside_laguna-cc57f39a36": "the call stands in reasoning",
    "hunyuan_v4-dc9d4df6d2": "TRUE is taken for true",
    "k2_horizon-f5ed4e75ef": "JSON in place of keys and values",
    "k2_horizon-5f9dd17451": "JSON in place of keys and values",
}
"""Cases that are read otherwise, and why."""

DIALECTS = {name: Dialect(preset) for name, preset in SAME.items()} | {
    name: OWN[made] for name, made in MADE.items()
}


def cases() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if FILE.exists():
        for line in map(json.loads, FILE.read_text(encoding="utf-8").splitlines()):
            is_sure = not (line.get("uncertain") or line.get("contested"))
            if line["kind"] == "wellformed" and line["calls"] and is_sure:
                found[line["dialect"]].append(line)
    return found


CASES = cases()


def calls(dialect: Dialect, case: dict[str, Any]) -> list[dict[str, Any]]:
    parser = Parser(dialect=dialect, tools=case.get("tools"), errors="event")
    events: list[Any] = [*parser.feed(case["text"]), *parser.finish("stop")]
    read = [json.loads(event["content"]) for event in events if event["type"] == "call"]
    return [{"name": call["name"], "args": call["args"]} for call in read]


@pytest.mark.parametrize("name", DIALECTS)
def test_it_is_read(name: str):
    if not CASES:
        pytest.skip(f"no {FILE.name} in {FOLDER}; name its folder in COGENCY_RS_RECORDINGS")
    assert CASES[name]
    other = [case for case in CASES[name] if calls(DIALECTS[name], case) != case["calls"]]
    expected = [case for case in CASES[name] if case["id"] in DIFFERENT]
    assert other == expected


def test_every_dialect_that_the_documentation_makes_is_held_to_texts():
    assert set(MADE.values()) == set(OWN)
