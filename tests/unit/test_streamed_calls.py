"""Calls while they are written: what the pieces add up to, how long a reader is silent, how an answer breaks off."""

import json
import random
from itertools import pairwise

import pytest

from cogency_rs import Agent, Dialect, Parser, ToolCall, parse_tokens, tool
from cogency_rs.models import Finish, TextDelta, ToolCallDelta
from cogency_rs.reader import ChatReader
from cogency_rs.testing import ScriptedModel
from support.call_examples import marks_of
from support.turns import Chunks
from tools.silence import PAGE, SHAPES, TOOLS, watched

NAMES = sorted(Dialect.presets())

UNTOLD = {
    # Whether an element is an object, an array, a text or one item of several is told by what is in it and after it.
    ("forge-xml", "nested"),
    ("forge-xml", "an array"),
    ("minimax-m3", "nested"),
    ("minimax-m3", "an array"),
}
"""Where an argument cannot be told before its end."""

HEADS = 256  # characters: no mark, head of a call or key is longer in these texts
HELD = 64


def written(name, calls):
    return Dialect(name).write_calls(calls, tools=TOOLS)


def joined(deltas):
    """The names and arguments of the calls in deltas, the other text, and whether the answer broke off."""
    calls, text, is_broken = [], "", False
    for delta in deltas:
        assert not is_broken, f"{delta} follows the end"
        is_broken = "error" in delta
        text += delta.get("content") or ""
        for piece in delta.get("tool_calls", ()):
            function = piece["function"]
            if "name" in function:
                assert piece["index"] == len(calls)
                assert piece["id"]
                calls.append([function["name"], ""])
            calls[piece["index"]][1] += function["arguments"]
    return calls, text, is_broken


def fed(reader, chunks, reason="stop"):
    deltas = [delta for chunk in chunks for delta in reader.feed(chunk)]
    last, finish = reader.finish(reason)
    return joined([*deltas, *last]), finish


def whole(reader, text, reason="stop"):
    message = reader.read(text, reason)
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return [[each["name"], each["arguments"]] for each in functions], message["content"] or ""


ROWS = {row.split("`")[1]: row for row in PAGE.read_text().splitlines() if row.startswith("| `")}
"""The rows of the page's table, by dialect."""


@pytest.mark.parametrize("name", NAMES)
def test_pieces_add_up_and_come_as_they_are_written(name):
    row = [name]
    for shape, expected in SHAPES.items():
        text = written(name, expected)
        deltas, longest = watched(ChatReader(name, TOOLS, calls="stream"), text)
        calls, content, is_broken = joined(deltas)
        assert ((calls, content), is_broken) == (whole(ChatReader(name, TOOLS), text), False)
        assert [(called, json.loads(args)) for called, args in calls] == [
            (call.name, call.args) for call in expected
        ]
        assert longest <= HEADS or (name, shape) in UNTOLD
        row.append(longest)
    assert ROWS[name] == "| `{}` | {} | {} | {} | {} | {} |".format(*row), (
        "run: python tools/silence.py"
    )


@pytest.mark.parametrize("name", NAMES)
def test_at_most_a_few_characters_of_a_string_are_held_back(name):
    text = written(name, SHAPES["one long string"])
    reader, seen, most = ChatReader(name, TOOLS, calls="stream"), 0, 0
    start = text.index("def greet")
    end = text.rindex("'ü'") if "'ü'" in text else text.rindex("]")
    for at, character in enumerate(text, 1):
        if reader.feed(character):
            seen = at
        if start + HELD < at < end:
            most = max(most, at - seen)
    assert most <= HELD


def damaged(draw, text):
    kind, at = draw.random(), draw.randrange(len(text))
    if kind < 0.4:
        return text
    if kind < 0.6:
        return text[:at]
    marks = ('"', "}", "{", "\\", "<", "\n", "</parameter>", "&", "]]>", "\u2060", ", ", "'")
    return text[:at] + draw.choice(marks) + text[at + draw.randrange(3) :]


