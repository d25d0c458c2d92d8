"""Our parsers in vLLM and SGLang, against the interfaces of both as they were recorded.

`make servers` runs the same tests in the servers themselves.
"""

from __future__ import annotations

import logging
from importlib.metadata import entry_points
from types import SimpleNamespace
from typing import Any

import pytest

from cogency_rs import Dialect, ToolCall, plugins as shared
from cogency_rs.reader import served as served_tools, served_dialect
from servers.cases import CALL, CASES
from servers.theirs import Answer, pieces
from support import server_interfaces as servers

ADD = servers.tool("add", {"type": "object", "properties": {"a": {"type": "integer"}}})
REQUEST = servers.request(tools=[ADD])

THOUGHT = "<think>hm</think>"


class Tokenizer:
    """A tokenizer in which each character is a token."""

    chat_template: Any = None

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))

    def get_vocab(self) -> dict[str, int]:
        return {chr(number): number for number in range(128)}


@pytest.fixture(autouse=True)
def interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    servers.install(monkeypatch)
    for group in ("vllm.general_plugins", "sglang.srt.plugins"):
        [entry] = [entry for entry in entry_points(group=group) if entry.name == "cogency"]
        entry.load()()


def parser(name: str, tokenizer: Any = None) -> Any:
    return servers.parser_of_calls(name)(tokenizer or Tokenizer(), [ADD])


def streamed(reading: Any, chunks: list[str], request: Any = REQUEST) -> dict[str, Any]:
    """What a server makes of the deltas of a parser of calls."""
    deltas: list[Any] = []
    text = ""
    for chunk in chunks:
        before, text = text, text + chunk
        deltas.append(
            reading.extract_tool_calls_streaming(before, text, chunk, [], [], [], request=request)
        )
    deltas.append(reading.finish_streaming())
    deltas = [delta for delta in deltas if delta is not None]
    answer = Answer("".join(delta.content or "" for delta in deltas))
    ids = list[str]()
    for call in (call for delta in deltas for call in delta.tool_calls):
        if call.id:
            assert call.index == len(ids), "a call's id and name come with its first piece"
            assert call.function.name
            ids.append(call.id)
        answer.add(call.index, call.function.name, call.function.arguments)
    assert len({*ids}) == len(ids) == len(answer.calls)
    return {"content": answer.text or None, "calls": answer.calls}


def streamed_by_sglang(detector: Any, chunks: list[str], tools: list[Any] | None = None) -> Answer:
    """What SGLang makes of the results of a detector."""
    declared = [ADD] if tools is None else tools
    results = [detector.parse_streaming_increment(chunk, declared) for chunk in chunks]
    results.append(detector.finish(declared))
    answer = Answer("".join(result.normal_text for result in results))
    for call in (call for result in results for call in result.calls):
        answer.add(call.tool_index, call.name, call.parameters)
    return answer


def whole(reading: Any, text: str, request: Any = REQUEST) -> dict[str, Any]:
    found = reading.extract_tool_calls(text, request)
    assert found.tools_called == bool(found.tool_calls)
    calls = [(call.function.name, call.function.arguments) for call in found.tool_calls]
    return {"content": found.content, "calls": calls}


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("Hi", "Hi", 0),
        (f"Two. {CALL}\n{CALL}", "Two. ", 2),
        (f"{THOUGHT}Now. {CALL}", f"{THOUGHT}Now. ", 1),
        (f"<think>{CALL}", f"<think>{CALL}</think>", 0),
        (CALL.removesuffix("</tool_call>"), None, 1),
        ("<tool_call>\n{x}</tool_call> b <tool_", "<tool_call>\n{x}</tool_call> b <tool_", 0),
        (CALL.replace("add", "rm"), CALL.replace("add", "rm"), 0),
    ],
)
def test_vllm_gets_the_same_whole_and_streamed(text: str, content: str | None, calls: int):
    expected = {"content": content, "calls": [("add", '{"a": 1}')] * calls}
    assert whole(parser("cogency_hermes"), text) == expected
    reading = parser("cogency_hermes")
    assert streamed(reading, list(text)) == expected
    # vLLM sends what of these it has not seen streamed, and takes the number of calls from them.
    assert [call["arguments"] for call in reading.prev_tool_call_arr] == (
        reading.streamed_args_for_tool
    )
    assert len(reading.prev_tool_call_arr) == calls
    assert streamed(parser("cogency_hermes"), [text]) == expected


