"""The names of the parsers of vLLM and SGLang are names of dialects here."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal

import pytest

import cogency_rs.reader
from cogency_rs import Dialect, ToolCall
from cogency_rs.errors import ConfigError
from cogency_rs.reader import ChatReader, served_dialect, served_names

Server = Literal["vllm", "sglang"]

TABLE: dict[Server, dict[str, dict[str, Any]]] = json.loads(
    files(cogency_rs.reader).joinpath("served_names.json").read_text(encoding="utf-8")
)

TEMPLATE: dict[str, Any] = {
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "content": {"close": "<|im_end|>"},
        "tool_calls": {
            "open": "<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
    },
}
"""A `response_template` as a model's tokenizer has it."""

NAMES = [(name, server) for server, table in TABLE.items() for name in table]


def test_most_names_of_both_servers_are_known():
    assert len(served_names("vllm")) >= 55
    assert len(served_names("sglang")) >= 42
    for name in ("muse", "step5", "granite_thinking", "spark25", "reka_edge"):  # those of presets
        assert served_dialect(name, "vllm") == Dialect(name.replace("_", "-"))


@pytest.mark.parametrize(("name", "server"), NAMES)
def test_a_name_is_of_a_dialect_that_reads_a_call(name: str, server: Server):
    dialects = served_dialect(name, server, response_template=TEMPLATE)
    for dialect in dialects if isinstance(dialects, tuple) else (dialects,):
        text = dialect.write_calls([ToolCall("add", {"a": "x"})])
        [call] = ChatReader(dialects).read(text)["tool_calls"]
        assert call["function"] == {"name": "add", "arguments": '{"a": "x"}'}


@pytest.mark.parametrize(("name", "server"), [(n, s) for n, s in NAMES if "differs" in TABLE[s][n]])
def test_what_differs_from_their_parser_on_purpose_does(name: str, server: Server):
    differs = TABLE[server][name]["differs"]
    tools = [{"name": "add", "parameters": {"type": "object"}}]
    message = ChatReader(served_dialect(name, server), tools, begins_in_think=False).read(
        differs["text"]
    )
    ours = {"calls": len(message.get("tool_calls", ())), "content": message["content"]}
    assert ours == differs["ours"]
    assert ours != differs["theirs"]


def test_marks_of_another_word_are_read():
    text = (
        '<|GCML|tool_calls>\n<|GCML|invoke name="add">\n<|GCML|parameter name="a" string="true">x'
        "</|GCML|parameter>\n</|GCML|invoke>\n</|GCML|tool_calls>"
    ).replace("|", "\N{FULLWIDTH VERTICAL LINE}")
    [call] = ChatReader(served_dialect("gigachat35", "sglang")).read(text)["tool_calls"]
    assert call["function"] == {"name": "add", "arguments": '{"a": "x"}'}
    text = "<iquest_tool_call>add<arg_key>a</arg_key><arg_value>x</arg_value></iquest_tool_call>"
    [call] = ChatReader(served_dialect("iquest_q1", "sglang")).read(text)["tool_calls"]
    assert call["function"] == {"name": "add", "arguments": '{"a": "x"}'}


def test_a_template_of_the_model_is_needed_where_a_parser_reads_by_it():
    servers: tuple[tuple[str, Server], ...] = (("hf", "vllm"), ("response_template", "sglang"))
    for name, server in servers:
        assert served_dialect(name, server, response_template=TEMPLATE).name != "hermes"
        with pytest.raises(ConfigError, match="response_template"):
            served_dialect(name, server)


def test_a_preset_keeps_its_own_name_and_others_are_refused():
    assert served_dialect("qwen3-coder", "vllm") == Dialect("qwen3-coder")
    assert served_dialect("reka_edge", "sglang") == Dialect("reka-edge")
    for name in ("apertus", "minicpm5", ""):
        with pytest.raises(ConfigError, match="has no parser"):
            served_dialect(name, "vllm")