@pytest.mark.parametrize("name", NAMES)
def test_damaged_texts_add_up_or_break_off_whatever_the_cuts_are(name):
    draw = random.Random(name)
    values = (
        "x",
        "",
        "5",
        "null",
        '{"a": 1}',
        "<b>&amp;",
        'say "hi"',
        "ü😀\\n",
        "  p  ",
        "\n\nx\n\n",
        "it's",
        "]]>",
    )
    for _ in range(15):
        args = {key: draw.choice(values) + draw.choice(values) for key in ("path", "content")}
        called = ToolCall(draw.choice(["write", "write", "writes"]), args)
        nested = ToolCall("edit", {"change": {"line": 5, "text": draw.choice(values)}})
        text = damaged(draw, written(name, draw.choice([[called], [called, nested], [nested]])))
        reason = draw.choice(["stop", "length"])
        read = whole(ChatReader(name, TOOLS), text, reason)
        places = sorted(draw.randrange(len(text) + 1) for _ in range(5))
        cuts = [text[start:end] for start, end in pairwise([0, *places, len(text)])]
        ends = set()
        for chunks in ([text], [*text], cuts):
            (calls, content, is_broken), finish = fed(
                ChatReader(name, TOOLS, calls="stream"), chunks, reason
            )
            ends.add(is_broken)
            assert (finish is None) is is_broken
            if not is_broken:
                assert (calls, content) == read, text
        assert len(ends) == 1, text


LONG = "y" * 9000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f'<tool_call>{{"name": "write", "arguments": {{"content": "{LONG}" "x"}}}}</tool_call>',
            "stop",
        ),
        (f'<tool_call>{{"name": "write", "arguments": {{"content": "{LONG}', "length"),
        (f'<tool_call>{{"name": "write", "arguments": {{"content": "{LONG}', "stop"),
        ('<tool_call>{"name": "write", "arguments": {', "length"),
        (
            '<tool_call>{"name": "write", "arguments": {"path": "a", "path": "b"}}</tool_call>',
            "stop",
        ),
    ],
    ids=["broken", "cut", "ended", "cut after the name", "a key twice"],
)
def test_a_call_that_began_and_is_not_valid_ends_the_answer(text, reason):
    reader = ChatReader("hermes", TOOLS, calls="stream")
    deltas = [delta for character in text for delta in reader.feed(character)]
    last, finish = reader.finish(reason)
    *before, error = [*deltas, *last]
    assert finish is None
    assert {*error} == {"error"}
    assert error["error"]["code"] == "broken_call"
    [[name, args]] = joined(before)[0]
    assert (name, args[0]) == ("write", "{")
    with pytest.raises(json.JSONDecodeError):
        json.loads(args)
    assert reader.feed("Next.") == [{"content": "Next."}], "the reader is at the start of an answer"


def test_the_calls_before_it_are_as_they_were():
    good = '<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>'
    (calls, _, is_broken), finish = fed(
        ChatReader("hermes", TOOLS, calls="stream"), [*good, *good[:-14]], "length"
    )
    assert (is_broken, finish) == (True, None)
    assert json.loads(calls[0][1]) == {"path": "a"}
    assert calls[1] == ["write", '{"path": "a"']


@pytest.mark.parametrize("called", ["writ", "writes", "Write", ""])
@pytest.mark.parametrize("name", NAMES)
def test_no_piece_is_sent_of_a_call_of_another_tool(name, called):
    text = written(name, [ToolCall(called or "other", {"path": "a" * 200})])
    reader = ChatReader(name, TOOLS, calls="stream")
    deltas = [delta for character in text for delta in reader.feed(character)]
    deltas += reader.finish()[0]
    assert not [delta for delta in deltas if "tool_calls" in delta or "error" in delta]


