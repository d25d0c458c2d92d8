"""Output that is not quite right costs one step: what the model is told, for how long, and when a run gives up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import RunLimits, ToolCall, tool
from cogency_rs.errors import StopReason, StopRun
from cogency_rs.models import Finish
from support.agents import add, agent, model_of, prompts, results, types
from support.ways import in_both_ways

pytestmark = [in_both_ways, pytest.mark.timeout(30)]


def forge(name: Any, **arguments: Any) -> str:
    return f"<tool>{json.dumps({'tool_name': name, 'arguments': arguments})}</tool>"


ADD = forge("add", a=1, b=2)
OWN_FORM = (
    '<tool>{"server_name": "local", "tool_name": "add", "arguments": {"a": 0, "b": 0}}</tool>'
)
"""Where the tools are known, the example is of one of them."""

FORM = '<tool>{"server_name": "local", "tool_name": "tool_name", "arguments": {"argument": "value"}}</tool>'
LONG = "x" * 5000


@tool
async def breaks() -> None:
    """Fail."""
    raise ValueError("it broke")


def forge_agent(*answers: Any, **options: Any) -> Any:
    return agent(*answers, dialect="forge-json", **{"tools": [add, breaks], **options})


async def test_f22_results_go_back_as_the_next_user_message_and_the_text_keeps_its_order():
    mine = forge_agent(f"First.\n{ADD}\nThen.\n{forge('add', a=3, b=4)}\nLast.", "done")
    await mine.run("?", conversation_id="c")
    question, assistant, returned = prompts(mine)[1]
    assert [each["role"] for each in (question, assistant, returned)] == [
        *("user", "assistant", "user")
    ]
    places = [assistant["content"].index(part) for part in ("First.", '"b": 2', "Then.", '"b": 4')]
    assert places == sorted(places)
    assert "Last." in assistant["content"]
    assert "3" in returned["content"]
    assert "7" in returned["content"]


MALFORMED = {
    "F23 invalid_payload": (
        f'<tool>{{"tool_name": "add", "arguments": {{"q": "{LONG}" ]</tool>',
        "invalid_payload",
        "expected ',' or '}' after the value",
    ),
    "F23 missing_tool_name": (
        forge("", q=LONG),
        "missing_tool_name",
        'needs a "tool_name" that is a string, found an empty one',
    ),
    "F23 no_tool_call": (f"I would rather not. {LONG}", "no_tool_call", "calls no tool"),
}


@pytest.mark.parametrize(("answer", "code", "what"), MALFORMED.values(), ids=MALFORMED)
async def test_f23_the_model_is_told_what_was_wrong_and_the_correct_form_for_one_step(
    answer, code, what
):
    mine = forge_agent(answer, ADD, ADD, limits=RunLimits(steps=3, require_tool=True))
    stream = mine.run("?", conversation_id="c")
    events = [event async for event in stream]
    [error] = [event for event in events if event["type"] == "error"]
    assert error["code"] == code
    told = prompts(mine)[1][-1]
    assert told["role"] == "user"
    assert what in told["content"]
    form = OWN_FORM if code == "no_tool_call" else FORM
    assert form in told["content"]
    assert len(told["content"].replace(form, "")) < 300 + 200
    assert prompts(mine)[1][-2] == {"role": "assistant", "content": answer}, "the model's text"
    for later in prompts(mine)[2:]:
        assert what not in str(later), "the report is ephemeral"
    assert types(mine).count("error") == 1, "the log has the report"
    assert [step.kind for step in stream.result.steps] == ["error", *["tool_execution"] * 2]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (forge("subtract", a=1), "'subtract' not registered. Known tools: add, breaks"),
        (forge("breaks"), "ValueError: it broke"),
    ],
    ids=["F23 unknown_tool", "F23 tool_execution"],
)
async def test_f23_a_call_that_fails_has_a_result_that_says_so(call, what):
    mine = forge_agent(call, "done")
    await mine.run("?", conversation_id="c")
    assert results(mine)[0][0]["content"].endswith(what)
    assert what.removeprefix("'") in prompts(mine)[1][-1]["content"]


@pytest.mark.parametrize(
    ("answers", "steps", "says"),
    [
        (["<tool>{]</tool>"] * 9, 5, "5 equal errors in a row: invalid_payload: "),
        (
            [forge("breaks")] * 9,
            5,
            "5 equal errors in a row: tool_execution of 'breaks': Tool execution failed: ",
        ),
        ([forge("nix", n=n) for n in range(9)], 5, "unknown_tool of 'nix'"),
        ([forge("nix"), forge("nox")] * 4 + ["done"], 9, None),
        ([*[forge("breaks")] * 4, ADD, *[forge("breaks")] * 4, "done"], 10, None),
        ([*[forge("breaks")] * 4, "<tool>{]</tool>", *[forge("breaks")] * 4, "done"], 10, None),
    ],
    ids=[
        "F24 malformed",
        "F24 of one tool",
        "F24 worded differently each time",
        "F24 of two tools in turn",
        "F24 a success resets",
        "F24 another kind resets",
    ],
)
async def test_f24_five_equal_errors_in_a_row_end_the_run(answers, steps, says):
    result = await forge_agent(*answers).run("?")
    assert len(result.steps) == steps
    if says is None:
        assert result.status == "completed"
    else:
        assert result.status == "stopped"
        assert result.stop is not None
        assert (result.stop.reason, result.stop.source) == (StopReason.RETRY_LIMIT, "recovery")
        assert says in result.stop.message
        assert len(result.stop.message) < 400


@pytest.mark.parametrize("most", [1, 2, None])
async def test_f24_the_limit_is_an_option(most):
    mine = forge_agent(lambda _: "<tool>{]</tool>", limits=RunLimits(steps=8, same_errors=most))
    assert len((await mine.run("?")).steps) == (most or 8)


async def test_f24_equal_errors_of_one_batch_count_once():
    batch = "\n".join([forge("breaks")] * 9)
    assert (await forge_agent(*[batch] * 4, "done").run("?")).status == "completed"
    assert len((await forge_agent(lambda _: batch).run("?")).steps) == 5


@pytest.mark.parametrize("name", ["task_completion", "ask_question", "converse"])
async def test_f25_a_tool_may_end_the_run(name):
    async def speak(message: str) -> str:
        return message

    ends = tool(speak, name=name, description="Speak to the user.", ends_run=True)
    mine = forge_agent(ADD, forge(name, message="Which one?"), tools=[add, ends])
    result = await mine.run("?", conversation_id="c")
    assert (result.output, result.status, len(result.steps)) == ("Which one?", "completed", 2)
    assert result.stop == StopRun(
        f"Tool '{name}' ended the run", reason=StopReason.COMPLETED, source=name
    )


async def test_f26_an_answer_without_a_call_is_the_final_answer_by_default():
    assert (await forge_agent("42").run("?")).output == "42"


async def test_f26_with_require_tool_an_answer_without_a_call_is_an_error():
    mine = forge_agent("42", ADD, limits=RunLimits(require_tool=True, stop_at_tools=["add"]))
    result = await mine.run("?", conversation_id="c")
    assert result.steps[0].kind == "error"
    assert result.steps[0].error is not None
    assert result.steps[0].error.startswith("Your answer calls no tool")
    assert result.output == 3


@pytest.mark.parametrize("visible", [False, lambda ctx: ctx.user_id == "root"])
async def test_f27_a_hidden_tool_is_callable_and_not_listed(visible):
    @tool(visible=visible)
    async def secret() -> str:
        """Do something that the prompt does not list."""
        return "done in secret"

    mine = forge_agent(forge("secret"), "done", tools=[add, secret])
    result = await mine.run("?", conversation_id="c")
    system = model_of(mine).requests[0].messages[0]["content"]
    assert "add" in system
    assert "secret" not in system
    assert result.steps[0].executions[0].value == "done in secret"


async def test_f27_a_predicate_is_asked_once_a_run_so_that_prompts_stay_equal():
    asked: list[str] = []

    def visible(ctx: Any) -> bool:
        asked.append(ctx.run_id)
        return len(asked) % 2 == 1

    @tool(visible=visible)
    async def sometimes() -> None:
        """Do nothing."""

    mine = forge_agent(ADD, ADD, "done", tools=[add, sometimes])
    await mine.run("?")
    assert len(asked) == 1
    systems = {request.messages[0]["content"] for request in model_of(mine).requests}
    assert len(systems) == 1


async def test_a_call_that_was_cut_off_is_recognised_and_never_runs():
    mine = forge_agent([f"{ADD[:-12]}", Finish("length")], ADD, "done")
    result = await mine.run("?", conversation_id="c")
    assert [step.outcome.value for step in result.steps] == ["truncated", "acted", "answered"]
    assert [len(step.executions) for step in result.steps] == [0, 1, 0]
    assert result.steps[1].calls == (ToolCall("add", {"a": 1, "b": 2}),)
