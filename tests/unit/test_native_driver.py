"""A model whose provider has tool calls of its own: what it is asked, and what is made of what it says."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import (
    Agent,
    ConfigError,
    Finish,
    History,
    LLMError,
    Memory,
    NativeDriver,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
    Usage,
    tool,
)
from cogency_rs.agent.drivers.native_answer import NativeAnswer
from cogency_rs.testing import ScriptedModel


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def echo(value: Any = None) -> Any:
    """Return a value."""
    return value


@tool
async def fail() -> str:
    """Fail."""
    raise ValueError("no")


@tool(visible=False)
async def hidden() -> str:
    """Stay unseen."""
    return "seen"


TOOLS = [add, echo, fail, hidden]
ARGS = '{"a": 19, "b": 23}'


def calling(
    name: str = "add", arguments: str = ARGS, id: str | None = "c1", index: int | None = 0
) -> ToolCallDelta:
    return ToolCallDelta(index, id, name, arguments)


def pieces(delta: ToolCallDelta, size: int = 3) -> list[ToolCallDelta]:
    """A call in pieces, as providers stream it."""
    text = delta.arguments
    return [
        ToolCallDelta(delta.index, delta.id, delta.name),
        *(
            ToolCallDelta(delta.index, arguments=text[at : at + size])
            for at in range(0, len(text), size)
        ),
    ]


def agent_of(*answers: Any, driver: Any = "native", **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(list(answers))
    return Agent(model, tools=options.pop("tools", TOOLS), driver=driver, **options), model


def run(*answers: Any, **options: Any) -> tuple[Any, ScriptedModel]:
    agent, model = agent_of(*answers, **options)
    return agent.run_sync("19 + 23?"), model


def events(*answers: Any, mode: Any = "token", **options: Any) -> list[dict[str, Any]]:
    agent, _ = agent_of(*answers, **options)

    async def all() -> list[dict[str, Any]]:
        return [event async for event in agent.stream("19 + 23?", mode=mode)]

    return asyncio.run(all())


def last(model: ScriptedModel) -> list[dict[str, Any]]:
    """The last request's messages, without the system prompt."""
    return [dict(message) for message in model.requests[-1].messages[1:]]


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
def test_c5_the_choice_is_sent_and_none_without_tools(choice, names) -> None:
    _, model = run("42", driver=NativeDriver(choice))
    request = model.requests[0]
    assert request.tool_choice == choice
    assert [each.name for each in request.tools] == names


def test_c5_an_agent_without_tools_sends_none() -> None:
    _, model = run("42", tools=[])
    assert (model.requests[0].tool_choice, model.requests[0].tools) == ("none", ())


@pytest.mark.parametrize("word", ["any", "AUTO", "", None, 1, ["auto"]], ids=lambda w: f"C5 {w!r}")
def test_c5_an_unknown_word_is_an_error_at_construction(word) -> None:
    with pytest.raises(ConfigError, match="tool_choice must be"):
        NativeDriver(word)


@pytest.mark.parametrize("name", ["multiply", "hidden"])
def test_c5_a_tool_that_must_be_called_must_be_there(name) -> None:
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


def test_the_system_prompt_teaches_no_dialect() -> None:
    _, model = run("42", identity="You are Ada.", instructions="Be brief.")
    system = model.requests[0].messages[0]
    assert system == {"role": "system", "content": "You are Ada.\n\n# Instructions\n\nBe brief."}


# What is shown again


def test_c13_calls_go_back_with_their_ids_and_a_message_for_each_result() -> None:
    answer = ["Adding.", calling(), calling("fail", "{}", "c2", 1), Finish("tool_calls")]
    result, model = run(answer, "It is 42.")
    assert result.output == "It is 42."
    assert last(model) == [
        {"role": "user", "content": "19 + 23?"},
        {
            "role": "assistant",
            "content": "Adding.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":19,"b":23}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "fail", "arguments": "{}"}},
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "tool_execution_id": "c1",
            "is_error": False,
            "content": "42",
        },
        {
            "role": "tool",
            "tool_call_id": "c2",
            "tool_execution_id": "c2",
            "is_error": True,
            "content": "Error in tool call: Tool execution failed: ValueError: no",
        },
    ]
    assert [each.id for each in result.steps[0].executions] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (False, "false"), (1.5, "1.5"), ([1], "[1]"), ({"a": None}, '{"a":null}')],
    ids=["C11 string", "C11 boolean", "C11 number", "C11 array", "C11 object"],
)
def test_c11_results_are_text_as_it_is_or_json(value, text) -> None:
    _, model = run([calling("echo", json.dumps({"value": value}))], "done")
    assert last(model)[-1]["content"] == text


