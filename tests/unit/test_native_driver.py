"""`NativeDriver`, for providers with their own tool calls: what the model is asked, and how its answer is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import Agent, RunLimits, tool
from cogency_rs.agent import NativeDriver
from cogency_rs.agent.drivers import native as native_answer
from cogency_rs.errors import ConfigError
from cogency_rs.models import (
    Finish,
    ModelRequest,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
)
from cogency_rs.testing import ScriptedModel
from support.native_calls import ARGS, calling, events, last, pieces, run

# What is asked


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("auto", ["add", "echo", "fail"]),
        ("required", ["add", "echo", "fail"]),
        (SpecificTool("echo"), ["add", "echo", "fail"]),
        ("none", []),
    ],
    ids=lambda value: f"C5 {value}",
)
def test_c5_the_tool_choice_is_sent_and_the_choice_none_sends_no_tools(choice, names) -> None:
    _, model = run("42", driver=NativeDriver(choice))
    request = model.requests[0]
    assert request.tool_choice == choice
    assert [each.name for each in request.tools] == names


def test_c5_an_agent_without_tools_sends_the_choice_none() -> None:
    _, model = run("42", tools=[])
    assert (model.requests[0].tool_choice, model.requests[0].tools) == ("none", ())


@pytest.mark.parametrize("choice", ["required", SpecificTool("look")], ids=str)
@pytest.mark.parametrize("is_inner", [False, True], ids=["its own limit", "its caller's limit"])
async def test_a_choice_that_must_call_does_not_outlive_the_limit_of_calls(choice, is_inner):
    looked = 0

    @tool
    async def look() -> str:
        nonlocal looked
        looked += 1
        return "seen"

    def answer(request: ModelRequest) -> list[Any] | str:  # as a service that holds the model to it
        calls = [ToolCallDelta(0, f"c{looked}", "look", "{}"), Finish("tool_calls")]
        return "The answer." if request.tool_choice == "auto" else calls

    model = ScriptedModel(answer)
    limits = RunLimits(tool_calls=3 if is_inner else 2)
    agent = Agent(model, tools=[look], driver=NativeDriver(choice), name="looker")
    if is_inner:
        outer = [[calling("looker", '{"question": "Look."}'), Finish("tool_calls")], "Done."]
        agent = Agent(ScriptedModel(outer), tools=[agent], driver="native")
    result = await agent.run("What is there?", limits=limits)
    assert (result.status, looked) == ("completed", 2)
    assert [request.tool_choice for request in model.requests] == [choice, choice, "auto"]


@pytest.mark.parametrize("word", ["any", "AUTO", "", None, 1, ["auto"]], ids=lambda w: f"C5 {w!r}")
def test_c5_an_unknown_word_is_an_error_at_construction(word) -> None:
    with pytest.raises(ConfigError, match="tool_choice must be"):
        NativeDriver(word)


@pytest.mark.parametrize("name", ["multiply", "hidden"])
def test_c5_a_tool_that_must_be_called_must_exist(name) -> None:
    with pytest.raises(ConfigError, match=f"tool_choice names '{name}'.*Tools: add, echo, fail"):
        run("42", driver=NativeDriver(SpecificTool(name)))


@pytest.mark.parametrize("parallel", [True, False], ids=["C6 yes", "C6 no"])
def test_c6_parallel_calls_are_a_setting(parallel) -> None:
    _, model = run("42", driver=NativeDriver(parallel_tool_calls=parallel))
    assert model.requests[0].parallel_tool_calls is parallel
    assert run("42")[1].requests[0].parallel_tool_calls is True


def test_tools_are_declared_with_their_schemas_in_order() -> None:
    declared = run("42")[1].requests[0].tools[0]
    assert (declared.name, declared.description) == ("add", "Add two numbers.")
    assert declared.parameters["required"] == ["a", "b"]


class OnServer:
    """A tool of a server."""

    description = "Find."

    def __init__(self, server: str) -> None:
        self.schema = {"type": "object", "properties": {}}
        self.name = self.remote_name = "find"
        self.server = server

    async def execute(self, **given: Any) -> str:
        return f"found by {self.server}"


def test_tools_of_one_name_are_declared_with_the_names_of_their_servers() -> None:
    tools = [OnServer("one"), OnServer("two")]
    result, model = run([calling("two__find", "{}")], "done", tools=tools)
    assert [each.name for each in model.requests[0].tools] == ["one__find", "two__find"]
    assert result.steps[0].executions[0].value == "found by two"


def test_the_system_prompt_teaches_no_dialect() -> None:
    _, model = run("42", instructions="You are Ada.\n\nBe brief.")
    system = model.requests[0].messages[0]
    assert system == {"role": "system", "content": "You are Ada.\n\nBe brief."}


# How the answer is read


def test_c4_a_batch_has_one_execution_per_call_in_call_order() -> None:
    answer = [*pieces(calling()), *pieces(calling("echo", '{"value": 1}', "c2", 1))]
    result, _ = run(answer, "done")
    assert [(each.name, each.value) for each in result.steps[0].executions] == [
        ("add", 42),
        ("echo", 1),
    ]


@pytest.mark.parametrize(
    "deltas",
    [
        [calling("add", '{"a": 1,', "c1", None), ToolCallDelta(None, arguments='"b": 2}')],
        [calling("add", '{"a": 1,', None, 0), ToolCallDelta(0, arguments='"b": 2}')],
        [ToolCallDelta(0, "c1"), ToolCallDelta(0, None, "add"), ToolCallDelta(0, None, None, ARGS)],
    ],
    ids=["without index", "without id", "name late"],
)
def test_the_pieces_of_a_call_are_joined_without_an_index_without_an_id_or_with_a_late_name(
    deltas,
) -> None:
    result, _ = run(deltas, "done")
    assert [each.status for each in result.steps[0].executions] == ["success"]


@pytest.mark.parametrize("deltas", [[calling("fail", "")], [calling("fail", "", None)]])
def test_a_call_without_arguments_has_empty_args_and_gets_an_id(deltas) -> None:
    result, model = run(deltas, "done")
    call = result.steps[0].calls[0]
    assert call.args == {}
    assert call.id
    assert last(model)[-1]["tool_call_id"] == call.id


def test_text_reasoning_and_calls_keep_their_order() -> None:
    answer = [ReasoningDelta("hm"), TextDelta("Calling tool"), calling(), TextDelta("and so")]
    kinds = [(each["type"], each.get("content")) for each in events(answer, "done")]
    call = json.dumps({"name": "add", "args": {"a": 19, "b": 23}, "id": "c1"})
    assert kinds[1:6] == [
        ("think", "hm"),
        ("respond", "Calling tool"),
        ("call", call),
        ("respond", "and so"),
        ("execute", None),
    ]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": 19, "b": 23}', ARGS),
        (' {"b":23,\n"a":19}\n', ARGS),
        ('```json\n{"a": 19, "b": 23}\n```', ARGS),
        ("```\n{}\n```\n", ""),
    ],
    ids=lambda value: f"C7 {value!r}",
)
@pytest.mark.parametrize("text_first", [True, False])
def test_c7_text_that_is_only_a_calls_arguments_is_dropped(text, arguments, text_first) -> None:
    words = [TextDelta(text[:5]), TextDelta(text[5:])]
    call = calling("add" if arguments else "fail", arguments)
    answer = [*words, call] if text_first else [call, *words]
    seen = events(answer, "done")
    assert [each["content"] for each in seen if each["type"] == "respond"] == ["done"]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Calling tool", ARGS),
        ('Sure: {"a": 19, "b": 23}', ARGS),
        ('{"a": 19, "b": 23} it is', ARGS),
        ('{"a": 19}', ARGS),
        ('{"value": 1}', '{"value": "1"}'),
        ('{"value": 1}', '{"value": 1.0}'),
        ('{"value": 1}', '{"value": true}'),
        ('{"value": 1', '{"value": 1}'),
        ("```python\nx = {}\n```", "{}"),
        ("[1]", "{}"),
    ],
    ids=lambda value: f"C8 {value!r}",
)
def test_c8_any_other_text_beside_a_call_is_kept_in_its_place(text, arguments) -> None:
    answer = [*map(TextDelta, text), calling("add" if "a" in arguments else "echo", arguments)]
    seen = events(answer, "done", mode="event")
    assert [each["type"] for each in seen][1:4] == ["respond", "call", "execute"]
    assert seen[1]["content"] == text


def test_c7_text_that_is_only_a_calls_arguments_may_be_kept() -> None:
    driver = NativeDriver(drop_echoed_args=False)
    seen = events([TextDelta(ARGS), calling()], "done", driver=driver)
    assert seen[1]["content"] == ARGS


def test_json_without_a_call_is_an_answer() -> None:
    result, _ = run('{"a": 1}')
    assert result.output == '{"a": 1}'


# Before a call is complete


def test_calls_are_shown_before_they_are_complete() -> None:
    answer = ["So.", *pieces(calling(arguments='{"a": 1, "b": 2}'), 8), Finish("tool_calls")]
    seen = events(answer, "3", driver=NativeDriver(), calls="stream")
    assert [
        (each["type"], each.get("index"), each.get("name"), each.get("content"))
        for each in seen[1:7]
    ] == [
        ("respond", None, None, "So."),
        ("tool_call_start", 0, "add", None),
        ("tool_call_delta", 0, None, "1"),
        ("tool_call_delta", 0, None, "2"),
        ("call", None, None, '{"name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}'),
        ("execute", None, None, None),
    ]
    assert all("timestamp" in each for each in seen)


def test_a_name_that_arrives_late_is_shown_when_it_arrives() -> None:
    answer = [
        ToolCallDelta(0, "c1"),
        ToolCallDelta(0, None, "fail"),
        calling("fail", "{}", "c2", 1),
    ]
    seen = events(answer, "done", driver=NativeDriver(), calls="stream")
    starts = [(each["index"], each["name"]) for each in seen if each["type"] == "tool_call_start"]
    assert starts == [(1, "fail")], "a call without arguments is shown when it is whole"


@pytest.mark.parametrize("pieces", [['{"a" "x"}'], ['{"a" ', '"x"}'], ['{"a"', ' "', 'x"}']])
async def test_a_broken_call_is_shown_alike_however_it_was_cut(pieces):
    answers = [
        [ToolCallDelta(0, "1", "add", pieces[0])]
        + [ToolCallDelta(0, arguments=piece) for piece in pieces[1:]],
        "I cannot.",
    ]

    @tool
    async def add(a: int) -> int:
        """Add."""
        return a

    model = ScriptedModel(answers)
    await Agent(model, tools=[add], driver="native").run("Add.")
    shown = [message["content"] for message in model.requests[1].messages]
    assert shown[-2] == 'add {"a" "'


def test_the_arguments_of_a_call_are_read_and_written_once(monkeypatch):
    counted: list[str] = []
    for name in ("exact_args", "format_call_agent"):
        whole = getattr(native_answer, name)

        def counting(*given, whole=whole, name=name):
            counted.append(name)
            return whole(*given)

        monkeypatch.setattr(native_answer, name, counting)
    answer = native_answer.NativeAnswer(eager=True)
    events = answer.take(ToolCallDelta(0, "1", "add", '{"a": 1, '))
    events += answer.take(ToolCallDelta(0, arguments='"b": 2}'))
    events += [*answer.take(Finish("tool_calls")), *answer.finish()]
    assert {"call_ready", "call"} <= {event["type"] for event in events}
    assert sorted(counted) == ["exact_args", "format_call_agent"]
