"""Forge's two notations: what its specification promises about calls as JSON (F) and as XML (X) between `<tool>` tags.

Each case keeps its id from the specification.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from cogency_rs import Parser, ToolCall, execute_tools, parse_tokens, system_prompt, tool
from cogency_rs.tools.registry import tool_call
from support.outlines import parse

Events = list[dict[str, Any]]

CALL = '<tool>{"server_name":"local","tool_name":"a","arguments":{"x":1}}</tool>'


def read(*chunks: str, dialect: Any = "forge-json", **options: Any) -> Events:
    return parse(chunks, dialect=dialect, errors="event", **options)


def short(events: Events) -> list[Any]:
    """Texts, calls as `name{args}@server`, and the codes of errors, in order."""
    outline: list[Any] = []
    for event in events:
        if event["type"] == "call":
            call = json.loads(event["content"])
            server = call.get("server", "local")
            outline.append((call["name"], call["args"], server))
        elif event["type"] == "error":
            outline.append(event["code"])
        elif event["type"] != "execute" and event["content"].strip():
            outline.append(event["content"].strip())
    return outline


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"Hi {CALL} bye", ["Hi", ("a", {"x": 1}, "local"), "bye"], id="F1"),
        pytest.param(
            'Hi <tool>\n{\n  "server_name": "local",\n  "tool_name": "a",\n  "arguments": {"x": 1}\n}\n</tool> bye',
            ["Hi", ("a", {"x": 1}, "local"), "bye"],
            id="F2",
        ),
        pytest.param('<tool>{"tool_name":"a"}</tool>', [("a", {}, "local")], id="F3"),
        pytest.param(
            '<tool>{"server_name":"","tool_name":"a"}</tool>', [("a", {}, "local")], id="F4"
        ),
        pytest.param(
            '<tool>{"server_name":"github","tool_name":"a"}</tool>', [("a", {}, "github")], id="F5"
        ),
        pytest.param('Example: {"tool_name":"a"}', ['Example: {"tool_name":"a"}'], id="F6"),
        pytest.param(
            f"Use <tool> tags. {CALL}", ["Use <tool> tags.", ("a", {"x": 1}, "local")], id="F7"
        ),
        pytest.param(
            '<tool>{"tool_name":"a","arguments":{"c":"x</tool>y"}}</tool>',
            [("a", {"c": "x</tool>y"}, "local")],
            id="F8",
        ),
        pytest.param(
            f'one {CALL} two <tool>{{"tool_name":"b"}}</tool> three',
            ["one", ("a", {"x": 1}, "local"), "two", ("b", {}, "local"), "three"],
            id="F9",
        ),
        pytest.param('<tool>{"tool_name":"a"}', [("a", {}, "local")], id="F11-whole"),
        pytest.param('<tool>{"tool_name":"a', ["invalid_payload"], id="F11-half"),
        pytest.param('<tool>{"tool_name": oops}</tool> on', ["invalid_payload", "on"], id="F12"),
        pytest.param('<tool>{"arguments":{}}</tool>', ["missing_tool_name"], id="F13-none"),
        pytest.param('<tool>{"tool_name":""}</tool>', ["missing_tool_name"], id="F13-empty"),
        pytest.param(
            '<tool>{"tool_name":"a","arguments":[1]}</tool>', ["invalid_payload"], id="F14-array"
        ),
        pytest.param(
            '<tool>{"tool_name":"a","arguments":"{}"}</tool>', ["invalid_payload"], id="F14-string"
        ),
        pytest.param(
            '<tool>{"tool_name":"a","arguments":{"n":[1,{"m":null}],"t":"é","f":-0.5}}</tool>',
            [("a", {"n": [1, {"m": None}], "t": "é", "f": -0.5}, "local")],
            id="F17",
        ),
        pytest.param("<notool>{}</notool> <too", ["<notool>{}</notool> <too"], id="F18"),
    ],
)
def test_calls_as_json(text, expected):
    assert short(read(text)) == expected


def test_f5_the_server_reaches_the_call():
    [call, _] = read('<tool>{"server_name":"github","tool_name":"a"}</tool>')
    assert tool_call(call["content"]).server == "github"
    [call, _] = read('<tool>{"tool_name":"a"}</tool>')
    assert tool_call(call["content"]).server is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"Hi {CALL} bye", id="F1"),
        pytest.param('<tool>{"tool_name":"a","arguments":{"c":"x</tool>y"}}</tool>', id="F8"),
        pytest.param(f'one {CALL} two <tool>{{"tool_name":"b"}}</tool> three', id="F9"),
    ],
)
def test_f10_every_split_gives_the_same_events(text):
    whole = short(read(text))
    for at in range(len(text) + 1):
        assert short(read(text[:at], text[at:])) == whole
    assert short(read(*text)) == whole


def test_f11_an_object_that_was_cut_off_is_reported_as_truncated():
    parser = Parser(dialect="forge-json", errors="event")
    parser.feed('<tool>{"tool_name":"a"')
    [error] = parser.finish("length")
    assert error["kind"] == "truncated"


def test_f14_lenient_reading_takes_a_string_that_holds_an_object_for_the_object():
    text = '<tool>{"tool_name":"a","arguments":"{\\"x\\": 1}"}</tool>'
    assert short(read(text, lenient=True)) == [("a", {"x": 1}, "local")]
    assert short(read(text)) == ["invalid_payload"]


@tool
def first(x: int) -> str:
    """Takes a number."""
    return str(x)


@tool
def second() -> str:
    """Takes nothing."""
    return ""


def run(call: ToolCall) -> Any:
    from cogency_rs import Execution

    [result] = asyncio.run(
        execute_tools([call], execution=Execution(tools=[first, second], storage=None))
    )
    return result


def test_f15_the_failure_of_an_unknown_tool_lists_the_tools_in_their_order():
    result = run(ToolCall("nope", {}))
    assert result.error
    assert result.outcome.index("first") < result.outcome.index("second")


def test_f16_arguments_are_checked_against_the_schema_before_the_call_runs():
    result = run(ToolCall("first", {"x": "no"}))
    assert result.error
    assert "x" in result.outcome


def test_f19_a_body_of_100_kb_in_chunks_of_4_is_read():
    text = f'<tool>{{"tool_name":"a","arguments":{{"c":"{"y" * 100_000}"}}}}</tool>'
    chunks = [text[at : at + 4] for at in range(0, len(text), 4)]
    assert short(read(*chunks)) == [("a", {"c": "y" * 100_000}, "local")]


def test_f20_a_call_is_shown_as_soon_as_it_has_a_name_and_arguments():
    parser = Parser(dialect="forge-json", errors="event", calls="stream")
    seen = [
        (event["type"], event.get("name"), event.get("content"))
        for chunk in ('<tool>{"tool', '_name":"a"', ',"arguments":{"x"', ":1}}</tool>")
        for event in parser.feed(chunk)
    ]
    assert seen == [
        ("tool_call_start", "a", None),
        ("tool_call_delta", None, "1"),
        ("call", None, '{"name": "a", "args": {"x": 1}}'),
    ]
    assert [event["type"] for event in read(CALL)] == ["call", "execute"]


def test_f21_the_same_tools_give_the_same_prompt():
    prompts = {system_prompt([first, second], dialect="forge-json") for _ in range(2)}
    assert len(prompts) == 1
    [prompt] = prompts
    assert prompt.index("first") < prompt.index("second")


STRING = {"type": "string"}
INTEGERS = {"type": "array", "items": {"type": "integer"}}
EDITS = {
    "type": "array",
    "items": {"type": "object", "properties": {"search": STRING}},
}


def xml(arguments: str, **properties: Any) -> list[Any]:
    text = f"<tool><tool_name>t</tool_name><arguments>{arguments}</arguments></tool>"
    schema = {"type": "object", "properties": properties}
    events = read(text, dialect="forge-xml", tools=[{"name": "t", "parameters": schema}])
    for at in range(len(text) + 1):
        assert short(
            read(
                text[:at],
                text[at:],
                dialect="forge-xml",
                tools=[{"name": "t", "parameters": schema}],
            )
        ) == short(events)
    return [each[1] if isinstance(each, tuple) else each for each in short(events)]


@pytest.mark.parametrize(
    ("arguments", "properties", "expected"),
    [
        pytest.param("<c>a && b</c>", {"c": STRING}, {"c": "a && b"}, id="X1"),
        pytest.param(
            "<c><![CDATA[x && y]]></c><d>a & b</d>",
            {"c": STRING, "d": STRING},
            {"c": "x && y", "d": "a & b"},
            id="X2",
        ),
        pytest.param("<c><![CDATA[x</tool>y]]></c>", {"c": STRING}, {"c": "x</tool>y"}, id="X3"),
        pytest.param("<c>if a < b</c>", {"c": STRING}, {"c": "if a < b"}, id="X4"),
        pytest.param(
            "<c><![CDATA[a]]]]><![CDATA[>b]]></c>", {"c": STRING}, {"c": "a]]>b"}, id="X5"
        ),
        pytest.param("<c>a&nbsp;b</c>", {"c": STRING}, {"c": "a&nbsp;b"}, id="X6"),
        pytest.param("<e>1</e><e>2</e>", {"e": INTEGERS}, {"e": [1, 2]}, id="X7-siblings"),
        pytest.param("<es><e>1</e></es>", {"es": INTEGERS}, {"es": [1]}, id="X7-wrapper"),
        pytest.param(
            "<edits><edit><search>o</search></edit></edits>",
            {"edits": EDITS},
            {"edits": [{"search": "o"}]},
            id="X8",
        ),
        pytest.param("<c></c>", {"c": STRING}, {"c": ""}, id="X9"),
        pytest.param("<c>\n x\n</c>", {"c": STRING}, {"c": "\n x\n"}, id="X10"),
        pytest.param("<v>true</v>", {"v": STRING}, {"v": "true"}, id="X11-string"),
        pytest.param("<v>true</v>", {"v": {"type": "boolean"}}, {"v": True}, id="X11-boolean"),
        pytest.param("<v>true</v>", {}, {"v": True}, id="X11-unknown"),
    ],
)
def test_arguments_as_xml(arguments, properties, expected):
    assert xml(arguments, **properties) == [expected]


def test_x12_tags_that_do_not_match_are_both_named():
    [error] = read(
        "<tool><tool_name>t</tool_name><arguments><c>1</d></arguments></tool>", dialect="forge-xml"
    )
    assert error["kind"] == "malformed"
    assert "</c>" in error["content"]
    assert "</d>" in error["content"]


def test_x13_text_that_is_not_xml_is_text_unless_json_is_read_too():
    assert short(read("<tool>not xml</tool>", dialect="forge-xml")) == ["<tool>not xml</tool>"]
    assert short(read(CALL, dialect="forge-xml")) == [CALL]
    assert short(read(CALL, dialect=("forge-xml", "forge-json"))) == [("a", {"x": 1}, "local")]


def test_x14_two_blocks_in_one_answer_are_two_calls():
    block = "<tool><tool_name>{}</tool_name></tool>"
    events = read(block.format("a") + " and " + block.format("b"), dialect="forge-xml")
    assert short(events) == [("a", {}, "local"), "and", ("b", {}, "local")]
    assert [event["type"] for event in events].count("execute") == 1


def test_all_blocks_of_an_answer_are_one_batch():
    async def events() -> list[str]:
        text = f'one {CALL} two <tool>{{"tool_name":"b"}}</tool> three'
        return [event["type"] async for event in parse_tokens(text, dialect="forge-json")]

    assert asyncio.run(events()) == ["respond", "call", "respond", "call", "respond", "execute"]
