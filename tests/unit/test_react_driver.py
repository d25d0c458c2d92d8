"""`ReActDriver`: a model that writes one decision a step, as JSON."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import Agent, Memory, RunLimits, tool
from cogency_rs.agent import ReActDriver
from cogency_rs.agent.drivers.react_decision import DecisionReader
from cogency_rs.errors import ConfigError, LLMError
from cogency_rs.models import Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from cogency_rs.testing import ScriptedModel
from support.agents import add, agent_and_model, fail, run_and_model


@tool
async def look(where: str = "here") -> str:
    """Look around."""
    return "x"


TOOLS = [add, look, fail]


def decision(thought: str = "Hm.", type: str = "call_tool", **more: Any) -> str:
    return json.dumps({"thought": thought, "type": type, **more})


def answer(text: Any, thought: str = "I know.") -> str:
    return decision(thought, "final_answer", answer=text)


CALL = decision("I add.", tool="add", args={"a": 2, "b": 3})


agent_of = partial(agent_and_model, tools=TOOLS, driver="react")
run = partial(run_and_model, "2 + 3?", tools=TOOLS, driver="react")


def events(agent: Agent, mode: Any = "event") -> list[dict[str, Any]]:
    """The events of a run; if it fails, the last one is the error."""
    seen: list[dict[str, Any]] = []

    async def collect() -> None:
        async for event in agent.run("2 + 3?").events(mode):
            seen.append(event)  # noqa: PERF401  # events before an error count

    try:
        asyncio.run(collect())
    except LLMError as error:
        seen.append({"type": "raised", "content": str(error)})
    return seen


def shown(request: Any) -> list[tuple[str, str]]:
    """A request's messages, without the system prompt."""
    return [(each["role"], each["content"]) for each in request.messages[1:]]


# Calls and answers


def test_c14_a_call_runs_and_is_shown_as_thought_action_and_observation() -> None:
    result, model = run(CALL, answer("5"))
    assert [(each.name, each.value) for each in result.steps[0].executions] == [("add", 5)]
    assert shown(model.requests[1])[1:] == [
        ("assistant", 'Thought: I add.\nAction: add\nAction Input: {"a":2,"b":3}'),
        ("user", "Observation: 5"),
    ]


@pytest.mark.parametrize(
    ("name", "observation"),
    [
        ("look", 'Observation: "x"'),
        ("fail", "Observation: ERROR - Tool execution failed: ValueError: no"),
    ],
    ids=["C15 result", "C15 failure"],
)
def test_c15_results_are_json_and_failures_say_so(name, observation) -> None:
    _, model = run(decision(tool=name, args={}), answer("done"))
    assert shown(model.requests[1])[-1] == ("user", observation)


@pytest.mark.parametrize("value", ["42", 42], ids=["C16 text", "C16 number"])
def test_c16_an_answer_ends_the_run(value) -> None:
    result, model = run(answer(value))
    assert (result.output, result.status) == ("42", "completed")
    assert [step.kind for step in result.steps] == ["final_response"]
    assert len(model.requests) == 1


def test_thought_and_answer_stream_while_they_arrive() -> None:
    agent, _ = agent_of(list(answer("It is 5.", "Two and three.")))
    seen = [(each["type"], each.get("content")) for each in events(agent, "token")]
    assert seen[1:-1] == [
        *(("think", character) for character in "Two and three."),
        *(("respond", character) for character in "It is 5."),
    ]


def test_an_answer_that_comes_before_its_type_comes_whole() -> None:
    text = json.dumps({"answer": "5", "type": "final_answer", "thought": "Late."})
    agent, _ = agent_of(list(text))
    seen = [(each["type"], each.get("content")) for each in events(agent, "token")]
    assert seen[-2] == ("respond", "5")


def test_an_answer_beside_a_call_is_ignored() -> None:
    text = decision(tool="add", args={"a": 2, "b": 3}, answer="6")
    result, _ = run(text, answer("5"))
    assert result.steps[0].text == ""


@pytest.mark.parametrize(
    ("text", "thoughts"),
    [
        ("{}", "I know."),
        ("```json\n{}\n```", "I know."),
        ("Let me see:\n{} Done.", "Let me see:\nI know."),
        ("<think>a {b} c</think>\n{}", "a {b} c\nI know."),
        ("<think>a</think>```\n{}\n```\nObservation: 6", "a\nI know."),
        ("<thin{}", "<thin\nI know."),
    ],
)
@pytest.mark.parametrize("chunk", [1, 7, None])
def test_a_decision_is_found_whatever_stands_around_it(text, thoughts, chunk) -> None:
    model = ScriptedModel([text.replace("{}", answer("5"))], chunk=chunk)
    result = Agent(model, tools=TOOLS, driver="react").run_sync("2 + 3?")
    assert (result.output, result.steps[0].thoughts) == ("5", thoughts)