def test_c12_a_failure_says_so_and_is_flagged() -> None:
    _, model = run([calling("nothing", "{}")], "done")
    message = last(model)[-1]
    assert message["is_error"] is True
    assert message["content"].startswith("Error in tool call: ")


def test_two_requests_of_a_run_share_all_up_to_the_first_new_message() -> None:
    history = History(window=4)
    _, model = run(
        ["a", calling()], [ReasoningDelta("hm"), calling(id="c2")], "42", history=history
    )
    first, second, third = [list(request.messages) for request in model.requests]
    assert second[: len(first)] == first
    assert third[: len(second)] == second


def test_a_conversation_may_change_its_driver() -> None:
    storage = Memory()
    text = '<execute>[{"name": "add", "args": {"a": 1, "b": 2}}]</execute>'
    agent, _ = agent_of(text, "3.", driver="text", storage=storage)
    agent.run_sync("1 + 2?", conversation_id="c")
    agent, model = agent_of([calling()], "42.", storage=storage)
    agent.run_sync("And 19 + 23?", conversation_id="c")
    records = asyncio.run(storage.calls("c"))
    shown = [call["id"] for each in last(model) for call in each.get("tool_calls", ())]
    assert shown == [record.id for record in records]
    assert shown[1] == "c1"
    agent, model = agent_of("Bye.", driver="text", storage=storage)
    agent.run_sync("Bye.", conversation_id="c")
    assert last(model)[-3]["content"].startswith("<results>")


def test_calls_that_were_interrupted_fail_each() -> None:
    storage = Memory()
    rows = [("user", "q", 1.0), ("call", '{"name": "add", "args": {}}', 2.0)]

    async def fill() -> None:
        await storage.append("c", user_id="", rows=rows)

    asyncio.run(fill())
    agent, model = agent_of("42", storage=storage)
    agent.run_sync("again", conversation_id="c")
    shown = [(each["role"], each["content"]) for each in last(model)]
    assert shown == [
        ("user", "q"),
        ("assistant", ""),
        ("tool", "Error in tool call: Interrupted before completion"),
        ("user", "again"),
    ]


# Reasoning


def signed(*blocks: tuple[str, str | None]) -> list[dict[str, Any]]:
    return [{"text": text, "signature": signature} for text, signature in blocks]


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([ReasoningDelta("a"), ReasoningDelta("b", "s")], signed(("ab", "s"))),
        (
            [ReasoningDelta("a", "s"), ReasoningDelta("", "t"), ReasoningDelta("c")],
            signed(("a", "s"), ("", "t"), ("c", None)),
        ),
        ([ReasoningDelta("a")], signed(("a", None))),
    ],
)
def test_reasoning_goes_back_with_its_signatures(deltas, expected) -> None:
    _, model = run([*deltas, calling()], [ReasoningDelta("more", "u"), calling(id="c2")], "42")
    first, second = (each["reasoning"] for each in last(model) if "tool_calls" in each)
    assert first == expected
    assert second == signed(("more", "u"))


def test_reasoning_of_an_earlier_question_stays_behind() -> None:
    storage = Memory()
    agent, model = agent_of([ReasoningDelta("a", "s"), calling()], "42", "Bye.", storage=storage)
    agent.run_sync("19 + 23?", conversation_id="c")
    agent.run_sync("Bye.", conversation_id="c")
    assert not any("reasoning" in each for each in last(model))


def test_behind_a_restart_reasoning_goes_back_unsigned() -> None:
    storage = Memory()

    @tool(requires_approval=True)
    async def drop() -> str:
        """Drop it."""
        return "dropped"

    answer = [ReasoningDelta("hm", "s"), calling("drop", "{}")]
    agent, _ = agent_of(answer, tools=[drop], storage=storage)
    waiting = agent.run_sync("Drop it.", conversation_id="c")
    assert waiting.status == "waiting"
    agent, model = agent_of("Done.", tools=[drop], storage=storage)
    result = asyncio.run(agent.resume("c", {"c1": True}))
    assert result.output == "Done."
    assert last(model)[1]["reasoning"] == signed(("hm", None))


# What it says


def test_c4_a_batch_has_one_execution_a_call_in_call_order() -> None:
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
def test_calls_are_told_apart_as_their_server_does(deltas) -> None:
    result, _ = run(deltas, "done")
    assert [each.status for each in result.steps[0].executions] == ["success"]