def test_vllm_gets_text_where_no_call_is_wanted():
    request = servers.request(tools=[ADD], tool_choice="none")
    expected = {"content": CALL, "calls": []}
    assert whole(parser("cogency_hermes"), CALL, request) == expected
    assert streamed(parser("cogency_hermes"), list(CALL), request) == expected


def chosen(name: str) -> list[Any]:
    """A choice of a tool by name, in each shape that a server may give."""
    function = SimpleNamespace(name=name)
    return [
        {"type": "function", "function": {"name": name}},
        {"type": "function", "name": name},
        SimpleNamespace(type="function", function=function),
        function,
    ]


def test_vllm_gets_calls_of_a_chosen_tool_alone():
    sub = servers.tool("sub", {})
    text = f"{CALL}{CALL.replace('add', 'sub')}"
    for choice in chosen("sub"):
        request: Any = SimpleNamespace(tools=[ADD, sub], tool_choice=choice)
        expected: dict[str, Any] = {"content": CALL, "calls": [("sub", '{"a": 1}')]}
        assert whole(parser("cogency_hermes"), text, request) == expected
        assert streamed(parser("cogency_hermes"), list(text), request) == expected
    for choice, tools in [*((choice, [ADD]) for choice in chosen("sub")), (chosen("add")[0], [])]:
        request = SimpleNamespace(tools=tools, tool_choice=choice)
        expected = {"content": text, "calls": []}
        assert whole(parser("cogency_hermes"), text, request) == expected
        assert streamed(parser("cogency_hermes"), list(text), request) == expected


def test_vllm_is_asked_for_special_tokens_and_not_to_hold_the_model_to_json():
    request = servers.request(tools=[ADD], tool_choice="required")
    assert parser("cogency_mistral").adjust_request(request).skip_special_tokens is False
    assert parser("cogency_mistral").supports_required_and_named is False
    without_tools = servers.request()
    shown = without_tools.skip_special_tokens
    assert parser("cogency").adjust_request(without_tools).skip_special_tokens is shown
    reasoning: Any = servers.parser_of_reasoning("cogency_mistral")(Tokenizer())
    assert reasoning.adjust_request(without_tools).skip_special_tokens is False
    other = SimpleNamespace()  # of an API without this option
    assert vars(reasoning.adjust_request(other)) == {}


@pytest.mark.parametrize("dialect", Dialect.presets())
def test_each_preset_is_a_parser_of_both_servers(dialect: str):
    text = Dialect(dialect).write_calls([ToolCall("add", {"a": 1})])
    name = f"cogency_{dialect.replace('-', '_')}"
    expected = {"content": None, "calls": [("add", '{"a": 1}')]}
    assert whole(parser(name), text) == expected
    assert streamed(parser(name), list(text)) == expected
    of_sglang = served_dialect(name.removeprefix("cogency_"), "sglang")  # its own names go first
    of_sglang = of_sglang[0] if isinstance(of_sglang, tuple) else of_sglang
    text = of_sglang.write_calls([ToolCall("add", {"a": 1})])
    detector: Any = servers.detectors()[0][name]()
    assert detector.has_tool_call(text)
    [call] = detector.detect_and_parse(text, [ADD]).calls
    assert (call.tool_index, call.name, call.parameters) == (0, "add", '{"a": 1}')
    servers.parser_of_reasoning(name)(Tokenizer())
    servers.detectors()[1][name](stream_reasoning=False)


def test_the_dialect_is_told_from_the_chat_template():
    class OfTemplate(Tokenizer):
        chat_template = (
            "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}[TOOL_CALLS]"
            "{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
        )

    class Several(Tokenizer):
        chat_template = {"default": "x", "tool_use": OfTemplate.chat_template}  # noqa: RUF012

    class Broken(Tokenizer):
        chat_template = "no template"

    text = '[TOOL_CALLS]add[ARGS]{"a": 1}'
    for tokenizer in (OfTemplate(), Several()):
        assert whole(parser("cogency", tokenizer), text)["calls"] == [("add", '{"a": 1}')]
    for tokenizer in (Broken(), Tokenizer()):
        assert whole(parser("cogency", tokenizer), CALL)["calls"] == [("add", '{"a": 1}')]


BAD_TOOLS = {
    "none": [],
    "two of one name": [ADD, servers.tool("add", {"properties": {"a": {"type": "string"}}})],
    "a thousand": [*(servers.tool(f"tool_{n}", {}) for n in range(1_000)), ADD],
    "invalid schemas": [servers.tool("add", {"type": 5, "properties": [1]})],
}