def test_reasoning_of_the_provider_stands_before_the_thought() -> None:
    result, _ = run([ReasoningDelta("Deep."), TextDelta(answer("5"))])
    assert result.steps[0].thoughts == "Deep.\n\nI know."


def test_a_native_tool_call_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(LLMError, match='driver="native"'):
        run([ToolCallDelta(0, "c1", "add", "{}")])


# Decisions that cannot be used


def pseudo_calls(result: Any) -> list[tuple[str, str, str]]:
    return [
        (each.name, each.status, each.error)
        for step in result.steps
        for each in step.executions
        if each.name.startswith("decision_")
    ]


def test_c17_the_run_fails_if_no_retry_gives_a_decision() -> None:
    agent, model = agent_of("no", "no", "no", driver=ReActDriver(max_retries=2))
    stream = agent.run("2 + 3?")
    seen: list[dict[str, Any]] = []

    async def collect() -> None:
        async for event in stream:
            seen.append(event)  # noqa: PERF401  # events before an error count

    with pytest.raises(LLMError, match=r"3 answers in a row.*'no'"):
        asyncio.run(collect())
    assert len(model.requests) == 3
    codes = [each["code"] for each in seen if each["type"] == "error"]
    assert codes == ["decision_error"] * 3
    result = stream.result
    assert result.status == "failed"
    assert [step.kind for step in result.steps] == ["error"] * 3
    problem = "No decision: your answer holds no JSON object."
    assert pseudo_calls(result) == [("decision_extraction", "failure", problem)] * 3


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_c17_the_retries_are_a_setting(retries) -> None:
    agent, model = agent_of(*["no"] * 9, driver=ReActDriver(max_retries=retries))
    with pytest.raises(LLMError, match=f"{retries + 1} answers"):
        agent.run_sync("2 + 3?")
    assert len(model.requests) == retries + 1


def test_c17_only_decisions_in_a_row_count() -> None:
    answers = ["no", "no", CALL, "no", "no", answer("5")]
    result, _ = run(*answers)
    assert result.output == "5"


def test_equal_errors_stop_the_run_earlier_if_their_limit_is_lower() -> None:
    result, model = run(
        *["no"] * 9, driver=ReActDriver(max_retries=8), limits=RunLimits(same_errors=2)
    )
    assert (result.status, result.stop.reason, len(model.requests)) == ("stopped", "retry_limit", 2)


@pytest.mark.parametrize("bad", [-1, True, 1.5, None])
def test_c17_a_wrong_number_of_retries_is_refused(bad) -> None:
    with pytest.raises(ConfigError, match="max_retries must be"):
        ReActDriver(max_retries=bad)


NEITHER = "You neither called a tool nor gave a final answer."
NO_NAME = "Your call names no tool."

VALIDATION = {
    "C18 type": (decision(type="x"), "Decision type must be call_tool or final_answer.", NEITHER),
    "C18 no type": (
        '{"thought": "a"}',
        "Decision type must be call_tool or final_answer.",
        NEITHER,
    ),
    "C19 no tool": (decision(), "Tool name is required when type=call_tool.", NO_NAME),
    "C19 empty tool": (decision(tool=" "), "Tool name is required when type=call_tool.", NO_NAME),
    "C19 tool not text": (decision(tool=1), "Tool name is required when type=call_tool.", NO_NAME),
    "C19 unknown": (
        decision(tool="mul", args={}),
        "Requested tool is not available.",
        "Requested tool is not available.",
    ),
    "C19 no answer": (
        decision(type="final_answer"),
        "Answer is required when type=final_answer.",
        "You decided to answer, and wrote no answer.",
    ),
    "C19 empty answer": (
        answer(" "),
        "Answer is required when type=final_answer.",
        "You decided to answer, and wrote no answer.",
    ),
    "C20 args a list": (
        decision(tool="add", args=[1]),
        "Arguments must be a JSON object.",
        "The arguments of your call of add are not an object.",
    ),
    "C20 no args": (
        decision(tool="add"),
        "Arguments are required when type=call_tool.",
        "Your call of add has no arguments. It needs a, b.",
    ),
    "C20 args null": (
        decision(tool="add", args=None),
        "Arguments are required when type=call_tool.",
        "Your call of add has no arguments. It needs a, b.",
    ),
}