def test_none_is_sent_where_the_choice_does_not_allow_it():
    text = written("hermes", SHAPES["one long string"])
    for choice in ("none", {"type": "function", "function": {"name": "send"}}):
        reader = ChatReader("hermes", TOOLS, tool_choice=choice, calls="stream")
        (calls, content, is_broken), _ = fed(reader, text)
        assert (calls, content, is_broken) == ([], text, False)


@pytest.mark.parametrize("calls", ["whole", "stream"])
@pytest.mark.parametrize(
    "name", ["hermes", "qwen3-coder", "pythonic", "gemma4", "forge-xml", "glm45", "mistral"]
)
def test_a_key_that_is_there_twice_breaks_a_call_in_both_modes(name, calls):
    text = written(name, [ToolCall("write", {"path": "aaa", "content": "bbb"})]).replace(
        "content", "path"
    )
    (made, content, is_broken), _ = fed(ChatReader(name, TOOLS, calls=calls), [*text])
    assert is_broken if calls == "stream" else (made, content) == ([], text)


# Events


def values(events, kind="tool_call_delta"):
    """Each value that was shown, by its path, in the order in which they came."""
    shown = {}
    for event in events:
        if event["type"] == kind:
            path = tuple(event["path"])
            shown[path] = shown.get(path, "") + event["content"]
    return shown


@pytest.mark.parametrize("name", NAMES)
async def test_a_parser_shows_each_value_with_its_path(name):
    args = {"path": 'é "x"\n😀', "content": "a" * 300}
    text = written(name, [ToolCall("write", args)])
    parser = Parser(dialect=name, tools=TOOLS, calls="stream")
    read = [event for character in text for event in parser.feed(character)] + parser.finish("stop")
    source = parse_tokens(Chunks(*text), dialect=name, tools=TOOLS, calls="stream")
    for events in (read, [event async for event in source]):
        assert [event["name"] for event in events if event["type"] == "tool_call_start"] == [
            "write"
        ]
        assert values(events) == {(key,): value for key, value in args.items()}


@tool
async def note(lines: list[str], count: int = 0, text: str = "") -> str:
    """Take a note."""
    return "noted"


ARGS = {"lines": ["a", "", "b\n\U0001f600"], "count": 3, "text": "x" * 200}
SHOWN = {
    ("lines", 0): "a",
    ("lines", 1): "",
    ("lines", 2): "b\n\U0001f600",
    ("count",): "3",
    ("text",): "x" * 200,
}


def native():
    arguments = json.dumps(ARGS)
    pieces = [ToolCallDelta(0, "c1", "note", "")]
    pieces += [ToolCallDelta(0, arguments=character) for character in arguments]
    return [TextDelta("Well. "), *pieces, Finish("tool_calls")]


def in_text():
    call = Dialect("hermes").write_calls([ToolCall("note", ARGS)])
    return [*f"Well. {call}", Finish("stop")]


@pytest.mark.parametrize(("driver", "answer"), [("native", native()), ("hermes", in_text())])
@pytest.mark.parametrize("mode", ["token", "event"])
async def test_a_run_shows_them_whatever_the_driver_is(driver, answer, mode):
    options = {"driver": "native"} if driver == "native" else {"dialect": driver}
    agent = Agent(ScriptedModel([answer, "Done."]), tools=[note], **options)
    events = [dict(event) async for event in agent.run("?").events(mode, calls="stream")]
    starts = [
        (event["index"], event["name"]) for event in events if event["type"] == "tool_call_start"
    ]
    assert starts == [(0, "note")]
    assert values(events) == SHOWN
    plain = Agent(ScriptedModel([answer, "Done."]), tools=[note], **options)
    whole = [dict(event) async for event in plain.run("?").events(mode)]
    kinds = [event["type"] for event in whole]
    assert [
        event["type"] for event in events if not event["type"].startswith("tool_call_")
    ] == kinds