BAD_TEXTS = {
    "a lone surrogate": "half \ud83d",
    "no end": "<tool_call>{",
    "no end of a name": CALL[:24],
    "another dialect": Dialect("kimi-k2").write_calls([ToolCall("add", {"a": 1})]),
    "a tool that is not declared": CALL.replace("add", "rm"),
    "a long line": "x" * 100_000,
}


@pytest.mark.parametrize("choice", ["auto", {"type": "function", "function": {"name": "rm"}}])
@pytest.mark.parametrize("tools", BAD_TOOLS.values(), ids=BAD_TOOLS)
def test_nothing_raises_where_no_call_has_begun(tools: list[Any], choice: Any):
    request: Any = SimpleNamespace(tools=tools, tool_choice=choice)
    for name, text in BAD_TEXTS.items():
        if not tools and "rm" in text:
            continue  # without tools, each may be called
        shown = text.replace("\ud83d", "\N{REPLACEMENT CHARACTER}")
        expected: dict[str, Any] = {"content": shown, "calls": []}
        chunks = [text[at : at + 7] for at in range(0, len(text), 7)]
        assert whole(parser("cogency_hermes"), text, request) == expected, name
        assert streamed(parser("cogency_hermes"), chunks, request) == expected, name
        detector: Any = servers.detectors()[0]["cogency_hermes"]()
        assert streamed_by_sglang(detector, chunks, tools) == Answer(shown), name
        assert detector.detect_and_parse(text, tools).normal_text == shown, name


@pytest.mark.parametrize("digits", [1, 5_000])
def test_a_number_of_any_length_is_passed_on(digits: int):
    number = "1" * digits
    text = CALL.replace('"a": 1', f'"a": {number}')
    expected = {"content": None, "calls": [("add", f'{{"a": {number}}}')]}
    assert whole(parser("cogency_hermes"), text) == expected
    assert streamed(parser("cogency_hermes"), list(text)) == expected
    detector: Any = servers.detectors()[0]["cogency_hermes"]()
    [call] = detector.detect_and_parse(text, [ADD]).calls
    assert call.parameters == f'{{"a": {number}}}'


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


UNREADABLE_SCHEMAS: dict[str, dict[str, Any]] = {
    "not a number": {"default": float("nan")},
    "deep": nested(300),
    "too deep for Python": nested(100_000),
    "a lone surrogate": {"description": "\ud800"},
    "a long integer": {"default": 10**5_000},
    "not JSON": {"default": {1}},
}


