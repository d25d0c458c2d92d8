"""`Dialect` as a value: names, fields, equality; and parsing with it: tools, modes, and answers that were cut."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from cogency_rs import Accumulator, Dialect, Execution, Parser, SQLite, ToolCall, parse_tokens
from cogency_rs._core import ToolSchemas
from cogency_rs.errors import ConfigError
from support.call_examples import in_block
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


@pytest.mark.parametrize("name", ["", "no such \N{SNOWMAN}", "\ud800"])
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
    other = in_block(dialect, "<call>{call}")
    assert other != dialect
    assert other.name == dialect.name
    assert len({dialect, other, Dialect("hermes")}) == 2
    assert dialect != "hermes"


def test_replacing_changes_only_the_named_fields():
    dialect = Dialect("hermes")
    before = dialect.to_dict()
    other = in_block(dialect, "<call>{call}</call>")
    assert dialect.to_dict() == before
    # The words of the models' template show other marks.
    prompt = before["prompt"] | {"wording": None}
    calls = [before["calls"][0] | {"block": "<call>{call}</call>"}]
    assert other.to_dict() == before | {"calls": calls, "prompt": prompt}
    assert dialect.replace(models="mine").to_dict() == before | {"models": "mine"}
    text = '<call>{"name": "a", "arguments": {}}</call>'
    assert [arguments(text, dialect=each) for each in (dialect, other)] == [[], [{}]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"opens": []}, "unknown field `opens`"),
        ({"stop": [""]}, r"stop\[0\]: must not be empty"),
        ({"stop": "<call>"}, "stop: invalid type: string .*, expected a sequence"),
        ({"reasoning": ["<t>"]}, r"reasoning\[0\]: must have \{\} once"),
        ({"calls": [{"call": 1}]}, r"calls\[0\]\.call: must be a text or an object"),
        (
            {"calls": [{"call": "<a>{name}"}]},
            r"calls\[0\]\.call: must have the placeholder \{args\}",
        ),
        ({"name": ""}, "name: must not be empty"),
        ({"calls": [], "unmarked": "anywhere"}, "calls: must not be empty"),
        ({"calls": ["yaml"]}, r"calls\[0\]: invalid type: string .*, expected an object"),
        ({"batch": "never"}, "batch: unknown variant `never`"),
        ({"reasoning": ["{}x"]}, r"reasoning\[0\]: must not be empty"),
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
    (opens, closes), ends = Dialect(name).call_marks(), fields["turn_end"]
    # A mark that begins or closes a call does not end the turn.
    may_stop = [end for end in ends if not any(mark.startswith(end) for mark in opens)]
    assert bool(may_stop) <= bool(fields["stop"])
    assert not set(fields["stop"]) & {*opens, *closes} - set(ends)


WITHOUT_STOPS = {"forge-json", "forge-xml"}
"""Any model may write them, so no mark is sure to end a turn; and their results begin with plain words, not a mark."""


def test_every_preset_but_those_without_an_end_mark_has_a_stop_string():
    assert {name for name in Dialect.presets() if not Dialect(name).stop} == WITHOUT_STOPS


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
def test_the_stop_strings_of_presets_that_differ(name, expected):
    assert Dialect(name).stop == expected


# Several dialects at once.


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
        ((("hermes",),), TypeError, "dialect"),
        ({"hermes"}, TypeError, "dialect"),
    ],
)
def test_anything_but_a_dialect_is_refused(dialect, error, message):
    with pytest.raises(error, match=message):
        Parser(dialect=dialect)


def test_none_stands_for_the_default_dialect():
    text = 'So.<execute>[{"name": "t", "args": {}}]</execute>'
    assert read([text], dialect=None) == read([text])


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
def test_the_schema_of_a_tool_gives_a_raw_value_its_type(form):
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


K2 = ("</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>")
HUNYUAN = ("</think:opensource>", "</think>")


@pytest.mark.parametrize(
    ("dialect", "close"),
    [("k2-horizon", close) for close in K2] + [("hunyuan-v3", close) for close in HUNYUAN],
)
def test_the_closing_mark_of_any_pair_ends_the_reasoning_that_the_prompt_opened(dialect, close):
    options = {"dialect": dialect, "begins_in_think": True}
    text = f"a{close}b"
    assert read([text], **options) == [("think", "a"), ("respond", "b")]
    assert read(list(text), **options) == [("think", "a"), ("respond", "b")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Reasoning in it has a closing mark of its own.
        (
            "a<ifm|think_fast>b</ifm|think_fast>c</ifm|think>d",
            [("think", "a<ifm|think_fast>b</ifm|think_fast>c"), ("respond", "d")],
        ),
        # The model opens it again, and says which it is.
        (
            "<ifm|think_fast>a</ifm|think>b</ifm|think_fast>c",
            [("think", "a</ifm|think>b"), ("respond", "c")],
        ),
    ],
)
def test_reasoning_that_the_model_opens_ends_with_its_own_mark(text, expected):
    options = {"dialect": "k2-horizon", "begins_in_think": True}
    assert read([text], **options) == expected
    assert read(list(text), **options) == expected


@pytest.mark.parametrize(
    ("dialect", "mark"),
    [
        ("k2-horizon", "ifm|think"),
        ("k2-horizon", "ifm|think_fast"),
        ("k2-horizon", "ifm|think_faster"),
        ("hunyuan-v3", "think:opensource"),
        ("hunyuan-v4", "think:opensource"),
        ("longcat", "longcat_think"),
        # For any model; most that reason do so between these.
        ("json-plain", "think"),
    ],
)
def test_a_model_reasons_between_marks_of_its_own(dialect, mark):
    call = Dialect(dialect).write_calls([ToolCall("read", {"file": "a"})])
    events = read([f"<{mark}>Not yet: {call}</{mark}>{call}"], dialect=dialect)
    assert [kind for kind, _ in events] == ["think", "call", "execute"]


def test_a_decision_may_follow_reasoning():
    call = Dialect("react-json").write_calls([ToolCall("read", {"file": "a"})])
    events = read([f"<think>Not yet: {call}</think>\n{call}"], dialect="react-json")
    assert [kind for kind, _ in events] == ["think", "call", "execute"]
    assert events[0] == ("think", f"Not yet: {call}")


# The forms of one model.


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (
            "hunyuan-v3",
            "<tool_calls{0}>\n<tool_call{0}>read<tool_sep{0}>\n<arg_key{0}>file</arg_key{0}>\n"
            "<arg_value{0}>a</arg_value{0}>\n</tool_call{0}>\n</tool_calls{0}>",
        ),
        (
            "hunyuan-v4",
            "<tool_calls{0}><tool_call{0}>read<arg_key{0}>file</arg_key{0}>"
            "<arg_value{0}>a</arg_value{0}></tool_call{0}></tool_calls{0}>",
        ),
    ],
)
@pytest.mark.parametrize("suffix", [":opensource", ""])
def test_hunyuan_s_tags_may_have_the_suffix_of_the_released_models(dialect, text, suffix):
    assert arguments(text.format(suffix), dialect=dialect) == [{"file": "a"}]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "read", "arguments": {"file": "a"}}',
        "read\n<longcat_arg_key>file</longcat_arg_key>\n<longcat_arg_value>a</longcat_arg_value>\n",
        "read<longcat_arg_key>file</longcat_arg_key><longcat_arg_value>a</longcat_arg_value>",
    ],
)
def test_longcat_writes_json_or_pairs_of_tags(text):
    block = f"<longcat_tool_call>{text}</longcat_tool_call>"
    assert arguments(block * 2, dialect="longcat") == [{"file": "a"}] * 2


# A call that was cut.


@pytest.mark.parametrize(
    ("reason", "kinds"),
    [("stop", ["call", "execute"]), (None, ["call", "execute"]), ("length", ["error"])],
)
@pytest.mark.parametrize("trailing", ["", " \n", "<|ca"])
def test_a_call_without_its_end_mark_runs_unless_the_answer_was_cut(trailing, reason, kinds):
    parser = Parser(dialect="harmony", errors="event")
    text = '<|channel|>commentary to=functions.read<|message|>{"file": "a"}' + trailing
    events = [*parser.feed(text), *parser.finish(*[reason] if reason else [])]
    assert [event["type"] for event in events] == kinds


def test_the_values_of_a_call_without_its_end_mark_are_shown_before_it():
    parser = Parser(dialect="harmony", calls="stream")
    text = '<|channel|>commentary to=functions.read<|message|>{"file": "a", "line": 7}<|ca'
    events = [*parser.feed(text), *parser.finish()]
    assert [event["type"] for event in events[:3]] == ["tool_call_start", *["tool_call_delta"] * 2]
    assert [event.get("content") for event in events[1:3]] == ["a", "7"]


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
