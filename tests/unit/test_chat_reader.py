"""A model's text in the shape of OpenAI's chat API, whole and as deltas."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import Dialect, ToolCall
from cogency_rs.errors import ConfigError
from cogency_rs.protocol import Limits
from cogency_rs.reader import ChatReader, error_body
from support.deltas import joined

ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "s": {"type": "string"}},
        },
    },
}

CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'


def reader(dialect: Any = "hermes", tools: Any = (ADD,), **options: Any) -> ChatReader:
    numbers = count()
    return ChatReader(dialect, tools, ids=lambda: f"call_{next(numbers)}", **options)


def streamed(chunks: list[str], *arguments: Any, **options: Any) -> tuple[dict[str, Any], str]:
    reading = reader(*arguments, **options)
    deltas = [delta for chunk in chunks for delta in reading.feed(chunk)]
    last, reason = reading.finish("stop")
    return joined(deltas + last), reason


def test_a_message_has_the_shape_of_the_api():
    message = reader().read(f"<think>hm</think>Two. {CALL}")
    assert message == {
        "role": "assistant",
        "content": "Two. ",
        "reasoning_content": "hm",
        "tool_calls": [
            {
                "id": "call_0",
                "type": "function",
                "function": {"name": "add", "arguments": '{"a": 1}'},
            }
        ],
    }
    assert reader().read("") == {"role": "assistant", "content": None}


def test_deltas_come_as_soon_as_they_are_certain():
    reading = reader()
    assert reading.feed("Hello <tool") == [{"content": "Hello "}]
    assert reading.feed("s> ") == [{"content": "<tools> "}]
    assert reading.feed(CALL[:-1]) == []
    [delta] = reading.feed(CALL[-1:])
    assert [call["index"] for call in delta["tool_calls"]] == [0]
    assert reading.finish() == ([], "tool_calls")
    assert reading.feed("Next.") == [{"content": "Next."}], "the next answer"


@pytest.mark.parametrize("dialect", Dialect.presets())
@given(data=st.data())
def test_a_text_that_is_cut_anywhere_is_the_same_message(dialect: str, data: st.DataObject):
    texts = st.sampled_from(
        ["Hi. ", "\n", "a < b", "<think>", "</think>", "`", "{", "]", "é😀", " to="]
    )
    calls = st.builds(
        lambda a, s: [ToolCall("add", {"a": a, "s": s})],
        st.integers(0, 9),
        st.sampled_from(["x", "</x>", '"', "a\nb", "😀"]),
    )
    block = st.one_of(
        calls.map(Dialect(dialect).write_calls),
        st.builds(
            lambda calls, at: Dialect(dialect).write_calls(calls)[:at], calls, st.integers(1, 80)
        ),
    )
    text = "".join(data.draw(st.lists(st.one_of(texts, block), max_size=5)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    whole = reader(dialect).read(text, "stop")
    found, reason = streamed(chunks, dialect)
    characters, _ = streamed(list(text), dialect)

    assert found == characters == whole
    assert reason == ("tool_calls" if "tool_calls" in whole else "stop")
    for call in whole.get("tool_calls", ()):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


@pytest.mark.parametrize("dialect", Dialect.presets())
def test_each_dialect_is_read_into_the_same_calls(dialect: str):
    args = {"a": 2, "s": 'a < b & "c" </x>'}
    text = Dialect(dialect).write_calls([ToolCall("add", args)])
    [call] = reader(dialect).read(text, "stop")["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("add", args)


@pytest.mark.parametrize(
    ("options", "text", "reason", "finish", "expected"),
    [
        ({}, '<tool_call>{"name": "rm", "arguments": {}}</tool_call>', "stop", "stop", None),
        ({"tool_choice": "none"}, CALL, "stop", "stop", None),
        ({"tools": None, "tool_choice": "none"}, CALL, "stop", "stop", None),
        ({}, "<tool_call>{", "stop", "stop", None),
        ({}, CALL[:40], "length", "length", None),
        ({}, "No.", "content_filter", "content_filter", None),
        ({}, "half \ud83d", "stop", "stop", "half \N{REPLACEMENT CHARACTER}"),
        ({"limits": Limits(max_block_bytes=64)}, f"<tool_call>{'x' * 1000}", "stop", "stop", None),
        ({"tools": (ADD, ADD)}, "Two of one name.", "stop", "stop", None),
        ({"dialect": "kimi-k2"}, CALL, "stop", "stop", None),
    ],
)
def test_what_gives_no_call_is_text(
    options: dict[str, Any], text: str, reason: str, finish: str, expected: str | None
):
    message = {"role": "assistant", "content": expected or text}
    assert reader(**options).read(text, reason) == message
    reading = reader(**options)
    deltas = [delta for character in text for delta in reading.feed(character)]
    last, found = reading.finish(reason)
    assert (joined(deltas + last), found) == (message, finish)


@pytest.mark.parametrize("dialect", Dialect.presets())
def test_a_call_is_uncertain_up_to_its_last_value(dialect: str):
    call = Dialect(dialect).write_calls([ToolCall("add", {"a": 1, "s": "a long text"})])
    cut = call[: call.index("a long text") + 6]
    reading = reader(dialect)
    deltas = [delta for character in cut for delta in reading.feed(character)]
    last, reason = reading.finish("length")
    message = joined(deltas + last)
    # A name that was sent when it was read would have to be taken back here.
    assert "tool_calls" not in message
    assert reason == "length"


def test_a_line_of_a_hundred_megabytes_is_text_and_takes_little_memory():
    text = "x" * 100_000_000
    assert reader().read(text)["content"] == text
    block = f"<tool_call>{text}"
    reading = reader(limits=Limits(max_block_bytes=4096))
    parts = [
        delta["content"]
        for at in range(0, len(block), 65536)
        for delta in reading.feed(block[at : at + 65536])
    ]
    last, _ = reading.finish()
    assert "".join(parts) + "".join(delta["content"] for delta in last) == block


def test_ten_thousand_tools_are_told_apart():
    tools = [{"name": f"tool_{n}", "parameters": {"type": "object"}} for n in range(10_000)]
    text = '<tool_call>{"name": "tool_9999", "arguments": {}}</tool_call>'
    reading = reader(tools=tools)
    assert reading.read(text)["tool_calls"][0]["function"]["name"] == "tool_9999"
    assert reading.read(text.replace("9999", "10000"))["content"] == text.replace("9999", "10000")


@pytest.mark.parametrize("dialect", ["hermes", "qwen3-coder"])
def test_of_two_tools_of_one_name_the_last_says_what_its_arguments_are(dialect: str):
    text = Dialect(dialect).write_calls([ToolCall("add", {"a": "1"})])
    other = {"name": "add", "parameters": {"properties": {"a": {"type": "string"}}}}
    message, _ = streamed(list(text), dialect, (ADD, other))
    [call] = message["tool_calls"]
    assert call["function"] == {"name": "add", "arguments": '{"a": "1"}'}


def test_only_the_tool_that_was_chosen_is_called():
    choice = {"type": "function", "function": {"name": "add"}}
    other = {"name": "sub", "parameters": {"type": "object"}}
    text = '<tool_call>{"name": "sub", "arguments": {}}</tool_call>'
    message = reader(tools=(ADD, other), tool_choice=choice).read(f"{CALL}{text}")
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["add"]
    assert message["content"] == text


def test_json_has_no_numbers_that_json_does_not_know():
    text = CALL.replace("1", "NaN")
    [call] = reader().read(text)["tool_calls"]
    assert call["function"]["arguments"] == '{"a": null}'


def test_a_call_keeps_its_own_id_unless_another_has_it():
    written = '{"name": "add", "arguments": {}, "id": "abcdefghi"}'
    text = f"[TOOL_CALLS][{written}, {written}]"
    calls = reader("mistral").read(text)["tool_calls"]
    assert [call["id"] for call in calls] == ["abcdefghi", "call_0"]
    made = ChatReader("hermes").read(CALL + CALL)["tool_calls"]
    assert len({call["id"] for call in made}) == 2
    assert all(call["id"].startswith("call_") for call in made)


KIMI = {
    1: "<|tool_calls_section_begin|>",
    2: "<|tool_calls_section_end|>",
    3: "<|tool_call_begin|>",
    4: "<|tool_call_argument_begin|>",
    5: "<|tool_call_end|>",
}


@pytest.mark.parametrize(
    "chunks",
    [
        [
            ("Hi", [9]),
            ("", [1]),
            ("", [3]),
            ("functions.add:0", [70, 71]),
            ("", [4]),
            ('{"a": 1}', [8]),
            ("", [5]),
            ("", [2]),
        ],
        [("Hi", [9, 1, 3]), ("functions.add:0", [70, 4]), ('{"a": 1}', [8, 8, 5, 2])],
        [
            ("Hi<|tool_calls_section_begin|>", [9, 1]),
            ("functions.add:0", [3, 70]),
            ('{"a": 1}', [4, 8, 5, 2]),
        ],
        [
            ("Hi", [-7, 10**30]),
            ("".join((KIMI[1], KIMI[3], "functions.add:0", KIMI[4])), [1, 3, 70, 4]),
            ('{"a": 1}', [8, 5, 2]),
        ],
    ],
    ids=["a token a chunk", "several", "some are shown", "all are shown"],
)
def test_marks_that_a_server_hides_are_taken_from_the_token_ids(
    chunks: list[tuple[str, list[int]]],
):
    reading = reader("kimi-k2", marks=KIMI)
    deltas = [delta for text, ids in chunks for delta in reading.feed(text, ids)]
    last, reason = reading.finish("stop")
    message = joined(deltas + last)
    assert (message["content"], reason) == ("Hi", "tool_calls")
    assert message["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1}'}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"dialect": "klingon"}, "there is no dialect"),
        ({"tools": [{"name": "\ud83d"}]}, "without lone surrogates"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice"),
        (
            {"tool_choice": {"type": "function", "function": {"name": "rm"}}},
            "there is no such tool",
        ),
    ],
)
def test_a_wrong_request_is_refused_before_the_stream_begins(arguments: dict[str, Any], said: str):
    with pytest.raises(ConfigError, match=said) as raised:
        reader(**arguments)
    body = error_body(raised.value, param="tool_choice")
    assert body["error"]["type"] == "invalid_request_error"
    assert said in body["error"]["message"]
    assert (body["error"]["param"], body["error"]["code"]) == ("tool_choice", None)