async def test_a_call_of_no_tool_is_not_shown():
    answer = [ToolCallDelta(0, "c1", "not", '{"a": 1}'), Finish("tool_calls")]
    agent = Agent(ScriptedModel([answer, "Done."]), tools=[note], driver="native")
    events = [event["type"] async for event in agent.run("?").events(calls="stream")]
    assert "call" in events
    assert "tool_call_start" not in events


TWICE = [
    ("json-plain", '{"function": "write", "arguments": {"path": "x"}, "name": "read"}'),
    ("xlam", '[{"name": "write", "arguments": {"path": "x"}, "name": "read"}]'),
    ("forge-json", '<tool>{"name": "write", "arguments": {}, "tool_name": "read"}</tool>'),
    (
        "forge-xml",
        "<tool><tool_name>write</tool_name><arguments><path>x</path></arguments>"
        "<tool_name>read</tool_name></tool>",
    ),
    (
        "forge-xml",
        "<tool><tool_name>write</tool_name><arguments><path>x</path></arguments>"
        "<arguments><path>y</path></arguments></tool>",
    ),
    (
        "internlm2",
        '<|action_start|><|plugin|>{"name": "write", "arguments": {"path": "x"}, "parameters": '
        '{"path": "xy"}}<|action_end|>',
    ),
    ("hermes", '<tool_call>{"tool": "write", "arguments": {}, "name": "read"}</tool_call>'),
]


@pytest.mark.parametrize(("name", "text"), TWICE)
@pytest.mark.parametrize("width", [1, 9, 10_000])
def test_a_call_with_two_names_or_two_sets_of_arguments_is_none(name: str, text: str, width: int):
    lenient = name == "hermes"
    tools = [{"name": each, "parameters": {"type": "object"}} for each in ("write", "read")]
    for calls in ("whole", "stream"):
        reader = ChatReader(name, tools, calls=calls, lenient=lenient)
        chunks = [text[at : at + width] for at in range(0, len(text), width)]
        deltas = [delta for chunk in chunks for delta in reader.feed(chunk)]
        rest, reason = reader.finish("stop")
        is_broken = any("error" in delta for delta in [*deltas, *rest])
        assert (is_broken, reason) == ((False, "stop") if calls == "whole" else (True, None))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "cohere",
            '[{"tool_call_id": "c1", "tool_name": "write", "parameters": {}}]<|END_ACTION|>',
        ),
        ("mistral", '[TOOL_CALLS][{"id": "c1", "name": "write", "arguments": {}}]'),
    ],
)
def test_an_id_before_the_arguments_is_kept(name: str, text: str):
    text = f"<|START_ACTION|>{text}" if name == "cohere" else text
    for width in (1, 10_000):
        reader = ChatReader(name, [{"name": "write"}], calls="stream")
        chunks = [text[at : at + width] for at in range(0, len(text), width)]
        deltas = [delta for chunk in chunks for delta in reader.feed(chunk)] + reader.finish(
            "stop"
        )[0]
        ids = [
            call["id"] for delta in deltas for call in delta.get("tool_calls", ()) if "id" in call
        ]
        assert ids == ["c1"]


@pytest.mark.parametrize("name", ["glm45", "qwen3-coder", "beam-rfl", "anthropic"])
def test_leniently_no_piece_runs_past_the_end_of_a_call(name: str):
    whole = Dialect(name).write_calls([ToolCall("write", {"path": "abc"})])
    marks = marks_of(Dialect(name).to_dict()["calls"][0])
    assert marks is not None
    close = marks.value_close.replace("{key}", "path")
    text = whole.replace(close, "").replace("</parameters>", "")
    parser = Parser(dialect=name, calls="stream", lenient=True)
    events = [event for chunk in text for event in parser.feed(chunk)] + parser.finish("stop")
    pieces = [event["content"] for event in events if event["type"] == "tool_call_delta"]
    [call] = [json.loads(event["content"]) for event in events if event["type"] == "call"]
    assert "".join(pieces).strip() == call["args"]["path"].strip() == "abc"
