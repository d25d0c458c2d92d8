"""What is read where marks of a call are missing, doubled or misplaced: alike in every dialect of a shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import Dialect, Parser, ToolCall
from cogency_rs.reader import ChatReader
from cogency_rs.types import ToolResult
from support.call_examples import examples, marks_of

WRITE = ToolCall("write", {"path": "a.txt", "content": "hello"})
READ = ToolCall("read", {"path": "b.txt"})
TEXT = {"type": "string"}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "write",
        "parameters": {"type": "object", "properties": {"path": TEXT, "content": TEXT}},
    },
    {"name": "read", "parameters": {"type": "object", "properties": {"path": TEXT}}},
]


BARE = [
    pytest.param(name, form, id=name)
    for name in Dialect.presets()
    for form in examples(name, json=True)
    if Dialect(name).to_dict()["unmarked"] == "at_start" and "answer" not in form
]


def read(name: str, text: str, *, lenient: bool) -> tuple[list[tuple[str, Any]], bool]:
    """The calls that are read, however the text comes, and whether a problem is reported."""
    readings: list[tuple[list[tuple[str, Any]], bool]] = []
    for chunks in ([text], list(text), [text[at : at + 7] for at in range(0, len(text), 7)]):
        parser = Parser(dialect=name, tools=TOOLS, errors="event", lenient=lenient)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish("stop")
        found = [json.loads(event["content"]) for event in events if event["type"] == "call"]
        calls = [(call["name"], call["args"]) for call in found]
        readings.append((calls, any(event["type"] == "error" for event in events)))
        reader = ChatReader(name, TOOLS, lenient=lenient)
        deltas = [delta for chunk in chunks for delta in reader.feed(chunk)] + reader.finish(
            "stop"
        )[0]
        made = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
        assert [(call["name"], json.loads(call["arguments"])) for call in made] == calls
    assert all(reading == readings[0] for reading in readings)
    return readings[0]


def written(*calls: ToolCall) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in calls]


@pytest.mark.parametrize(("name", "form"), BARE)
def test_a_bare_call_may_begin_with_another_key(name: str, form: dict[str, Any]):
    keys = {slot: key for key, slot in form["call"].items()}
    of_name, of_args = keys["{name}"], keys["{args}"]
    call = f'{{"type": "function", "id": 7, "{of_name}": "read", "{of_args}": {{"path": "b.txt"}}}}'
    is_array = "[{calls}]" in form.get("block", "")
    text = f"[{call}]" if is_array else call
    assert read(name, text, lenient=False) == (written(READ), False)
    for answer in (
        '{"type": "list", "items": []}',
        '{"id": 7, "name": "Ann", "age": 3}',
        '{"a": 1',
    ):
        answer = f"[{answer}]" if is_array else answer
        assert read(name, answer, lenient=False) == ([], False), answer


@pytest.mark.parametrize("between", ["", " ", "\n", "\n\n", ";", " ; "])
def test_bare_calls_follow_each_other_with_or_without_a_separator(between: str):
    call = '{"name": "read", "parameters": {"path": "b.txt"}}'
    for before in ("", "<|python_tag|>"):
        text = f"{before}{call}{between}{call}"
        assert read("llama3-json", text, lenient=False) == (written(READ, READ), False)
        assert read("llama3-json", f'{text}\n{{"answer": 1}}', lenient=False) == (
            written(READ, READ),
            False,
        )


@pytest.mark.parametrize("between", ["", " ", "\n"])
def test_a_mark_of_two_tokens_may_have_space_in_it(between: str):
    call = '{"name": "read", "parameters": {"path": "b.txt"}}'
    text = f"<|action_start|>{between}<|plugin|>\n{call}<|action_end|>"
    assert read("internlm2", text, lenient=False) == (written(READ), False)


def test_a_section_has_marks_in_either_spelling():
    whole = Dialect("kimi-k2").write_calls([READ])
    for text in (whole, whole.replace("_calls_section", "_call_section")):
        parser = Parser(dialect="kimi-k2", tools=TOOLS)
        events = [*parser.feed(text), *parser.finish("stop")]
        assert [event["type"] for event in events] == ["call", "execute"]


HEADED = {
    "harmony": "<|channel|>final",
    "beam-rfl": "<|channel|>final",
    "muse": " to=user",
    "muse-glimmer": " to=user",
}


@pytest.mark.parametrize(("name", "to"), HEADED.items(), ids=HEADED)
def test_a_message_whose_head_never_ends_is_text(name: str, to: str):
    heads = Dialect(name).to_dict()["heads"]
    whole = f"<|start|>assistant{to}<|message|>Bye."
    for behind in ("", heads["close"][0], whole):
        text = f"<|start|>assistant{to} The answer is 4.{behind}"
        for chunks in ([text], list(text)):
            parser = Parser(dialect=name, errors="event")
            events = [event for chunk in chunks for event in parser.feed(chunk)]
            said = [*events, *parser.finish("stop")]
            content = "".join(event["content"] for event in said if event["type"] == "respond")
            assert content.split() == [
                "The",
                "answer",
                "is",
                *("4.Bye." if behind == whole else "4.",),
            ]
            assert {event["type"] for event in said} == {"respond"}


@pytest.mark.parametrize("name", ["harmony", "beam-rfl"])
def test_a_call_whose_head_never_ends_is_told(name: str):
    text = '<|start|>assistant<|channel|>commentary to=functions.read json{"path": "b.txt"}'
    for behind in ("", "<|call|>", "<|start|>assistant<|channel|>final<|message|>Done."):
        assert read(name, text + behind, lenient=False) == ([], True)


@pytest.mark.parametrize("name", ["deepseek-v4-dsml", "deepseek-v41-dsml"])
def test_newer_models_get_results_in_their_own_form(name: str):
    dialect = Dialect(name)
    written = dialect.write_results([ToolResult(outcome="", content="20")], calls=[READ])
    assert written == "<tool_result>20</tool_result>"
    assert "<tool_result>" in dialect.stop


SPOKEN_OF = {
    "qwen3-coder": "A call ends with </parameter></tool_call> here.",
    "hunyuan-v4": "ends </arg_value:opensource></tool_calls:opensource> so",
    "glm47": "x</arg_value><tool_call>read y",
    "seed-oss": "a </parameter></seed:tool_call> b",
}


@pytest.mark.parametrize(("name", "content"), SPOKEN_OF.items(), ids=SPOKEN_OF)
def test_lenient_reading_does_not_change_a_valid_block(name: str, content: str):
    text = Dialect(name).write_calls([ToolCall("write", {"path": "a", "content": "CONTENT"})])
    expected = [("write", {"path": "a", "content": content})]
    for lenient in (False, True):
        assert read(name, text.replace("CONTENT", content), lenient=lenient) == (expected, False)


@pytest.mark.parametrize(
    "name", ["qwen3-coder", "seed-oss", "mimo", "minimax-m2", "glm47", "beam-rfl"]
)
def test_no_value_takes_the_next_call(name: str):
    dialect = Dialect(name)
    marks = marks_of(dialect.to_dict()["calls"][0])
    assert marks is not None
    close = marks.value_close
    for count in (1, 2, 3):
        whole = dialect.write_calls([READ, WRITE])
        parts = whole.split(close)
        for missing in range(len(parts) - count):
            text = close.join(parts[: missing + 1]) + "".join(parts[missing + 1 : missing + count])
            text += close.join(["", *parts[missing + count :]])
            for cut in (text, text.rpartition(marks.close or "<|call|>")[0]):
                for lenient in (False, True):
                    calls, _ = read(name, cut, lenient=lenient)
                    values = [value for _, args in calls for value in args.values()]
                    assert not [value for value in values if "<" in value], (cut, lenient)


@pytest.mark.parametrize(
    "behind",
    [
        '{"name": "Ann", "age": 3}',
        '{"name": "read", "age": 3}',
        "{",
        '{"a": 1',
        '{"parameters": 3}',
    ],
)
def test_json_behind_a_bare_call_is_text(behind: str):
    call = '{"name": "read", "parameters": {"path": "b.txt"}}'
    for between in ("", " ", "\n"):
        text = f"{call}{between}{behind}"
        parser = Parser(dialect="llama3-json", tools=TOOLS)
        events = [event for char in text for event in parser.feed(char)] + parser.finish("stop")
        assert (
            "".join(event["content"] for event in events if event["type"] == "respond").strip()
            == behind
        )
        assert read("llama3-json", text, lenient=False) == (written(READ), False)


def test_a_head_has_one_channel():
    text = "<|start|>assistant<|channel|>final The answer is 4.<|channel|>final<|message|>Bye."
    parser = Parser(dialect="harmony")
    said = "".join(event["content"] for event in [*parser.feed(text), *parser.finish("stop")])
    assert said.split() == ["The", "answer", "is", "4.Bye."]
    reader = ChatReader("harmony", TOOLS)
    told = "<|channel|>final Send it to=bob now <|end|>"
    assert reader.read(told)["content"].strip() == "Send it to=bob now"


def test_text_of_an_answer_that_came_by_itself_ends_the_start():
    chunks = [
        "<|channel|>final<|message|>",
        "Hi.",
        '<|end|><|channel|>analysis<|message|>hm<|end|> to=functions.read<|message|>{"path": "b"}<|call|>',
    ]
    whole = ChatReader("harmony", TOOLS).read("".join(chunks))
    reader = ChatReader("harmony", TOOLS)
    deltas = [delta for chunk in chunks for delta in reader.feed(chunk)] + reader.finish("stop")[0]
    assert "".join(delta.get("content") or "" for delta in deltas) == whole["content"]
    assert not any("tool_calls" in delta for delta in deltas)


def test_calls_of_kimi_k3_are_numbered():
    text = Dialect("kimi-k3").write_calls([READ, WRITE])
    assert 'tool="read" index="1"<|sep|>' in text
    assert 'tool="write" index="2"<|sep|>' in text
    assert read("kimi-k3", text, lenient=False) == (written(READ, WRITE), False)


@pytest.mark.parametrize("name", Dialect.presets())
@pytest.mark.parametrize("reason", ["stop", "length", "abort", None])
def test_a_call_that_is_whole_is_read_leniently_too_however_its_answer_ends(
    name: str, reason: str | None
):
    whole = Dialect(name).write_calls([WRITE, READ])
    for behind in ("", "\n", "<", " Done.", whole[-6:], whole[-8:-2]):
        text = whole + behind
        for chunks in ([text], list(text)):
            strictly, leniently = (
                calls_of(name, chunks, reason, lenient=lenient) for lenient in (False, True)
            )
            assert strictly == leniently[: len(strictly)], text


def calls_of(
    name: str, chunks: list[str], reason: str | None, *, lenient: bool
) -> list[dict[str, Any]]:
    parser = Parser(dialect=name, tools=TOOLS, errors="event", lenient=lenient)
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish(reason)
    return [json.loads(event["content"]) for event in events if event["type"] == "call"]


@pytest.mark.parametrize(("name", "form"), BARE)
def test_json_that_only_has_a_name_is_an_answer_unless_that_is_a_tools(
    name: str, form: dict[str, Any]
):
    keys = {slot: key for key, slot in form["call"].items()}
    is_array = "[{calls}]" in form.get("block", "")
    for tool, calls in (("read", [("read", {})]), ("Ann", [])):
        one = json.dumps({keys["{name}"]: tool})
        text = f"[{one}]" if is_array else one
        for lenient in (False, True):
            assert read(name, text, lenient=lenient) == (calls, False)


GO_ON = {
    "kimi-k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>",
    "functionary-v31": "<function=read>{}</function>",
    "harmony": " to=functions.read<|channel|>commentary json<|message|>{}<|call|>",
}


@pytest.mark.parametrize(("name", "call"), GO_ON.items(), ids=GO_ON)
def test_arguments_that_go_on_after_their_end_are_told(name: str, call: str):
    for args in ('{"path": "b.txt"}, "n": 1}', '{}{"path": "b.txt"}', '{}"path": "b.txt"}'):
        for lenient in (False, True):
            assert read(name, call.replace("{}", args, 1), lenient=lenient) == ([], True)


@pytest.mark.parametrize(
    "behind", [', "arguments": {"path": "b.txt"}}', '\n{"path": "b.txt"}', ': {"path": "b.txt"}']
)
def test_nothing_runs_if_the_arguments_follow_an_object_that_was_closed_too_early(behind: str):
    for name, call in (
        ("json-plain", '{"name": "read"}'),
        ("llama3-json", '{"name": "read"}'),
        ("granite-20b-fc", '<function_call> {"name": "read"}'),
    ):
        for lenient in (False, True):
            assert read(name, call + behind, lenient=lenient)[0] == []
            assert read(name, f"{call}\nDone.", lenient=lenient)[0] == [("read", {})]


SINGLE = {
    "gemma4": ("<|tool_call>call:write{}<tool_call|>", "<tool_call|>"),
    "functiongemma": (
        "<start_function_call>call:write{}<end_function_call>",
        "<end_function_call>",
    ),
}


@pytest.mark.parametrize(("name", "form"), SINGLE.items(), ids=SINGLE)
def test_a_quote_in_single_quotes_is_an_apostrophe_or_told(name: str, form: tuple[str, str]):
    call, close = form
    for args, values in (
        ("{path:'it's',content:'a, b'}", {"path": "it's", "content": "a, b"}),
        ("{path:'print('}')'}", None),
        ("{path:'{'k': 'v', 'm': 'n'}'}", None),
        ("{path:'he said 'hi', content:'yes''}", None),
        (r"{path:'a\'b'}", None),
    ):
        expected = ([("write", values)], False) if values else ([], True)
        assert read(name, call.replace("{}", args), lenient=True) == expected
    cut = call.replace("{}", "{path:'x").replace("}", "")
    assert read(name, cut + call.replace("{}", "{path:'y'}"), lenient=True) == (
        [("write", {"path": "y"})],
        True,
    )
    assert close in cut


def test_arguments_under_another_key_do_not_change_what_was_streamed():
    for other in ("[]", '[{"a": "z"}]', '["z"]', "1"):
        text = f'<tool_call>\n{{"name": "read", "input": {{"path": "w"}}, "arguments": {other}}}\n</tool_call>'
        tools = [{"type": "function", "function": tool} for tool in TOOLS]
        said = []
        for cut in range(len(text)):
            reader = ChatReader("hermes", tools, lenient=True, calls="stream")
            deltas = reader.feed(text[:cut]) + reader.feed(text[cut:]) + reader.finish("stop")[0]
            calls = [call["function"] for each in deltas for call in each.get("tool_calls", ())]
            said.append("".join(call.get("arguments", "") for call in calls))
        assert set(said) == {'{"path": "w"}'}