@pytest.mark.parametrize("schema", UNREADABLE_SCHEMAS.values(), ids=UNREADABLE_SCHEMAS)
def test_a_tool_with_a_schema_that_cannot_be_read_is_known_by_its_name(
    schema: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    served_tools._warn.cache_clear()  # pyright: ignore[reportPrivateUsage]
    bad = SimpleNamespace(function=SimpleNamespace(name="bad", parameters=schema))
    no_text = SimpleNamespace(function=SimpleNamespace(name="\ud800", parameters={}))
    tools: list[Any] = [ADD, bad, no_text]
    text = f"{CALL.replace('add', 'bad')}{CALL}{CALL.replace('add', 'rm')}"
    expected = {
        "content": CALL.replace("add", "rm"),
        "calls": [("bad", '{"a": 1}'), ("add", '{"a": 1}')],
    }
    request: Any = SimpleNamespace(tools=tools)
    with caplog.at_level(logging.WARNING, "cogency_rs.plugins"):
        assert whole(parser("cogency_hermes"), text, request) == expected
        assert streamed(parser("cogency_hermes"), list(text), request) == expected
        detector: Any = servers.detectors()[0]["cogency_hermes"]()
        found = streamed_by_sglang(detector, list(text), tools)
    assert {"content": found.text, "calls": found.calls} == expected
    assert ["'bad'" in record.message for record in caplog.records].count(True) == 1


def through_vllm(name: str, prompt: str, chunks: list[str]) -> tuple[str, str, list[str]]:
    """The reasoning, the content and the arguments of calls as vLLM streams them."""
    reasoning_parser: Any = servers.parser_of_reasoning(name)(Tokenizer())
    tool_parser, answer = parser(name), Answer()
    reasoning = content = seen = rest = ""
    has_ended = reasoning_parser.is_reasoning_end([*map(ord, prompt)])
    for chunk in chunks:
        piece = chunk
        before, seen = seen, seen + chunk
        if not has_ended:
            delta = reasoning_parser.extract_reasoning_streaming(before, seen, piece, [], [], [])
            has_ended = reasoning_parser.is_reasoning_end([*map(ord, seen)])
            reasoning += (delta and delta.reasoning) or ""
            piece = (delta and delta.content) or ""
            if not has_ended:
                content += piece
                continue
        before, rest = rest, rest + piece
        delta = tool_parser.extract_tool_calls_streaming(before, rest, piece, [], [], [], REQUEST)
        content += (delta and delta.content) or ""
        for call in delta.tool_calls if delta else ():
            answer.add(call.index, call.function.name, call.function.arguments)
    for delta in (reasoning_parser.finish_streaming(), tool_parser.finish_streaming()):
        reasoning += (delta and delta.reasoning) or ""
        content += (delta and delta.content) or ""
        for call in delta.tool_calls if delta else ():
            answer.add(call.index, call.function.name, call.function.arguments)
    return reasoning, content, [arguments for _, arguments in answer.calls]


MORE_CASES = [
    ("", f" \n{THOUGHT}{CALL}", "hm", "", 1),
    ("", CALL, "", "", 1),
    ("<think>\n", f"<think>hm</think>{CALL}", "hm", "", 1),
    ("<think></think>", f"Hi {CALL}", "", "Hi ", 1),
    ("What is <think>?<|im_end|>", f"Hi {CALL}", "", "Hi ", 1),
]


@pytest.mark.parametrize("name", ["cogency", "cogency_hermes", "cogency_qwen3_json"])
@pytest.mark.parametrize(("prompt", "text", "reasoning", "content", "calls"), [*CASES, *MORE_CASES])
def test_reasoning_and_calls_share_a_stream_of_vllm(
    name: str, prompt: str, text: str, reasoning: str, content: str, calls: int
):
    expected = (reasoning, content, ['{"a": 1}'] * calls)
    for chunks in (list(text), pieces(Dialect("hermes"), text), [text]):
        assert through_vllm(name, prompt, chunks) == expected
    if not prompt:
        reading: Any = servers.parser_of_reasoning(name)(Tokenizer())
        thought, rest = reading.extract_reasoning(text, REQUEST)
        found = whole(parser(name), rest or "")
        made = [arguments for _, arguments in found["calls"]]
        assert (thought or "", found["content"] or "", made) == expected


@pytest.mark.parametrize("name", ["cogency", "cogency_hermes", "cogency_qwen25"])
@pytest.mark.parametrize(("prompt", "text", "reasoning", "content", "calls"), CASES)
def test_calls_of_sglang_leave_reasoning_between_its_marks(
    name: str, prompt: str, text: str, reasoning: str, content: str, calls: int
):
    """Reading reasoning is SGLang's own there: `make servers` runs these cases with it."""
    text = f"<think>{text}" if prompt.endswith("<think>\n") else text
    shown = f"<think>{reasoning}</think>{content}" if reasoning else content
    make: Any = servers.detectors()[0][name]
    for chunks in (list(text), pieces(Dialect("hermes"), text), [text]):
        found = streamed_by_sglang(make(), chunks)
        assert (found.text, found.calls) == (shown, [("add", '{"a": 1}')] * calls)
    answer = make().detect_and_parse(text, [ADD])
    assert (answer.normal_text, len(answer.calls)) == (shown, calls)


def test_reasoning_of_a_whole_answer_is_taken_from_its_start():
    reading: Any = servers.parser_of_reasoning("cogency_hermes")(Tokenizer())
    for text, expected in [
        (f"{THOUGHT}Now.", ("hm", "Now.")),
        ("hm</think>Now.", ("hm", "Now.")),
        ("<think>hm", ("hm", None)),
        ("Now.", (None, "Now.")),
    ]:
        assert reading.extract_reasoning(text, REQUEST) == expected
    assert (reading.reasoning_start_str, reading.reasoning_end_str) == ("<think>", "</think>")
    assert reading.extract_content_ids([1, 2]) == []


def test_sglang_gets_the_same_whole_and_streamed():
    text = f"{THOUGHT}Two. {CALL}{CALL} <tool_"
    make: Any = servers.detectors()[0]["cogency_qwen25"]
    found = make().detect_and_parse(text, [ADD])
    detector = make()
    streamed = streamed_by_sglang(detector, list(text))
    assert found.normal_text == streamed.text == f"{THOUGHT}Two.  <tool_"
    assert [(call.name, call.parameters) for call in found.calls] == streamed.calls
    assert streamed.calls == [("add", '{"a": 1}')] * 2
    assert [call.tool_index for call in found.calls] == [0, 1]
    assert not detector.has_tool_call("Hi")
    assert not detector.supports_structural_tag()
    assert detector.parses_required_natively()
    with pytest.raises(NotImplementedError):
        detector.structure_info()
    reasoning = servers.detectors()[1]["cogency_seed_oss"]
    marks: Any = reasoning(stream_reasoning=False)
    assert (marks.think_start_token, marks.think_end_token) == ("<seed:think>", "</seed:think>")
    assert marks.stream_reasoning is False


# Calls that are streamed.

PIECES = [1, 2, 5, 16]


def cut(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)]


