"""Dialects without a preset are read with the dialects that the documentation defines for them.

The texts come from other parsers' tests: the well-formed ones on which the parsers agree.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from cogency_rs import Dialect, Parser
from support.own_dialects import OWN
from support.recordings import FOLDER

FILE = FOLDER / "dialects.jsonl"

NAMES = {"cohere_r_plus": "Command R+", "deepseek_ascii_bar": "DeepSeek, as some servers write it"}
"""Each dialect's name in the recordings, and its name in the documentation."""


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


@pytest.mark.parametrize("name", NAMES)
def test_a_dialect_without_a_preset_is_read(name: str):
    if not CASES:
        pytest.skip(f"no {FILE.name} in {FOLDER}; name its folder in COGENCY_RS_RECORDINGS")
    assert CASES[name]
    for case in CASES[name]:
        assert calls(OWN[NAMES[name]], case) == case["calls"]


def test_every_dialect_that_the_documentation_defines_has_texts():
    assert set(NAMES.values()) == set(OWN)
