"""Our parsers as the servers make and ask them: `make servers` runs this in vLLM and SGLang themselves."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from typing import Any

import pytest

from cogency_rs import Dialect
from cogency_rs.reader import served_dialect
from support import server_interfaces as servers

from .cases import CALL, CASES
from .theirs import READERS, Answer, Server, load_plugins, pieces, tokenizer

HERMES = Dialect("hermes")

TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}


@pytest.fixture(autouse=True, scope="module")
def plugins() -> None:
    assert servers.ARE_REAL
    for server in ("vllm", "sglang"):
        load_plugins(server)


@pytest.mark.parametrize("name", ["cogency", "cogency_hermes", "cogency_qwen3_json"])
@pytest.mark.parametrize(("prompt", "text", "reasoning", "content", "calls"), CASES)
def test_vllm_serves_calls_and_reasoning(
    name: str, prompt: str, text: str, reasoning: str, content: str, calls: int
):
    manager: Any = import_module("vllm.parser.parser_manager").ParserManager
    speaker = tokenizer(HERMES)
    made = manager.get_parser(name, name, enable_auto_tools=True, tokenizer=speaker)
    request = servers.request(tools=[TOOL])
    prompt_ids = speaker.encode(prompt, add_special_tokens=False)
    for chunks in (pieces(HERMES, text), [text]):
        parser = made(speaker, request.tools)
        deltas: list[Any] = []
        for number, chunk in enumerate(chunks, 1):
            ids = speaker.encode(chunk, add_special_tokens=False)
            is_last = number == len(chunks)
            deltas.append(parser.parse_delta(chunk, ids, request, prompt_ids, finished=is_last))
        deltas = [delta for delta in deltas if delta is not None]
        assert "".join(delta.reasoning or "" for delta in deltas) == reasoning
        assert "".join(delta.content or "" for delta in deltas) == content
        answer = Answer()
        for call in (call for delta in deltas for call in delta.tool_calls):
            answer.add(call.index, call.function.name, call.function.arguments)
        assert answer.calls == [("add", '{"a": 1}')] * calls
    if not prompt:
        found = made(speaker, request.tools).parse(text, request, True)
        assert (found[0] or "", found[1] or "") == (reasoning, content)
        assert [call.name for call in found[2] or ()] == ["add"] * calls


def test_vllm_does_not_hold_a_required_call_to_json():
    manager: Any = import_module("vllm.parser.parser_manager").ParserManager
    speaker = tokenizer(HERMES)
    made = manager.get_parser("cogency", enable_auto_tools=True, tokenizer=speaker)
    for choice in ("required", {"type": "function", "function": {"name": "add"}}):
        request = servers.request(tools=[TOOL], tool_choice=choice)
        parser = made(speaker, request.tools)
        request = parser.adjust_request(request)
        assert request.structured_outputs is None
        assert [call.name for call in parser.parse(CALL, request, True)[2]] == ["add"]


@pytest.mark.parametrize("name", ["cogency", "cogency_hermes", "cogency_qwen25"])
@pytest.mark.parametrize(("prompt", "text", "reasoning", "content", "calls"), CASES)
def test_sglang_serves_calls_and_reasoning(
    name: str, prompt: str, text: str, reasoning: str, content: str, calls: int
):
    protocol: Any = import_module("sglang.srt.entrypoints.openai.protocol")
    of_calls: Any = import_module("sglang.srt.function_call.function_call_parser")
    of_reasoning: Any = import_module("sglang.srt.parser.reasoning_parser")
    speaker = tokenizer(HERMES)
    is_open = prompt.endswith("<think>\n")

    def parsers() -> tuple[Any, Any]:
        return (
            of_reasoning.ReasoningParser(name, force_reasoning=is_open, tokenizer=speaker),
            of_calls.FunctionCallParser([protocol.Tool(**TOOL)], name, tokenizer=speaker),
        )

    first, second = parsers()
    found, parts, answer = "", "", Answer()
    for chunk in (*pieces(HERMES, text), None):
        thought, rest = (
            first.parse_stream_end() if chunk is None else first.parse_stream_chunk(chunk)
        )
        found += thought or ""
        more, sent = second.parse_stream_chunk(rest) if rest else ("", [])
        parts += more
        for call in sent:
            answer.add(call.tool_index, call.name, call.parameters)
    rest, sent = second.parse_stream_end()
    for call in sent:
        answer.add(call.tool_index, call.name, call.parameters)
    assert (found, parts + rest) == (reasoning, content)
    assert answer.calls == [("add", '{"a": 1}')] * calls

    first, second = parsers()
    thought, rest = first.parse_non_stream(text)
    shown, whole = second.parse_non_stream(rest) if second.has_tool_call(rest) else (rest, [])
    if "</thin" not in text:  # SGLang leaves out the beginning of a mark in a whole text
        assert ((thought or ""), shown, len(whole)) == (reasoning, content, calls)


def test_sglang_lets_the_model_write_a_required_call():
    protocol: Any = import_module("sglang.srt.entrypoints.openai.protocol")
    of_calls: Any = import_module("sglang.srt.function_call.function_call_parser")
    parser = of_calls.FunctionCallParser(
        [protocol.Tool(**TOOL)], "cogency", tokenizer=tokenizer(HERMES)
    )
    assert parser.owns_tool_format()
    for choice in ("auto", "required"):
        assert parser.get_structure_constraint(choice) is None


def test_every_name_of_ours_is_a_choice_of_both_servers():
    of_vllm: Any = import_module("vllm.tool_parsers").ToolParserManager
    assert "cogency_hermes" in of_vllm.list_registered()
    arguments: Any = import_module("sglang.srt.server_args")
    assert "cogency_hermes" in arguments._tool_call_parser_choices()
    assert "cogency_hermes" in arguments._reasoning_parser_choices()


TABLE: dict[Server, dict[str, dict[str, Any]]] = json.loads(
    files("cogency_rs.reader").joinpath("served_names.json").read_text(encoding="utf-8")
)

DIFFERING = [
    (server, name) for server, names in TABLE.items() for name in names if "differs" in names[name]
]


@pytest.mark.parametrize(("server", "name"), DIFFERING)
def test_their_parser_does_what_the_table_says_of_it(server: Server, name: str):
    differs = TABLE[server][name]["differs"]
    dialects = served_dialect(name, server)
    dialect = dialects[0] if isinstance(dialects, tuple) else dialects
    found = READERS[server](name, dialect, [TOOL])([differs["text"]])
    assert {"calls": len(found.calls), "content": found.text or None} == differs["theirs"]