def sent_by_vllm(reading: Any, chunks: list[str]) -> list[Any]:
    made = [
        reading.extract_tool_calls_streaming("", "", chunk, [], [], [], request=REQUEST)
        for chunk in chunks
    ]
    return [delta for delta in [*made, reading.finish_streaming()] if delta is not None]


@pytest.mark.parametrize("width", PIECES)
def test_vllm_gets_the_arguments_of_calls_while_they_are_written(width: int):
    text = f"Two. {CALL}\n{CALL}"
    reading = parser("cogency_hermes")
    pieces = [
        call for delta in sent_by_vllm(reading, cut(text, width)) for call in delta.tool_calls
    ]
    arguments = ["", ""]
    for piece in pieces:
        arguments[piece.index] += piece.function.arguments
    assert arguments == ['{"a": 1}'] * 2
    assert len(pieces) > 2, "and not at once"
    assert [(piece.index, piece.function.name) for piece in pieces if piece.id] == [
        (0, "add"),
        (1, "add"),
    ]
    assert [call["arguments"] for call in reading.prev_tool_call_arr] == arguments
    assert reading.streamed_args_for_tool == arguments
    assert whole(parser("cogency_hermes"), text)["calls"] == [("add", '{"a": 1}')] * 2


@pytest.mark.parametrize("width", PIECES)
def test_sglang_gets_them_too(width: int):
    answer = streamed_by_sglang(servers.detectors()[0]["cogency_qwen25"](), cut(CALL * 2, width))
    assert answer.calls == [("add", '{"a": 1}')] * 2
    assert len(answer.sent) > 2, "and not at once"


@pytest.mark.parametrize("width", PIECES)
def test_a_server_that_asks_for_whole_calls_gets_each_at_once(
    monkeypatch: pytest.MonkeyPatch, width: int
):
    monkeypatch.setenv(shared.CALLS, "whole")
    detectors: Any = servers.detectors()[0]
    answer = streamed_by_sglang(detectors["cogency_qwen25"](), cut(CALL * 2, width))
    assert (answer.calls, len(answer.sent)) == ([("add", '{"a": 1}')] * 2, 2)
    deltas = sent_by_vllm(parser("cogency_hermes"), cut(CALL * 2, width))
    sent = [call.function.arguments for delta in deltas for call in delta.tool_calls]
    assert sent == ['{"a": 1}'] * 2
    broken = CALL.replace("1}", "1;}")
    expected = {"content": broken, "calls": []}
    assert streamed(parser("cogency_hermes"), cut(broken, width)) == expected


def test_another_way_to_send_calls_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(shared.CALLS, "streamed")
    with pytest.raises(ValueError, match="streamed"):
        sent_by_vllm(parser("cogency_hermes"), [CALL])


@pytest.mark.parametrize("width", PIECES)
@pytest.mark.parametrize("text", [CALL.replace("1}", "1;}"), CALL[:-16]], ids=["broken", "cut"])
def test_a_server_ends_an_answer_with_an_error_if_a_call_that_began_is_not_valid(
    text: str, width: int
):
    with pytest.raises(ValueError, match=r"ask again") as raised:
        sent_by_vllm(parser("cogency_hermes"), cut(text, width))
    assert isinstance(raised.value, shared.BrokenCallError)
    detector: Any = servers.detectors()[0]["cogency_qwen25"]()

    def read() -> None:
        for piece in cut(text, width):
            detector.parse_streaming_increment(piece, [ADD])
        detector.finish([ADD])

    with pytest.raises(ValueError, match=r"ask again"):
        read()
