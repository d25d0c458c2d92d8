"""Half a character ends no run: halves are joined, and one without the other becomes U+FFFD."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from cogency_rs import Agent, Dialect, Parser, SQLite, ToolCall, tool
from cogency_rs.errors import ConfigError
from cogency_rs.models import Finish, ReasoningDelta, TextDelta
from cogency_rs.models.http import json_of
from cogency_rs.protocol import Limits
from cogency_rs.testing import ScriptedModel

MODES = ["event", "token"]

TEXTS = [
    pytest.param("\ud83d\ude00", "😀", 0, id="a pair"),
    pytest.param("a\ud83d\ude00b", "a😀b", 0, id="a pair in text"),
    pytest.param("a\ud83db", "a\ufffdb", 1, id="a first half"),
    pytest.param("a\ude00", "a\ufffd", 1, id="a second half"),
    pytest.param("a\ud83d", "a\ufffd", 1, id="a first half at the end"),
    pytest.param("\ude00\ud83d", "\ufffd\ufffd", 2, id="in the wrong order"),
    pytest.param("\ud83d\ud83d\ude00", "\ufffd😀", 1, id="a first half before a pair"),
]

in_both_modes = pytest.mark.parametrize("mode", MODES)
texts = pytest.mark.parametrize(("text", "expected", "replaced"), TEXTS)


def cuts(text: str) -> list[list[str]]:
    """The text as it is, in characters, and with an empty chunk between them."""
    return [[text], list(text), [chunk for each in text for chunk in (each, "")]]


@in_both_modes
@texts
def test_halves_are_joined_however_the_text_is_cut(mode, text, expected, replaced):
    for chunks in cuts(text):
        parser = Parser(stream=mode)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()
        assert {event["type"] for event in events} == {"respond"}
        assert "".join(event["content"] for event in events) == expected
        assert parser.replaced_characters == replaced


@in_both_modes
def test_a_half_in_a_call_is_joined(mode):
    parser = Parser(stream=mode, calls="stream")
    chunks = pairwise([0, 40, 41, 60, 200])
    text = '<execute>[{"name": "t", "args": {"key": "\ud83d\ude00 and so on"}}]</execute>'
    events = [event for start, end in chunks for event in parser.feed(text[start:end])]
    [call] = [json.loads(event["content"]) for event in events if event["type"] == "call"]
    assert call["args"] == {"key": "😀 and so on"}
    for event in events:
        json.dumps(event, ensure_ascii=False).encode()


@pytest.mark.parametrize("bytes_", range(1, 60))
def test_a_limit_cuts_between_characters(bytes_):
    text = '<execute>[{"name": "t", "args": {"é€😀": "é€😀é€😀"}}]</execute>é€😀'
    for chunks in cuts(text):
        parser = Parser(stream="token", calls="stream", limits=Limits(max_block_bytes=bytes_))
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()
        json.dumps(events, ensure_ascii=False).encode()


def asking(driver: str, *answers: list[Any], **options: Any) -> Agent:
    model = ScriptedModel(list(answers))
    return Agent(model, driver=driver, storage=SQLite(":memory:"), **options)


@pytest.mark.parametrize("driver", ["text", "native"])
@texts
async def test_a_run_keeps_the_text_and_its_step_says_what_was_replaced(
    driver, text, expected, replaced
):
    for chunks in cuts(text):
        pieces = [TextDelta(each) for each in chunks] if driver == "native" else chunks
        result = await asking(driver, [*pieces, Finish("stop")]).run("hi")
        assert result.output == expected
        assert [step.replaced_characters for step in result.steps] == [replaced]


@pytest.mark.parametrize("driver", ["text", "native"])
async def test_reasoning_that_comes_apart_is_joined_too(driver):
    thoughts = [ReasoningDelta("a\ud83d"), ReasoningDelta("\ude00b\ud83d")]
    chunks = [*thoughts, TextDelta("\ude00c\ud83d"), ReasoningDelta("d"), TextDelta("e")]
    result = await asking(driver, [*chunks, Finish("stop")]).run("hi")
    [step] = result.steps
    assert (step.thoughts, step.text) == ("a😀b\ufffd\n\nd", "\ufffdc\ufffd\n\ne")
    assert step.replaced_characters == 3


async def test_an_escaped_half_in_a_call_reaches_the_next_prompt_as_it_was_written():
    @tool
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    call = r'<execute>[{"name": "echo", "args": {"text": "a\ud83d"}}]</execute>'
    model = ScriptedModel([[call], ["ok"]])
    result = await Agent(model, tools=[echo], storage=SQLite(":memory:")).run("hi")
    assert result.output == "ok"
    written = "".join(message["content"] for message in model.requests[-1].messages)
    assert written.count(r"a\ud83d") == 2
    written.encode()


@pytest.mark.parametrize("name", ["qwen3-coder", "glm45", "forge-xml", "minimax-m2"])
def test_half_a_character_is_refused_where_a_dialect_has_no_escapes(name):
    dialect = Dialect(name)
    with pytest.raises(ConfigError, match="cannot hold the call of t"):
        dialect.write_calls([ToolCall("t", {"x": "a\ud83d"})])
    assert "😀" in dialect.write_calls([ToolCall("t", {"x": "a\ud83d\ude00"})])


def test_half_a_character_is_an_escape_in_json():
    written = Dialect("hermes").write_calls([ToolCall("t", {"x": "a\ud83d"})])
    parser = Parser(dialect="hermes")
    [call] = [event for event in parser.feed(written) if event["type"] == "call"]
    assert json.loads(call["content"])["args"] == {"x": "a\ud83d"}


@pytest.mark.parametrize("driver", ["text", "native"])
@pytest.mark.parametrize(
    ("text", "expected"), [("a\ud83d", "a\ufffd"), ("\ud83d\ude00b", "😀b"), ("ü", "ü")]
)
async def test_what_users_and_instructions_say_is_stored_and_sent_in_whole_characters(
    driver, text, expected
):
    model = ScriptedModel([["ok", Finish("stop")], ["ok", Finish("stop")]])
    agent = Agent(model, driver=driver, instructions=f"Say {text}.", storage=SQLite(":memory:"))
    for _ in range(2):
        await agent.run(text, conversation_id="c")
    system, *said = model.requests[-1].messages
    assert f"Say {expected}." in system["content"]
    assert [each["content"] for each in said if each["role"] == "user"] == [expected] * 2


def test_a_request_has_no_half_of_a_character():
    sent = json_of({"messages": [{"content": "a\ud83d"}, {"content": "\ud83d\ude00 ü"}]})
    assert json.loads(sent) == {"messages": [{"content": "a\ufffd"}, {"content": "😀 ü"}]}
    assert b"\\u" not in sent
