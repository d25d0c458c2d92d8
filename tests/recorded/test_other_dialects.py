"""Dialects without a preset: those that the documentation makes for them read them.

The texts are those of other parsers' tests, as the dialect wants them; what only one parser reads so is left out.
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

MADE = {"cohere_r_plus": "Command R+", "deepseek_ascii_bar": "DeepSeek, as some servers write it"}
"""What the recordings call them, and what the documentation does."""


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


@pytest.mark.parametrize("name", MADE)
def test_it_is_read(name: str):
    if not CASES:
        pytest.skip(f"no {FILE.name} in {FOLDER}; name its folder in COGENCY_RS_RECORDINGS")
    assert CASES[name]
    for case in CASES[name]:
        assert calls(OWN[MADE[name]], case) == case["calls"]


def test_every_dialect_that_the_documentation_makes_is_held_to_texts():
    assert set(MADE.values()) == set(OWN)
