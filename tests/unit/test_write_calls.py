"""`Dialect.write_calls`: writes calls as a model does, and refuses what JSON cannot hold."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from cogency_rs import Dialect, Parser, ToolCall

CALLS = [
    ToolCall("read", {"file": "naïve.txt", "lines": 20}),
    ToolCall("write", {"text": "a </tool_call> and \ud800", "deep": [{"a": None}], "": 1.5}),
    ToolCall("list", {}),
]


def test_several_calls_are_read_as_they_were():
    parser = Parser(dialect="hermes", errors="event")
    events = [*parser.feed(Dialect("hermes").write_calls(CALLS)), *parser.finish("stop")]
    read = [json.loads(event["content"]) for event in events if event["type"] == "call"]
    assert [(call["name"], call["args"]) for call in read] == [
        (call.name, call.args) for call in CALLS
    ]


@pytest.mark.parametrize("dialect", ["mistral", "forge-json"])
def test_ids_and_servers_are_written_if_the_dialect_has_a_place_for_them(dialect):
    call = ToolCall("read", {}, id="call-0001", server="disk")
    text = Dialect(dialect).write_calls([call])
    assert ("call-0001" in text, '"disk"' in text) == (dialect == "mistral", dialect != "mistral")


def test_calls_without_an_id_are_numbered_if_the_dialect_needs_ids():
    written = Dialect("kimi-k2").write_calls(CALLS)
    assert [f"functions.{call.name}:{number}" in written for number, call in enumerate(CALLS)] == (
        [True] * 3
    )


@pytest.mark.parametrize("name", Dialect.presets())
def test_no_calls_give_an_empty_text(name):
    assert Dialect(name).write_calls([]) == ""


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (SimpleNamespace(name=1, args={}, id=None, server=None), TypeError, "the name of a call"),
        (SimpleNamespace(name="a", args=[], id=None, server=None), TypeError, "the args of a call"),
        (SimpleNamespace(name="a", args={}, id=5, server=None), TypeError, "the id of a call"),
        (SimpleNamespace(name="a", args={}, id=None, server=b""), TypeError, "the server of a"),
        (ToolCall("a", {"x": {1}}), TypeError, "not JSON serializable"),
        ("a", TypeError, "calls must be a list of ToolCalls"),
    ],
)
def test_anything_but_a_call_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        Dialect("hermes").write_calls([call])


def test_a_dialect_made_from_a_preset_keeps_its_models():
    assert "Qwen3" in Dialect("hermes").models
    assert Dialect("hermes").replace(name="mine").models == Dialect("hermes").models
    assert Dialect("cogency").models == ""
    assert Dialect("cogency").replace(models="Mine 7B").models == "Mine 7B"
