"""The codec: writes one call or result as text, reads it back, and reports what it cannot read or write."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, UserDict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from cogency_rs import ToolCall, ToolResult
from cogency_rs.errors import ToolParseError
from cogency_rs.protocol import (
    format_call_agent,
    format_result_agent,
    format_results_array,
    parse_tool_call,
    parse_tool_result,
    tool_instructions,
)
from support.ids import shown
from support.tools import FunctionTool, nothing

DEEP = "[" * 100_000 + "]" * 100_000


def tool(name: str, schema: Any = None, description: str = "does something") -> FunctionTool:
    return FunctionTool(name, nothing, description, schema or {})


# Calls to text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (ToolCall("read", {}), '{"name": "read", "args": {}}'),
        (ToolCall("read", {"b": 1, "a": [True, None]}), '{"name": "read", "args": {"b": 1, "a": [true, null]}}'),
        (ToolCall("é", {"s": '"\n</execute>'}), '{"name": "\\u00e9", "args": {"s": "\\"\\n</execute>"}}'),
        (ToolCall("", {"n": math.nan, "i": 10**20}), '{"name": "", "args": {"n": NaN, "i": 100000000000000000000}}'),
        (ToolCall("t", {"s": "\ud83d😀"}), '{"name": "t", "args": {"s": "\\ud83d\\ud83d\\ude00"}}'),
    ],
)  # fmt: skip
def test_a_call_is_written_as_the_log_holds_it(call, text):
    assert format_call_agent(call) == text


@pytest.mark.parametrize("call", [ToolCall("t", {"x": {1}}), ToolCall("t", {"x": b""})], ids=repr)
def test_a_call_that_json_cannot_hold_is_a_type_error(call):
    with pytest.raises(TypeError):
        format_call_agent(call)


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("read", {"file": "a"}),
        ToolCall("", {}),
        ToolCall("t", {"s": '</execute> "{}" \\ é 日 😀 \ud83d \0 \n'}),
        ToolCall("t", {"n": [0, -1, 1.5, 10**30, None, True, {"": {}}]}),
    ],
    ids=lambda call: call.name,
)
def test_a_call_that_is_written_and_read_back_is_unchanged(call):
    assert parse_tool_call(format_call_agent(call)) == call


# Calls from text


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('{"name": "read", "args": {"file": "a"}}', ToolCall("read", {"file": "a"})),
        ('{"name": "read"}', ToolCall("read", {})),
        ('{"args": {}, "id": 7, "name": "read"}', ToolCall("read", {})),
        (' \n{"name": "read"}\t ', ToolCall("read", {})),
        ('I call {"name": "read"} now.', ToolCall("read", {})),
        ('```json\n{"name": "read", "args": {}}\n```', ToolCall("read", {})),
        ('[{"name": "read"}]', ToolCall("read", {})),
        ('{"name": "read", "args": {"s": """a"""}}', ToolCall("read", {"s": "a"})),
        ('{"name": "read", "args": {"s": """"""}}', ToolCall("read", {"s": ""})),
        ('{"name": """read""", "args": {"s": """a b"""}}', ToolCall("read", {"s": "a b"})),
        ('{"name": "read", "args": {"s": """a\\nb"""}}', ToolCall("read", {"s": "a\nb"})),
        ('{"name": "read", "name": "write"}', ToolCall("write", {})),
        ('{"name": "read", "args": {"n": Infinity}}', ToolCall("read", {"n": math.inf})),
        ('{"name": "read", "args": {"s": "}"}}', ToolCall("read", {"s": "}"})),
        ('{"name": "\\u00e9\\ud83d", "args": {}}', ToolCall("é\ud83d", {})),
    ],
)
def test_a_call_is_read_leniently(text, call):
    assert parse_tool_call(text) == call


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "JSON parse failed: "),
        ("nonsense", "JSON parse failed: "),
        ("{", "JSON parse failed: "),
        ("} {", "JSON parse failed: "),
        ('{"name": "read"', "JSON parse failed: "),
        ('{"name": "read"} and {"name": "write"}', "JSON parse failed: "),
        ('{"name": "read", "args": {"s": "a\nb"}}', "JSON parse failed: "),
        ('{"name": "read", "args": {"s": """a\nb"""}}', "JSON parse failed: "),
        ('{"name": "read", "args": {"s": """a "quoted" b"""}}', "JSON parse failed: "),
        ("{'name': 'read'}", "JSON parse failed: "),
        ("5", "Expected dict, got int"),
        ("[]", "Expected dict, got list"),
        ("null", "Expected dict, got NoneType"),
        ('"read"', "Expected dict, got str"),
        ("{}", "Field 'name' must be str, got NoneType"),
        ('{"name": null}', "Field 'name' must be str, got NoneType"),
        ('{"name": 5}', "Field 'name' must be str, got int"),
        ('{"name": ["read"]}', "Field 'name' must be str, got list"),
        ('{"name": "read", "args": null}', "Field 'args' must be dict, got NoneType"),
        ('{"name": "read", "args": []}', "Field 'args' must be dict, got list"),
        ('{"name": "read", "args": "{}"}', "Field 'args' must be dict, got str"),
        (f'{{"name": "read", "args": {{"x": {DEEP}}}}}', ""),
        (f'{{"name": "read", "args": {{"x": {"7" * 5000}}}}}', ""),
    ],
    ids=lambda value: value[:40],
)
def test_text_that_is_not_a_call_is_a_parse_error_that_says_why(text, message):
    with pytest.raises(ToolParseError) as caught:
        parse_tool_call(text)
    assert str(caught.value).startswith(message)


def test_a_parse_error_is_a_value_error_and_keeps_the_text():
    with pytest.raises(ValueError, match="JSON parse failed") as caught:
        parse_tool_call("I call {name: read} now.")
    assert caught.value.original_json == "{name: read}"


def test_a_parse_error_keeps_its_cause():
    with pytest.raises(ToolParseError) as caught:
        parse_tool_call("{")
    assert isinstance(caught.value.__cause__, json.JSONDecodeError)


# Results to text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult("ok", "a\nb"), "ok\na\nb"),
        (ToolResult("ok"), "ok"),
        (ToolResult("ok", ""), "ok"),
        (ToolResult("ok", {"a": 1}), "ok\n{'a': 1}"),
        (ToolResult("ok", 5), "ok\n5"),
        (ToolResult("no", error=True), "no"),
        (ToolResult("no", "details", error=True), "no\ndetails"),
        (ToolResult(""), ""),
    ],
    ids=repr,
)
def test_a_result_as_plain_text(result, text):
    assert format_result_agent(result) == text


@pytest.mark.parametrize(
    ("result", "item"),
    [
        (ToolResult("ok", "text"), {"status": "success", "outcome": "ok", "content": "text"}),
        (ToolResult("ok", [1, {}]), {"status": "success", "outcome": "ok", "content": [1, {}]}),
        (ToolResult("ok", 0), {"status": "success", "outcome": "ok", "content": 0}),
        (ToolResult("ok", False), {"status": "success", "outcome": "ok", "content": False}),
        (ToolResult("ok", []), {"status": "success", "outcome": "ok", "content": []}),
        (ToolResult("ok", {}), {"status": "success", "outcome": "ok", "content": {}}),
        (ToolResult("ok", None), {"status": "success", "content": "ok"}),
        (ToolResult("ok", ""), {"status": "success", "content": "ok"}),
        (ToolResult("Success", 0), {"status": "success", "content": 0}),
        (ToolResult("Success", None), {"status": "success", "content": "Success"}),
        (ToolResult("", "text"), {"status": "success", "content": "text"}),
        (ToolResult("", ""), {"status": "success", "content": ""}),
        (ToolResult({"rows": 3}, "text"), {"status": "success", "outcome": {"rows": 3}, "content": "text"}),
        (ToolResult({"rows": 3}), {"status": "success", "content": {"rows": 3}}),
        (ToolResult("no", "details", error=True), {"status": "failure", "content": "no"}),
        (ToolResult("é\n\ud83d", "日"), {"status": "success", "outcome": "é\n\ud83d", "content": "日"}),
    ],
    ids=repr,
)  # fmt: skip
def test_an_item_of_the_results_array(result, item):
    expected = json.dumps([{"tool": "t", **item}])
    assert format_results_array([ToolCall("t", {})], [result]) == expected


def test_the_results_array_is_in_call_order():
    calls = [ToolCall(name, {}) for name in ("a", 'b"', "é")]
    results = [ToolResult("1"), ToolResult("2", error=True), ToolResult("3")]
    array = json.loads(format_results_array(calls, results))
    assert [(item["tool"], item["status"]) for item in array] == [
        ("a", "success"),
        ('b"', "failure"),
        ("é", "success"),
    ]


def test_without_results_the_array_is_empty():
    assert format_results_array([], []) == "[]"


def test_results_may_be_of_another_class():
    @dataclass
    class Result:
        outcome: str = "ok"
        content: str = "text"
        error: bool = False

    calls = [SimpleNamespace(name="t", args={})]
    assert json.loads(format_results_array(calls, [Result()]))[0]["content"] == "text"


@pytest.mark.parametrize(("calls", "results"), [(1, 0), (0, 1), (2, 1), (1, 2)])
def test_a_result_for_each_call_is_needed(calls, results):
    with pytest.raises(ValueError, match="zip"):
        format_results_array([ToolCall("t", {})] * calls, [ToolResult("ok")] * results)


@pytest.mark.parametrize("content", [{1}, b"", object(), [object()]], ids=shown)
def test_content_that_json_cannot_hold_is_a_type_error(content):
    with pytest.raises(TypeError):
        format_results_array([ToolCall("t", {})], [ToolResult("ok", content)])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (math.nan, "JSON has no NaN"),
        ([0, {"a": -math.inf}], 'JSON has no -Infinity, but [1]["a"] is one'),
        (OrderedDict(a=math.nan), "JSON has no NaN or Infinity, but it holds one"),
    ],
    ids=repr,
)
def test_a_number_that_json_does_not_have_is_a_value_error_that_says_where_it_is(content, words):
    calls, results = [ToolCall("a", {}), ToolCall("t", {})], [ToolResult("ok")]
    for result in (ToolResult("ok", content), ToolResult(content), ToolResult(content, error=True)):
        with pytest.raises(ValueError, match="is not a JSON value") as raised:
            format_results_array(calls, [*results, result])
        assert str(raised.value) == f'a result of "t" is not a JSON value: {words}'


# Results from text


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ('{"outcome": "ok", "content": "text"}', [ToolResult("ok", "text")]),
        ('{"outcome": "ok"}', [ToolResult("ok", "")]),
        ('{"content": "text"}', [ToolResult("", "text")]),
        ("{}", [ToolResult("", "")]),
        ('{"outcome": null, "content": null}', [ToolResult("", "")]),
        ('{"outcome": "no", "error": true}', [ToolResult("no", "")]),
        ('[{"outcome": "a"}, {"outcome": "b", "content": "c"}]', [ToolResult("a", ""), ToolResult("b", "c")]),
        ('[{"outcome": "a"}, 5, null, "b", ["c"]]', [ToolResult("a", "")]),
        ("[]", []),
        ("plain text", [ToolResult("plain text", "")]),
        ("", [ToolResult("", "")]),
        ('{"outcome": ', [ToolResult('{"outcome": ', "")]),
        ('"text"', [ToolResult('"text"', "")]),
        ("5", [ToolResult("5", "")]),
        ("null", [ToolResult("null", "")]),
        (' {"outcome": "ok"} ', [ToolResult("ok", "")]),
    ],
)  # fmt: skip
def test_results_are_read_from_text(text, results):
    assert parse_tool_result(text) == results


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"outcome": 5}', "Field 'outcome' must be str, got int"),
        ('{"outcome": "ok", "content": {"a": 1}}', "Field 'content' must be str, got dict"),
        ('[{"outcome": "ok"}, {"content": []}]', "Field 'content' must be str, got list"),
        ('{"outcome": false}', "Field 'outcome' must be str, got bool"),
    ],
)
def test_a_field_that_is_not_a_string_is_a_value_error_that_names_it(text, message):
    with pytest.raises(ValueError, match=message):
        parse_tool_result(text)


# The list of tools in a prompt


@pytest.mark.parametrize(
    ("schema", "parameters"),
    [
        ({}, ""),
        (None, ""),
        ({"file": {}}, "file"),
        ({"file": {"required": True}}, "file"),
        ({"file": {"required": False}}, "file?"),
        ({"b": {}, "a": {"required": False}, "c": {"type": "integer"}}, "b, a?, c"),
    ],
    ids=repr,
)
def test_a_tool_is_listed_in_one_line(schema, parameters):
    listed = FunctionTool("read", nothing, "Reads a file.", schema)
    assert tool_instructions([listed]) == f"TOOLS:\nread({parameters}) - Reads a file."


def test_tools_are_listed_in_their_order():
    assert tool_instructions(iter([tool("b"), tool("a")])) == (
        "TOOLS:\nb() - does something\na() - does something"
    )


def test_without_tools_the_list_is_empty():
    assert tool_instructions([]) == "TOOLS:\n"


def test_a_tool_without_a_schema_has_no_parameters():
    bare = SimpleNamespace(name="now", description="Tells the time.")
    assert tool_instructions([bare]) == "TOOLS:\nnow() - Tells the time."


def test_a_schema_may_be_any_mapping():
    listed = FunctionTool("read", nothing, "Reads.", UserDict({"file": {"required": False}}))
    assert tool_instructions([listed]) == "TOOLS:\nread(file?) - Reads."