@pytest.mark.parametrize("deltas", [[calling("fail", "")], [calling("fail", "", None)]])
def test_a_call_without_arguments_has_none_and_an_id(deltas) -> None:
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
@pytest.mark.parametrize("is_first", [True, False])
def test_c7_text_that_is_only_a_calls_arguments_is_dropped(text, arguments, is_first) -> None:
    words = [TextDelta(text[:5]), TextDelta(text[5:])]
    call = calling("add" if arguments else "fail", arguments)
    answer = [*words, call] if is_first else [call, *words]
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


def test_c7_it_may_be_kept() -> None:
    driver = NativeDriver(drop_echoed_args=False)
    seen = events([TextDelta(ARGS), calling()], "done", driver=driver)
    assert seen[1]["content"] == ARGS


def test_an_answer_that_is_json_is_an_answer() -> None:
    result, _ = run('{"a": 1}')
    assert result.output == '{"a": 1}'


# What cannot be used

BROKEN = [
    ('{"a": 19,}', "tool_calls", "malformed", "expected a key in double quotes", (1, 14)),
    ('{"a": 19\n"b": 23}', "tool_calls", "malformed", "expected ',' or '}'", (2, 1)),
    ("[1]", "tool_calls", "malformed", "expected a JSON object", (1, 5)),
    ('{"a": 1} {"b": 2}', "stop", "malformed", "expected nothing more", (1, 14)),
    ('{"a": 19, "b"', "length", "truncated", "Put less into one call", (1, 18)),
    ("", "length", "truncated", "Put less into one call", (1, 5)),
    ('{"a": 19, "b"', None, "truncated", "ended inside the arguments", (1, 18)),
    ('{"a": 19, "b"', "tool_calls", "unfinished", "You stopped", (1, 18)),
]


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize(("arguments", "reason", "kind", "told", "place"), BROKEN)
def test_arguments_that_break_are_an_error_and_nothing_of_the_batch_runs(
    arguments, reason, kind, told, place, size
) -> None:
    ran = []

    @tool
    async def add(a: int, b: int) -> None:
        """Add two numbers."""
        ran.append((a, b))

    broken = [*pieces(calling(arguments=arguments), size), Finish(reason)]
    agent, model = agent_of(broken, "It is 42.", tools=[add])

    async def all() -> list[dict[str, Any]]:
        return [event async for event in agent.stream("19 + 23?")]

    error = next(event for event in asyncio.run(all()) if event["type"] == "error")
    assert (error["kind"], error["code"]) == (kind, "invalid_payload")
    assert told in error["content"]
    assert f"at line {place[0]}, column {place[1]}" in error["content"]
    assert (error["line"], error["column"]) == place
    assert ran == []
    shown = [(each["role"], each["content"]) for each in last(model)]
    assert shown[1] == ("assistant", error["raw"])
    assert shown[2] == ("user", error["content"])


def test_one_broken_call_keeps_the_others_from_running() -> None:
    answer = ["So.", calling(), calling("fail", "{", "c2", 1), Finish("tool_calls")]
    result, model = run(answer, [calling(id="c3")], "42")
    first, second, _ = result.steps
    assert (first.kind, first.executions, first.text) == ("error", (), "So.")
    assert second.executions[0].value == 42
    raw = f"add {ARGS}\nfail {{"
    report = model.requests[1].messages[-1]["content"]
    assert model.requests[1].messages[-2]["content"] == f"So.\n{raw}"
    assert "call 1 (fail), at line 2, column 7" in report
    assert [each["role"] for each in last(model)] == ["user", "assistant", "tool"]


def test_the_answer_is_left_where_a_call_breaks() -> None:
    answer = [calling(arguments='{"a" 1'), AssertionError("read on")]
    _, model = run(answer, "42")
    assert model.closed_early == 1


def test_a_call_without_a_name_is_an_error() -> None:
    seen = events([ToolCallDelta(0, "c1", None, ARGS)], "42")
    assert seen[1]["code"] == "missing_tool_name"


def test_a_call_where_none_may_be_made_is_an_error() -> None:
    seen = events([calling()], "42", driver=NativeDriver("none"))
    assert [each["type"] for each in seen] == ["user", "error", "metric", "respond", "metric"]


def test_an_answer_that_was_cut_is_an_error() -> None:
    result, _ = run(["It i", Finish("length")], "It is 42.")
    assert [step.outcome for step in result.steps] == ["truncated", "answered"]


