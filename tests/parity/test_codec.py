"""Calls and results are written and read as cogency does it, also for wrong arguments."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import ToolCall, ToolResult, protocol
from cogency_rs.protocol import parse_tool_call

from . import differences
from .oracle import Raised, cogency, outcome, result_fields, skip_without_cogency
from .recorded import lines
from .strategies import (
    anything,
    bodies,
    call_texts,
    calls,
    json_scalars,
    json_values,
    parity,
    texts,
    words,
)

skip_without_cogency()

wrong = st.sampled_from([None, 5, 1.5, [], {}, (), b"x", b'{"name": "a", "args": {}}', object])
any_text = st.one_of(
    call_texts,
    bodies,
    json_values(raw_controls=True),
    texts,
    st.builds("```json\n{}\n```".format, calls()),
    st.builds("{}{}{}".format, words, calls(), words),
    st.sampled_from(["}{", "{", "}", '{"name": "a", "args": {"x": """b "c" d"""}}']),
    wrong,
)


def theirs(name: str, *args: Any) -> Any:
    return plain(outcome(getattr(cogency("core.codec"), name), *args))


def ours(name: str, *args: Any) -> Any:
    return plain(outcome(getattr(protocol, name), *args))


def plain(value: Any) -> Any:
    """Calls and results by their fields; NaN by its name."""
    if isinstance(value, list):
        return repr([result_fields(each) for each in value])
    if isinstance(value, Raised):
        return value
    if isinstance(value, float):
        return repr(value)
    return repr((value.name, value.args)) if hasattr(value, "args") else value


@parity(300)
@given(any_text)
def test_parse_tool_call(text):
    wanted, found = theirs("parse_tool_call", text), ours("parse_tool_call", text)
    if isinstance(text, str):
        assert found == wanted
    else:
        assert getattr(found, "kind", found) == getattr(wanted, "kind", wanted)


@parity(200)
@given(any_text.filter(lambda text: isinstance(text, str)))
def test_an_error_of_parse_tool_call_keeps_the_text(text):
    def kept(parse: Any) -> Any:
        try:
            parse(text)
        except ValueError as error:
            return error.original_json
        return None

    assert kept(parse_tool_call) == kept(cogency("core.codec").parse_tool_call)


def json_of(value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return "no JSON"


one_result = st.dictionaries(
    st.sampled_from(["outcome", "content", "tool"]), st.one_of(words, words, anything), max_size=3
)
result_texts = st.one_of(
    one_result.map(json_of),
    st.lists(st.one_of(one_result, json_scalars), max_size=3).map(json_of),
)


@parity(300)
@given(st.one_of(any_text, result_texts, result_texts))
def test_parse_tool_result(content):
    wanted, found = theirs("parse_tool_result", content), ours("parse_tool_result", content)
    applies = isinstance(wanted, Raised) and wanted.kind == "ParseError"
    assert applies == differences.result_with_a_wrong_field(content)
    assert found == (Raised("ValueError", wanted.text) if applies else wanted)


@parity(200)
@given(st.one_of(st.builds(ToolCall, anything, anything), wrong))
def test_format_call_agent(call):
    assert ours("format_call_agent", call) == theirs("format_call_agent", call)


@parity(200)
@given(st.one_of(st.builds(ToolResult, anything, anything, st.booleans()), wrong))
def test_format_result_agent(result):
    assert ours("format_result_agent", result) == theirs("format_result_agent", result)


failures = st.builds(ToolResult, anything, anything, st.sampled_from([True, 1, "yes"]))
successes = st.builds(ToolResult, anything, anything, st.sampled_from([False, None, 0, ""]))


@parity(300)
@given(
    st.lists(st.builds(ToolCall, st.one_of(words, anything), st.just({})), max_size=3),
    st.lists(st.one_of(failures, failures, successes), max_size=3),
)
def test_format_results_array(batch, results):
    wanted = theirs("format_results_array", batch, results)
    found = ours("format_results_array", batch, results)
    if len(batch) != len(results):
        assert found == wanted
        return
    names = [call.name for call in batch]
    assert found == outcome(differences.promised_array, names, results)
    applying = [each for each in differences.ARRAYS if each(results)]
    if isinstance(found, str) and not applying:
        assert found == wanted
    elif isinstance(found, str) and applying == [differences.success_with_its_outcome]:
        items = json.loads(found)
        for item in items:
            item.pop("outcome", None)
        assert json.dumps(items) == wanted


@pytest.mark.parametrize("batch", [None, 5, [5], [None]])
@pytest.mark.parametrize("results", [None, 5, [5], [None], []])
def test_format_results_array_of_anything_else(batch, results):
    assert ours("format_results_array", batch, results) == theirs(
        "format_results_array", batch, results
    )


def test_format_results_array_takes_any_iterables():
    for codec in (cogency("core.codec"), protocol):
        made = codec.format_results_array(
            iter([ToolCall("a", {})]), (ToolResult("no", error=True) for _ in "1")
        )
        assert made == '[{"tool": "a", "status": "failure", "content": "no"}]'


schemas = st.one_of(
    st.none(),
    st.dictionaries(
        words,
        st.one_of(
            st.dictionaries(
                st.sampled_from(["required", "type"]), st.one_of(st.booleans(), anything)
            ),
            anything,
        ),
        max_size=3,
    ),
    anything,
)
tools = st.one_of(
    st.builds(SimpleNamespace, name=words, description=words, schema=schemas),
    st.builds(SimpleNamespace, name=words, description=anything),
    st.builds(SimpleNamespace, name=words),
    st.builds(SimpleNamespace),
)


@parity(300)
@given(st.lists(tools, max_size=3), st.sampled_from([list, tuple, iter]))
def test_tool_instructions(listed, given_as):
    if not has_json_schema(listed):
        found = ours("tool_instructions", given_as(listed))
        assert found == theirs("tool_instructions", given_as(listed))


@parity(50)
@given(wrong)
def test_tool_instructions_of_anything_else(listed):
    assert ours("tool_instructions", listed) == theirs("tool_instructions", listed)


def has_json_schema(listed: list[Any]) -> bool:
    return any(differences.tool_with_a_json_schema(tool) for tool in listed)


@parity(100)
@given(st.dictionaries(words, st.booleans(), max_size=4))
def test_a_json_schema_is_listed_as_the_flat_one_is(parameters):
    schema = {
        "type": "object",
        "properties": {key: {"type": "string"} for key in parameters},
        "required": [name for name, required in parameters.items() if required],
    }
    flat = {name: {"required": required} for name, required in parameters.items()}
    described, described_flat = (
        SimpleNamespace(name="t", description="does something", schema=each)
        for each in (schema, flat)
    )
    assert has_json_schema([described])
    assert ours("tool_instructions", [described]) == theirs("tool_instructions", [described_flat])


def test_recorded_calls(recordings):
    for turn in lines(recordings, "agent_turns"):
        for fields in turn["calls"]:
            call = ToolCall(fields["name"], fields["args"])
            text = ours("format_call_agent", call)
            assert text == theirs("format_call_agent", call)
            assert ours("parse_tool_call", text) == theirs("parse_tool_call", text)
