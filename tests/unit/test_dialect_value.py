"""`Dialect` as a value: names, fields, equality; and parsing with it: tools, modes, and how a text ended."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from cogency_rs import (
    Accumulator,
    ConfigError,
    Dialect,
    Execution,
    Parser,
    SQLite,
    ToolCall,
    parse_tokens,
)
from cogency_rs._core import ToolSchemas
from support.outlines import Outline, read, runs
from support.tools import FunctionTool, nothing

each_preset = pytest.mark.parametrize("name", Dialect.presets())

SCHEMA = {
    "type": "object",
    "properties": {"lines": {"type": "integer"}, "file": {"type": "string"}},
}
FLAT = {"lines": {"type": "integer"}, "file": {"type": "string"}}

RAW = (
    "<tool_call>\n<function=read>\n<parameter=file>\n1\n</parameter>\n"
    "<parameter=lines>\n20\n</parameter>\n</function>\n</tool_call>"
)
"""A call in `qwen3-coder`, whose values are raw text."""

TEXTS = {
    "hermes": (
        '<think>hm</think>One file. <tool_call>{"name": "read", "arguments": {"file": "a"}}</tool_call> Done.'
    ),
    "qwen3-coder": f"<think>hm</think>One file. {RAW} Done.",
    "llama3-json": '<|python_tag|>{"name": "read", "parameters": {"file": "a"}} Done.',
    "harmony": (
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>One file.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>"
        '{"file": "a"}<|call|>'
    ),
    "react": "Thought: hm\nOne file.\nAction: read\nAction Input: a",
}
"""A turn in a few dialects that differ much."""


def arguments(text: str, **options: Any) -> list[dict[str, Any]]:
    return [
        json.loads(content or "")["args"]
        for kind, content in read([text], **options)
        if kind == "call"
    ]


# The value.


@each_preset
def test_a_preset_is_found_by_its_name(name):
    dialect = Dialect(name)
    assert (dialect.name, repr(dialect)) == (name, f'Dialect("{name}")')


@pytest.mark.parametrize("name", ["", "Hermes", "qwen3", "no such \N{SNOWMAN}"])
@pytest.mark.parametrize(
    "use",
    [
        Dialect,
        lambda name: Parser(dialect=name),
        lambda name: Parser(dialect=("hermes", name)),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_presets(use, name):
    with pytest.raises(ConfigError, match="there is no dialect") as raised:
        use(name)
    message = str(raised.value)
    assert "\n" not in message
    assert all(known in message for known in Dialect.presets())


@each_preset
def test_equal_fields_make_equal_dialects(name):
    dialect = Dialect(name)
    for other in (
        Dialect(name),
        Dialect.from_dict(dialect.to_dict()),
        dialect.replace(),
        copy.copy(dialect),
        copy.deepcopy(dialect),
        pickle.loads(pickle.dumps(dialect)),
    ):
        assert other == dialect
        assert hash(other) == hash(dialect)
        assert {dialect: 1}[other] == 1


def test_other_fields_make_another_dialect_of_the_same_name():
    dialect = Dialect("hermes")
    other = dialect.replace(open=["<call>"])
    assert other != dialect
    assert other.name == dialect.name
    assert len({dialect, other, Dialect("hermes")}) == 2
    assert dialect != "hermes"


def test_replacing_changes_only_the_named_fields():
    dialect = Dialect("hermes")
    before = dialect.to_dict()
    other = dialect.replace(open=["<call>"], close=["</call>"])
    assert dialect.to_dict() == before
    assert other.to_dict() == before | {"open": ["<call>"], "close": ["</call>"]}
    text = '<call>{"name": "a", "arguments": {}}</call>'
    assert [arguments(text, dialect=each) for each in (dialect, other)] == [[], [{}]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"opens": []}, "unknown field `opens`"),
        ({"open": [""]}, "a mark in open must not be empty"),
        ({"open": "<call>"}, "invalid type"),
        ({"name": ""}, "name must not be empty"),
        ({"bodies": []}, "bodies must not be empty"),
        ({"bodies": ["yaml"]}, "unknown variant `yaml`"),
        ({"batch": "never"}, "unknown variant `never`"),
        ({"reasoning": [{"open": "", "close": "x"}]}, "the first mark of a pair in reasoning"),
    ],
)
def test_a_wrong_field_is_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        Dialect("hermes").replace(**changes)


def test_a_dialect_cannot_be_changed():
    with pytest.raises(AttributeError):
        Dialect("hermes").name = "mine"  # type: ignore[misc]


@each_preset
def test_a_server_stops_where_the_model_s_turn_ends_and_never_at_a_call(name):
    fields = Dialect(name).to_dict()
    opens, closes, ends = (fields[key] for key in ("open", "close", "turn_end"))
    # A mark that begins or closes a call does not end the turn.
    may_stop = [end for end in ends if not any(mark.startswith(end) for mark in opens)]
    assert bool(may_stop) <= bool(fields["stop"])
    assert not set(fields["stop"]) & {*opens, *closes} - set(ends)


WITHOUT_STOPS = dict.fromkeys(
    ("forge-json", "forge-xml"),
    "any model may write it, so it ends no turn; its results begin with plain words",
)


def test_every_preset_but_those_without_an_end_mark_has_a_stop_string():
    assert {name for name in Dialect.presets() if not Dialect(name).stop} == set(WITHOUT_STOPS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gigachat3", ["</s>"]),
        ("xlam", ["<|im_end|>", "<|eot_id|>"]),
        ("hunyuan-v3", ["<\uff5chy_eos:opensource\uff5c>"]),
        ("hunyuan-v4", ["<\uff5chy_eos:opensource\uff5c>"]),
        ("k2-horizon", ["<|ifm|im_end|>"]),
        ("dots", ["<|endofresponse|>"]),
        ("json-plain", ["<tool_response>"]),
    ],
)
def test_the_stop_strings_of_each_preset(name, expected):
    assert Dialect(name).stop == expected


# Several at once.


def test_with_two_dialects_each_block_is_read_in_its_own():
    pair = ("forge-xml", Dialect("forge-json"))
    xml = "<tool><tool_name>a</tool_name><arguments><x>1</x></arguments></tool>"
    plain = '<tool>{"tool_name": "a", "arguments": {"x": 2}}</tool>'
    for dialect in (pair, list(pair), pair[::-1]):
        assert arguments(xml + plain, dialect=dialect) == [{"x": 1}, {"x": 2}]


@pytest.mark.parametrize(
    ("dialect", "error", "message"),
    [
        ((), ConfigError, "at least one"),
        (3, TypeError, "dialect"),
        (None, None, ""),
        ((("hermes",),), TypeError, "dialect"),
        ({"hermes"}, TypeError, "dialect"),
    ],
)
def test_anything_but_a_dialect_is_refused(dialect, error, message):
    if error is None:
        assert Parser(dialect=dialect) is not None
        return
    with pytest.raises(error, match=message):
        Parser(dialect=dialect)


# The tools.

FORMS = {
    "a tool": FunctionTool("read", nothing, "", SCHEMA),
    "a tool with a flat schema": FunctionTool("read", nothing, "", FLAT),
    "as a provider takes it": {
        "type": "function",
        "function": {"name": "read", "parameters": SCHEMA},
    },
    "a function alone": {"name": "read", "parameters": SCHEMA},
    "with another key": {"name": "read", "input_schema": SCHEMA},
    "as MCP lists it": {"name": "read", "inputSchema": SCHEMA},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_schema_of_a_tool_says_of_what_type_a_raw_value_is(form):
    tools = [FORMS[form]]
    for given in (tools, tuple(tools), ToolSchemas(tools)):
        assert arguments(RAW, dialect="qwen3-coder", tools=given) == [{"file": "1", "lines": 20}]


@pytest.mark.parametrize("tools", [None, [], [{"name": "write", "parameters": SCHEMA}]])
def test_without_a_schema_a_raw_value_is_text(tools):
    assert arguments(RAW, dialect="qwen3-coder", tools=tools) == [{"file": "1", "lines": "20"}]


def test_a_raw_value_that_does_not_fit_its_schema_stays_text():
    tools = [{"name": "read", "parameters": SCHEMA}]
    [args] = arguments(RAW.replace("20", "twenty"), dialect="qwen3-coder", tools=tools)
    assert args["lines"] == "twenty"


@pytest.mark.parametrize("tools", [[3], [{}], [{"function": {}}], 5])
def test_anything_but_a_tool_is_refused(tools):
    with pytest.raises(TypeError):
        Parser(dialect="qwen3-coder", tools=tools)


# Token mode, and reasoning.


@pytest.mark.parametrize("name", TEXTS)
def test_token_mode_has_the_same_text_as_event_mode(name):
    text, options = TEXTS[name], {"dialect": name, "errors": "event"}
    whole = without_ends(runs(read([text], **options)))
    assert [kind for kind, _ in whole].count("call") == 1
    for chunks in ([text], list(text), [text[at : at + 3] for at in range(0, len(text), 3)]):
        assert without_ends(runs(read(chunks, stream="token", **options))) == whole


def without_ends(outline: list[Outline]) -> list[Outline]:
    """Token mode emits white space as it arrives; at both ends of a text it has no meaning."""
    return [(kind, content and content.strip()) for kind, content in outline]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>b", [("think", "a"), ("respond", "b")]),
        (" \n<think>a</think>b", [("think", "a"), ("respond", "b")]),
        ("a</think>b", [("think", "a"), ("respond", "b")]),
        ("<think><think>a</think>b", [("think", "<think>a"), ("respond", "b")]),
        ("a<think></think>b", [("think", "a<think>"), ("respond", "b")]),
    ],
)
def test_if_the_prompt_opened_the_reasoning_a_second_opening_mark_is_skipped(text, expected):
    options = {"dialect": "hermes", "begins_in_think": True}
    assert read([text], **options) == expected
    assert read(list(text), **options) == expected


# A call that was cut.


@pytest.mark.parametrize(
    ("reason", "kinds"),
    [("stop", ["call", "execute"]), (None, ["call", "execute"]), ("length", ["error"])],
)
@pytest.mark.parametrize("behind", ["", " \n", "<|ca"])
def test_a_message_without_its_end_runs_unless_it_was_cut(behind, reason, kinds):
    parser = Parser(dialect="harmony", errors="event")
    text = '<|channel|>commentary to=functions.read<|message|>{"file": "a"}' + behind
    events = [*parser.feed(text), *parser.finish(*[reason] if reason else [])]
    assert [event["type"] for event in events] == kinds


# A turn.


async def test_pieces_of_a_call_are_passed_on_and_not_saved():
    async with SQLite(":memory:") as storage:
        tool = FunctionTool("read", nothing, "", FLAT)
        turn = Accumulator("ada", "talk", execution=Execution(storage=storage, tools=[tool]))
        text = Dialect("hermes").write_calls([ToolCall("read", {"file": "a"})])
        chunks = parse_tokens(text, dialect="hermes", calls="stream")
        kinds = [event["type"] async for event in turn.process(chunks)]
        rows = await storage.load_messages("talk", "ada")
    assert kinds[0] == "tool_call_start"
    assert "tool_call_delta" in kinds
    assert [kind for kind in kinds if not kind.startswith("tool_call_")] == [
        "call",
        "execute",
        "result",
    ]
    assert [row["type"] for row in rows] == ["call", "result"]