@pytest.mark.parametrize("text", ["So", '{"a":'])
def test_c9_what_the_model_raises_passes_on_behind_the_text_and_is_not_tried_again(text) -> None:
    agent, model = agent_of([TextDelta(text), calling(), LLMError("down")])
    seen = []

    async def all() -> None:
        async for event in agent.stream("q"):
            seen.append((event["type"], event.get("content")))  # noqa: PERF401  # before the error

    with pytest.raises(LLMError, match="down"):
        asyncio.run(all())
    assert seen == [("user", "q"), ("respond", text)]
    assert len(model.requests) == 1


def test_tokens_are_those_that_the_provider_counted() -> None:
    result, _ = run([calling(), Usage(10, 5)], ["42", Usage(20, 1)])
    assert result.usage == Usage(30, 6)


# Before a call is complete


def test_calls_are_shown_before_they_are_complete() -> None:
    answer = ["So.", *pieces(calling(arguments='{"a": 1, "b": 2}'), 8), Finish("tool_calls")]
    seen = events(answer, "3", calls="stream")
    assert [
        (each["type"], each.get("index"), each.get("name"), each.get("content"))
        for each in seen[1:7]
    ] == [
        ("respond", None, None, "So."),
        ("tool_call_start", 0, "add", None),
        ("tool_call_delta", 0, None, '{"a": 1,'),
        ("tool_call_delta", 0, None, ' "b": 2}'),
        ("call", None, None, '{"name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}'),
        ("execute", None, None, None),
    ]
    assert all("timestamp" in each for each in seen)


def test_a_name_that_comes_late_is_shown_when_it_does() -> None:
    answer = [
        ToolCallDelta(0, "c1"),
        ToolCallDelta(0, None, "fail"),
        calling("fail", "{}", "c2", 1),
    ]
    seen = events(answer, "done", calls="stream")
    starts = [(each["index"], each["name"]) for each in seen if each["type"] == "tool_call_start"]
    assert starts == [(0, None), (0, "fail"), (1, "fail")]


# However it is cut

NAMES = st.sampled_from(["add", "fail"])
ARGUMENTS = st.dictionaries(st.text(max_size=3), st.text(max_size=4) | st.integers(), max_size=2)


@given(st.data(), st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=3), st.integers(1, 5))
def test_how_calls_are_cut_and_mixed_never_matters(data, calls, size) -> None:
    queues = [
        pieces(calling(name, json.dumps(args), f"c{index}", index), size)
        for index, (name, args) in enumerate(calls)
    ]
    answer, made = NativeAnswer(), []
    for queue in queues:  # providers begin calls in order
        made += answer.take(queue.pop(0))
    while any(queues):
        queue = data.draw(st.sampled_from([queue for queue in queues if queue]))
        made += answer.take(queue.pop(0))
    made += answer.finish()
    assert [json.loads(each["content"]) for each in made if each["type"] == "call"] == [
        {"name": name, "args": args, "id": f"c{index}"} for index, (name, args) in enumerate(calls)
    ]
    assert made[-1]["type"] == "execute"


DELTAS = st.lists(
    st.one_of(
        st.sampled_from(['{"a": 1}', "```", "{", "so", "}", "\n"]),
        st.builds(ReasoningDelta, st.text(max_size=2), st.none() | st.just("s")),
        st.builds(
            ToolCallDelta,
            st.none() | st.integers(0, 2),
            st.none() | st.sampled_from(["", "c1", "c2"]),
            st.none() | st.sampled_from(["", "add", "fail"]),
            st.sampled_from(["", "{", "}", '"a"', ": 1", '{"a": 1}', "{}", "x"]),
        ),
        st.builds(Finish, st.sampled_from(["stop", "length", "tool_calls", None, "other"])),
    ),
    max_size=8,
)


@given(DELTAS, st.booleans())
def test_whatever_a_provider_gives_is_calls_or_an_error_and_text_is_kept(deltas, may_call) -> None:
    answer, made, said = NativeAnswer(drops_echo=False, may_call=may_call), [], ""
    for delta in deltas:
        made += answer.take(delta)
        said += delta if isinstance(delta, str) else ""
        if answer.is_broken:
            break
    made += answer.finish()
    kinds = [each["type"] for each in made]
    assert "".join(each["content"] for each in made if each["type"] == "respond") == said
    assert kinds.count("error") <= 1
    assert ("execute" in kinds) == ("call" in kinds)
    assert not ({"call", "error"} <= set(kinds))
    assert may_call or "call" not in kinds