@pytest.mark.parametrize(("text", "problem", "told"), VALIDATION.values(), ids=VALIDATION)
def test_c18_a_decision_that_cannot_be_carried_out_is_a_validation_error(
    text, problem, told
) -> None:
    agent, model = agent_of(text, answer("5"))
    seen = events(agent)
    error = next(each for each in seen if each["type"] == "error")
    assert (error["code"], error["raw"]) == ("validation_error", text)
    assert error["content"].startswith(problem)
    assert not any(each["type"] in ("call", "result") for each in seen)
    (_, raw), (_, report) = shown(model.requests[1])[1:]
    assert raw == text
    assert report.startswith(told)
    assert report.endswith(
        " Write one JSON object, with thought, type, tool, args and answer as you were told."
    )
    result, _ = run(text, answer("5"))
    assert pseudo_calls(result) == [("decision_validation", "failure", problem)]
    assert result.output == "5"


def test_c20_args_may_be_left_out_if_no_argument_is_required() -> None:
    result, _ = run(decision(tool="look"), answer("5"))
    assert result.steps[0].executions[0].value == "x"


def test_a_tool_of_a_server_is_found_by_its_long_name() -> None:
    class Search:
        name, description, schema = "search", "Search.", {}

        def __init__(self, server: str) -> None:
            self.server = server

        async def execute(self, **_: Any) -> str:
            return self.server

    call = decision(tool="b__search", args={})
    result, _ = run(call, answer("fine"), tools=[Search("a"), Search("b")])
    assert [each.value for each in result.steps[0].executions] == ["b"]


def test_c21_an_unknown_argument_is_a_failure_of_its_call() -> None:
    result, _ = run(decision(tool="look", args={"whre": "x"}), answer("5"))
    [execution] = result.steps[0].executions
    assert (execution.name, execution.status) == ("look", "failure")
    assert "whre" in str(execution.error)


@pytest.mark.parametrize(
    ("text", "reason", "kind", "place"),
    [
        ('{"thought": "a" "type"', "stop", "malformed", (1, 17)),
        ('so\n{"thought": "a",}', "stop", "malformed", (2, 17)),
        ('{"thought": "a', "length", "truncated", (1, 15)),
        ('{"thought": "a', None, "truncated", (1, 15)),
        ('{"thought": "a', "stop", "unfinished", (1, 15)),
        ("I think that", "length", "truncated", (1, 13)),
    ],
)
def test_the_error_of_a_broken_decision_says_where_it_breaks(text, reason, kind, place) -> None:
    agent, model = agent_of([*text, Finish(reason)], answer("5"))
    error = next(each for each in events(agent) if each["type"] == "error")
    assert (error["code"], error["kind"]) == ("decision_error", kind)
    assert (error["line"], error["column"]) == place
    assert f"at line {place[0]}, column {place[1]}" in error["content"]
    role, told = shown(model.requests[1])[-1]
    assert (role, told.startswith(error["content"])) == ("user", True)


def test_the_rest_of_a_broken_answer_is_not_read() -> None:
    _, model = run([TextDelta('{"a" 1'), AssertionError("read on")], answer("5"))
    assert model.closed_early == 1


def test_a_report_is_gone_from_the_prompt_after_a_success() -> None:
    _, model = run("no", decision(type="x"), CALL, answer("5"))
    assert [len(request.messages) for request in model.requests] == [2, 4, 6, 4]
    assert shown(model.requests[3])[1][1].startswith("Thought: I add.\nAction: add")


def test_the_log_has_a_report_as_a_row_of_its_own() -> None:
    storage = Memory()
    agent, _ = agent_of("no", CALL, answer("5"), storage=storage)
    agent.run_sync("2 + 3?", conversation_id="c")
    rows = asyncio.run(storage.read("c")).rows
    assert [row["type"] for row in rows] == [
        "user", "error", "think", "call", "result", "think", "respond",
    ]  # fmt: skip
    text_agent, model = agent_of("Bye.", driver="text", storage=storage)
    text_agent.run_sync("Bye.", conversation_id="c")
    assert [each["role"] for each in model.requests[0].messages] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip


# The answer in a request of its own


