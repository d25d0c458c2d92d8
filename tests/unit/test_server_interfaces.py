"""The interfaces that the plugins are tested against are those of vLLM's and SGLang's own classes, as recorded."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from cogency_rs.plugins import sglang, vllm
from cogency_rs.reader import served_names
from support import server_interfaces as servers

Server = Literal["vllm", "sglang"]

RECORD: dict[Server, dict[str, Any]] = json.loads(
    Path(servers.__file__).with_suffix(".json").read_text(encoding="utf-8")
)

CLASSES: dict[str, dict[str, Any]] = {
    path: described for record in RECORD.values() for path, described in record["classes"].items()
}

HERE = [(module, name) for module, names in servers.MODULES.items() for name in names]

SERVERS: tuple[Server, ...] = ("vllm", "sglang")


def public_methods(found: type) -> dict[str, list[str]]:
    return {
        name: [*inspect.signature(member).parameters]
        for name, member in inspect.getmembers(found)
        if (inspect.isfunction(member) or inspect.ismethod(member))
        and (name == "__init__" or not name.startswith("_"))
    }


@pytest.mark.parametrize(("module", "name"), HERE)
def test_a_class_here_is_like_the_recorded_one(module: str, name: str):
    ours, theirs = servers.MODULES[module][name], CLASSES[f"{module}.{name}"]
    if issubclass(ours, BaseModel):
        assert sorted(ours.model_fields) == theirs["fields"]
        return
    assert sorted(getattr(ours, "__abstractmethods__", ())) == theirs["abstract"]
    found = public_methods(ours)
    if "__init__" not in vars(ours):
        found.pop("__init__", None)
    assert found == {name: theirs["methods"].get(name) for name in found}


def test_every_recorded_class_is_here():
    assert {f"{module}.{name}" for module, name in HERE} == CLASSES.keys()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (vllm.ToolCalls, "vllm.tool_parsers.abstract_tool_parser.ToolParser"),
        (vllm.Reasoning, "vllm.reasoning.abs_reasoning_parsers.ReasoningParser"),
        (sglang.CallDetector, "sglang.srt.function_call.base_format_detector.BaseFormatDetector"),
    ],
)
def test_our_parsers_take_what_the_servers_give(ours: type, theirs: str):
    expected: dict[str, list[str]] = CLASSES[theirs]["methods"]
    found = public_methods(ours)
    shared = found.keys() & expected.keys() - {"__init__"}
    assert len(shared) >= 3
    assert {name: found[name] for name in shared} == {name: expected[name] for name in shared}
    assert found.keys() >= set(CLASSES[theirs]["abstract"])


@pytest.mark.parametrize("server", SERVERS)
def test_the_table_has_all_recorded_names_but_two(server: Server):
    recorded = set(RECORD[server]["names"]["calls"])
    unknown = {"vllm": {"apertus", "minicpm5"}, "sglang": {"apertus2509", "minicpm5"}}
    assert recorded - set(served_names(server)) == unknown[server]
    assert set(served_names(server)) <= recorded
    assert len(recorded) == {"vllm": 58, "sglang": 44}[server]


def test_the_plugins_stay_small():
    files = Path(vllm.__file__).parent.glob("*.py")
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 500