def test_c22_the_answer_may_be_written_in_a_request_without_tools() -> None:
    answers = [[TextDelta(answer("short")), Usage(10, 5)], [TextDelta("It is 5."), Usage(20, 3)]]
    result, model = run(*answers, driver=ReActDriver(final_via_model=True))
    assert result.output == "It is 5."
    assert len(result.steps) == 1
    assert result.usage == Usage(30, 8)
    last = model.requests[1]
    assert (last.tools, last.tool_choice) == ((), "none")
    assert "call_tool" not in last.messages[0]["content"]
    assert shown(last)[:2] == [
        ("user", "2 + 3?"),
        ("assistant", "Thought: I know.\nFinal Answer: short"),
    ]
    assert shown(last)[-1][0] == "user"


def test_c22_another_model_may_write_the_answer() -> None:
    writer = ScriptedModel(["It is 5."])
    result, model = run(decision(type="final_answer"), driver=ReActDriver(final_model=writer))
    assert result.output == "It is 5."
    assert (len(model.requests), len(writer.requests)) == (1, 1)


def test_c22_an_answer_that_was_cut_is_gone_on_with_in_a_request_without_a_decision() -> None:
    answers = [answer("a"), ["It i", Finish("length")], "s 5."]
    result, model = run(*answers, driver=ReActDriver(final_via_model=True))
    assert [step.error and step.error[:20] for step in result.steps] == [
        "Your answer reached ",
        None,
    ]
    assert (result.output, result.steps[-1].text) == ("It is 5.", "s 5.")
    assert model.requests[2].tool_choice == "none"


def test_c22_an_answer_that_is_empty_is_asked_for_again() -> None:
    answers = [answer("a"), "", answer("a"), "It is 5."]
    result, _ = run(*answers, driver=ReActDriver(final_via_model=True))
    assert [step.error and step.error[:20] for step in result.steps] == [
        "Answer is required w",
        None,
    ]
    assert result.output == "It is 5."


def test_c22_a_final_model_that_is_not_a_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be a model"):
        ReActDriver(final_model=3)


# Prompts


def test_the_prompt_lists_the_tools_and_says_how_to_decide() -> None:
    _, model = run(answer("5"), instructions="You are Ada.\n\nBe brief.")
    request = model.requests[0]
    system = request.messages[0]["content"]
    assert system.startswith("You are Ada.\n\nBe brief.\n\n")
    for part in ("- add(a: integer, b: integer) - Add two numbers.", "call_tool", "final_answer"):
        assert part in system
    assert request.tools == ()
    assert request.stop == ("\nObservation:",)


def test_without_tools_the_prompt_says_so() -> None:
    _, model = run(answer("5"), tools=[])
    assert "There are none" in model.requests[0].messages[0]["content"]


def test_each_request_begins_with_the_messages_of_the_one_before() -> None:
    _, model = run(CALL, CALL, answer("5"))
    first, second, third = [list(request.messages) for request in model.requests]
    assert (second[: len(first)], third[: len(second)]) == (first, second)


def test_a_conversation_may_change_its_driver() -> None:
    storage = Memory()
    calls = '[{"name": "add", "args": {"a": 1, "b": 2}}, {"name": "look", "args": {}}]'
    agent, _ = agent_of(f"So.<execute>{calls}</execute>", "3.", driver="text", storage=storage)
    agent.run_sync("1 + 2?", conversation_id="c")
    agent, model = agent_of(answer("Bye."), storage=storage)
    agent.run_sync("Bye.", conversation_id="c")
    actions = 'Action: add\nAction Input: {"a":1,"b":2}\nAction: look\nAction Input: {}'
    assert shown(model.requests[0]) == [
        ("user", "1 + 2?"),
        ("assistant", f"So.\n{actions}"),
        ("user", 'Observation: 3\nObservation: "x"'),
        ("assistant", "Final Answer: 3."),
        ("user", "Bye."),
    ]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.data(), TEXTS, TEXTS, st.booleans())
def test_how_the_text_is_cut_never_matters(data, thought, text, is_broken) -> None:
    written = f"so {answer(text, thought)}"
    if is_broken:
        written = written[: data.draw(st.integers(0, len(written)))]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=6)))
    edges = [0, *cuts, len(written)]

    def read(pieces: list[str]) -> Any:
        reader, texts = DecisionReader(), {"think": "", "respond": ""}
        for piece in pieces:
            for event in reader.feed(piece):
                texts[event["type"]] += event["content"]
        return texts, reader.finish(Finish("stop"))

    pieces = [written[start:end] for start, end in pairwise(edges)]
    assert read(pieces) == read([written])
    if not is_broken:
        assert read(pieces)[0] == {"think": f"so\n{thought}", "respond": text}
