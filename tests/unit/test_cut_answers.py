"""What is cut for its length is joined with what follows, unless the user set that length: there the answer ends.

Any other answer is whole, or its run is not completed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from cogency_rs import (
    Accumulator,
    Agent,
    AnthropicModel,
    Execution,
    Hooks,
    Memory,
    OpenAIModel,
    RunLimits,
    SQLite,
    assemble,
    parse_tokens,
    tool,
)
from cogency_rs.errors import NoAnswerError
from cogency_rs.models import Finish, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from cogency_rs.testing import ReplayModel, ScriptedModel, record
from support.tools import block

LENGTH, STOP = Finish("length"), Finish("stop")
DRIVERS = ["text", "native", "react"]
MODES = ["event", "token"]

ran: list[tuple[int, int]] = []


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    ran.append((a, b))
    return a + b


def decision(answer: str, *, is_whole: bool = True) -> str:
    """A decision of a model for the driver "react"; if it is not whole, it ends inside the answer."""
    written = json.dumps({"thought": "t", "type": "final_answer", "answer": answer})
    return written if is_whole else written[:-2]


def part(driver: str, text: str, finish: Finish = LENGTH) -> list[Any]:
    """What a model writes that says this part of an answer."""
    written = decision(text, is_whole=finish is STOP) if driver == "react" else text
    return [written, finish]


def agent_of(driver: Any, *answers: Any, **options: Any) -> tuple[Agent[Any, Any], ScriptedModel]:
    model = ScriptedModel(answers)
    return Agent(model, driver=driver, **{"tools": [add], **options}), model


async def said(agent: Agent[Any, Any], mode: str, **options: Any) -> tuple[str, Any]:
    """The text that a reader of a run sees, and the result."""
    text = ""
    async with agent.run("?", conversation_id="c", **options) as run:
        async for event in run.events(mode):
            if event["type"] == "respond":
                text += event["content"]
    return text, run.result


# Text

HALVES = ["The first half, ", "and the second half."]
WHOLE = "".join(HALVES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(
    "parts",
    [
        HALVES,
        ["The first half,", " and the second half."],
        ["The fir", "st half, and t", "he second half."],
        ["The first half,\n\n", "- and\n", "  the second half."],
    ],
)
async def test_an_answer_that_is_cut_is_joined_as_it_is_with_what_follows(driver, mode, parts):
    answers = [part(driver, text) for text in parts[:-1]] + [part(driver, parts[-1], STOP)]
    agent, model = agent_of(driver, *answers)
    text, result = await said(agent, mode)
    assert (result.status, result.stop) == ("completed", None)
    assert text == result.output == result.text == "".join(parts)
    assert [step.text for step in result.steps] == [each.strip() for each in parts]
    model.assert_complete()


@pytest.mark.parametrize("driver", DRIVERS)
async def test_the_model_is_shown_its_part_and_told_to_go_on_and_later_prompts_have_the_whole(
    driver,
):
    agent, model = agent_of(
        driver, part(driver, HALVES[0]), part(driver, HALVES[1], STOP), part(driver, "Bye.", STOP)
    )
    await agent.run("?", conversation_id="c")
    [_, question, shown, told] = model.requests[1].messages
    assert (question["role"], shown["role"], told["role"]) == ("user", "assistant", "user")
    assert "The first half," in shown["content"]
    assert "goes on exactly where" in told["content"] or "Go on exactly where" in told["content"]
    assert "Repeat nothing" in told["content"]
    await agent.run("And?", conversation_id="c")
    [_, _, shown, _] = model.requests[2].messages
    assert WHOLE in shown["content"]
    assert "Repeat nothing" not in json.dumps(model.requests[2].messages)


@pytest.mark.parametrize("dialect", ["cogency", "hermes", "harmony", "cohere", "glm47"])
async def test_later_prompts_have_the_whole_in_every_dialect(dialect):
    agent, model = agent_of("text", [HALVES[0], LENGTH], [HALVES[1], STOP], "Bye.", dialect=dialect)
    assert (await agent.run("?", conversation_id="c")).output == WHOLE
    await agent.run("And?", conversation_id="c")
    assert WHOLE in model.requests[2].messages[-2]["content"]


@pytest.mark.parametrize("driver", ["text", "native"])
@pytest.mark.parametrize("mode", MODES)
async def test_reasoning_before_the_rest_is_not_in_the_joint(driver, mode):
    thinks = (
        ["<think>hm</think>\n\nand the second half.", STOP]
        if driver == "text"
        else [ReasoningDelta("hm"), TextDelta("and the second half."), STOP]
    )
    agent, model = agent_of(driver, [HALVES[0], LENGTH], thinks, "Bye.")
    _, result = await said(agent, mode)
    assert result.output == WHOLE
    await agent.run("And?", conversation_id="c")
    assert WHOLE in json.dumps(model.requests[2].messages)


@pytest.mark.parametrize("driver", ["text", "native"])
async def test_reasoning_that_is_cut_is_no_part_of_the_answer(driver):
    thinks = ["<think>I wonder", LENGTH] if driver == "text" else [ReasoningDelta("hm"), LENGTH]
    agent, model = agent_of(driver, thinks, ["It is 3.", STOP])
    result = await agent.run("?")
    assert (result.output, result.status) == ("It is 3.", "completed")
    assert result.steps[0].thoughts
    assert "while you were still thinking" in model.requests[1].messages[-1]["content"]


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_call_instead_of_the_rest_begins_another_answer(driver):
    call = {
        "text": [
            f"Let me see. {block()}".replace("[]", '[{"name": "add", "args": {"a": 1, "b": 2}}]')
        ],
        "native": [ToolCallDelta(0, "1", "add", '{"a": 1, "b": 2}')],
        "react": ['{"thought": "t", "type": "call_tool", "tool": "add", "args": {"a": 1, "b": 2}}'],
    }[driver]
    agent, _ = agent_of(driver, part(driver, "The fir"), call, part(driver, "It is 3.", STOP))
    result = await agent.run("?")
    assert (ran, result.output) == ([(1, 2)], "It is 3.")


# A value


@dataclass
class City:
    name: str
    people: int


OSLO = '{"name": "Oslo", "people": 700000}'


@pytest.mark.parametrize("at", range(1, len(OSLO)))
async def test_a_value_that_is_cut_anywhere_is_joined_and_then_read(at):
    agent, model = agent_of("text", [OSLO[:at], LENGTH], [OSLO[at:], STOP], output_type=City)
    result = await agent.run("?")
    assert (result.output, result.text) == (City("Oslo", 700000), OSLO)
    model.assert_complete()


async def test_a_model_that_begins_its_value_again_is_understood():
    agent, _ = agent_of("text", [OSLO[:9], LENGTH], [OSLO, STOP], output_type=City)
    result = await agent.run("?")
    assert (result.output, result.text) == (City("Oslo", 700000), OSLO)


async def test_a_joined_value_that_does_not_fit_is_asked_for_again_from_its_beginning():
    agent, _ = agent_of("text", ['{"name": ', LENGTH], ["7}", STOP], OSLO, output_type=City)
    result = await agent.run("?")
    assert (result.output, len(result.steps)) == (City("Oslo", 700000), 3)


# Calls

CUT_CALLS = {
    "text": ['<execute>[{"name": "add", "args": {"a": 1, "b": 2', LENGTH],
    "text, the array is whole": ['<execute>[{"name": "add", "args": {"a": 1, "b": 2}}]', LENGTH],
    "native": [ToolCallDelta(0, "1", "add", '{"a": 1, "b": 2'), LENGTH],
    "native, no arguments yet": [ToolCallDelta(0, "1", "add"), LENGTH],
    "react": [
        '{"thought": "t", "type": "call_tool", "tool": "add", "args": {"a": 1, "b": 2',
        LENGTH,
    ],
}


@pytest.mark.parametrize("name", CUT_CALLS)
async def test_a_call_that_is_cut_is_never_run_and_the_model_is_asked_for_it_again(name):
    driver = name.partition(",")[0]
    agent, _ = agent_of(driver, CUT_CALLS[name], part(driver, "I cannot.", STOP))
    result = await agent.run("?")
    assert (ran, result.output) == ([], "I cannot.")
    assert [step.outcome for step in result.steps] == ["truncated", "answered"]


# A length that the user set


class Bounded(ScriptedModel):
    """A model whose answers the user has bounded."""

    def output_limit(self, request: ModelRequest) -> str | None:
        return "max_tokens=20"


def bounded(driver: Any, *answers: Any, **options: Any) -> tuple[Agent[Any, Any], ScriptedModel]:
    model = Bounded(answers)
    return Agent(model, driver=driver, **{"tools": [add], **options}), model


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_ends_where_the_user_bounded_it(driver, mode):
    agent, model = bounded(driver, part(driver, HALVES[0]), part(driver, "Bye.", STOP))
    text, result = await said(agent, mode)
    assert (result.status, len(model.requests)) == ("completed", 1)
    assert result.output == result.text == text.strip() == HALVES[0].strip()
    assert (str(result.stop.reason), result.stop.message) == (
        "completed",
        "The answer was cut at max_tokens=20",
    )
    [step] = result.steps
    assert (step.kind, step.outcome, step.finish_reason) == (
        "final_response",
        "truncated",
        "length",
    )
    again = await agent.resume("c")
    assert (again.status, again.output, again.text) == ("completed", result.output, result.text)
    await agent.run("And?", conversation_id="c")
    [_, _, shown, question] = model.requests[1].messages
    assert HALVES[0].strip() in shown["content"]
    assert question == {"role": "user", "content": "And?"}


@pytest.mark.parametrize("limits", [RunLimits(same_errors=1), RunLimits(steps=1)])
async def test_the_end_of_an_answer_that_the_user_set_is_no_error_that_a_limit_counts(limits):
    agent, _ = bounded("text", part("text", HALVES[0]), limits=limits)
    assert (await agent.run("?")).output == HALVES[0].strip()


async def test_a_limit_of_the_run_on_words_for_an_end_comes_first():
    limits = RunLimits(finish_reasons=["length"])
    agent, _ = bounded("text", part("text", HALVES[0]), limits=limits)
    assert str((await agent.run("?")).stop.reason) == "finish_reason"


class GoesOn(Hooks):
    """Wants the whole answer all the same."""

    async def on_stop(self, ctx: Any, signal: Any) -> None:
        ctx.go_on()


async def test_a_hook_may_go_on_after_the_user_s_limit():
    agent, model = bounded("text", [HALVES[0], LENGTH], [HALVES[1], STOP], hooks=[GoesOn()])
    assert (await agent.run("?")).output == WHOLE
    model.assert_complete()


@pytest.mark.parametrize(
    ("driver", "answer", "options", "what"),
    [
        ("text", ["<think>I wonder", LENGTH], {}, "written"),
        ("native", [ReasoningDelta("I wonder"), LENGTH], {}, "written"),
        ("text", ['{"name": ', LENGTH], {"output_type": City}, "of the type that was asked for"),
    ],
)
async def test_what_is_no_answer_at_the_user_s_limit_stops_the_run(driver, answer, options, what):
    agent, model = bounded(driver, answer, **options)
    result = await agent.run("?")
    assert (result.status, str(result.stop.reason)) == ("stopped", "truncated")
    assert result.stop.message == (
        f"the answer was cut at max_tokens=20 before it was {what}: raise that, or ask for less"
    )
    assert len(model.requests) == 1
    with pytest.raises(NoAnswerError, match="max_tokens=20"):
        result.output  # noqa: B018


async def test_a_value_that_is_whole_at_the_user_s_limit_is_the_output():
    agent, _ = bounded("text", [OSLO, LENGTH], output_type=City)
    result = await agent.run("?", conversation_id="c")
    assert result.output == (await agent.resume("c")).output == City("Oslo", 700000)


@pytest.mark.parametrize("name", CUT_CALLS)
async def test_a_call_that_is_cut_at_the_user_s_limit_is_asked_for_again(name):
    driver = name.partition(",")[0]
    agent, _ = bounded(driver, CUT_CALLS[name], part(driver, "I cannot.", STOP))
    assert (await agent.run("?")).output == "I cannot."
    assert ran == []


async def test_where_each_answer_must_be_a_call_text_does_not_end_the_run():
    call = '<execute>[{"name": "add", "args": {"a": 1, "b": 2}}]</execute>'
    limits = RunLimits(require_tool=True, stop_at_tools=["add"])
    agent, _ = bounded("text", [HALVES[0], LENGTH], call, limits=limits)
    assert (await agent.run("?")).output == 3


class Shortens(Hooks):
    """Bounds each answer."""

    async def before_model_request(self, ctx: Any, request: ModelRequest) -> ModelRequest:
        return replace(request, settings={"max_tokens": 5})


async def test_a_hook_bounds_answers_too():
    agent, _ = agent_of("text", [HALVES[0], LENGTH], hooks=[Shortens()])
    result = await agent.run("?")
    assert (result.output, result.stop.message) == (
        HALVES[0].strip(),
        "The answer was cut at max_tokens=5",
    )


async def test_a_recorded_answer_ends_as_it_did(tmp_path):
    path = tmp_path / "talk.jsonl"
    recorded = await Agent(record(Bounded([[HALVES[0], LENGTH]]), path)).run("?")
    replayed = await Agent(ReplayModel(path)).run("?")
    assert recorded.output == replayed.output == HALVES[0].strip()


def limit(model: Any, **settings: Any) -> str | None:
    return model.output_limit(ModelRequest([], settings=settings))


def test_a_model_names_the_limit_that_it_was_given():
    def openai(**settings: Any) -> OpenAIModel:
        return OpenAIModel("m", base_url="http://127.0.0.1:1/v1", **settings)

    def anthropic(**settings: Any) -> AnthropicModel:
        return AnthropicModel("m", base_url="http://127.0.0.1:1", **settings)

    assert limit(openai()) is limit(anthropic()) is None
    assert limit(openai(max_tokens=9)) == limit(anthropic(max_tokens=9)) == "max_tokens=9"
    assert limit(openai(max_tokens=9), max_tokens=5) == "max_tokens=5"
    assert limit(openai(max_completion_tokens=9)) == "max_completion_tokens=9"
    assert limit(openai(extra_body={"num_predict": 9})) == "num_predict=9"
    assert limit(openai(extra_body={"n_predict": -1})) is None  # llama.cpp: any length


# Where it cannot be joined


@pytest.mark.parametrize("driver", ["text", "native", "react"])
@pytest.mark.parametrize(
    ("options", "reason", "parts"),
    [
        ({"limits": RunLimits(steps=2)}, "steps_limit", 2),
        ({"limits": RunLimits(total_tokens=1)}, "token_limit", 1),
        ({"limits": RunLimits(same_errors=3)}, "truncated", 3),
        ({"limits": RunLimits(finish_reasons=["length"])}, "finish_reason", 1),
    ],
)
async def test_an_answer_that_is_not_whole_within_the_limits_does_not_complete_the_run(
    driver, options, reason, parts
):
    agent, _ = agent_of(driver, *[part(driver, "on and ")] * 9, **options)
    result = await agent.run("?")
    assert (result.status, str(result.stop.reason)) == ("stopped", reason)
    assert result.text == ("on and " * parts).strip()
    with pytest.raises(NoAnswerError, match=reason):
        result.output  # noqa: B018


# Another program goes on


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_run_that_is_resumed_joins_what_another_run_left(driver, mode):
    storage = Memory()
    first, _ = agent_of(driver, part(driver, HALVES[0]), storage=storage, limits=RunLimits(steps=1))
    _, result = await said(first, mode)
    assert (result.status, result.text) == ("stopped", HALVES[0].strip())
    second, model = agent_of(driver, part(driver, HALVES[1], STOP), storage=storage)
    again = await second.resume("c")
    assert (again.status, again.output) == ("completed", WHOLE)
    assert "Repeat nothing" in model.requests[0].messages[-1]["content"]
    third, _ = agent_of(driver, storage=storage)
    once_more = await third.resume("c")
    assert (once_more.status, once_more.output, once_more.steps) == ("completed", WHOLE, ())


async def test_a_value_is_joined_with_what_another_run_left():
    storage = Memory()
    options: dict[str, Any] = {"storage": storage, "output_type": City}
    first, _ = agent_of("text", [OSLO[:12], LENGTH], limits=RunLimits(steps=1), **options)
    await first.run("?", conversation_id="c")
    second, _ = agent_of("text", [OSLO[12:], STOP], **options)
    assert (await second.resume("c")).output == City("Oslo", 700000)
    third, _ = agent_of("text", **options)
    assert (await third.resume("c")).output == City("Oslo", 700000)


async def test_all_texts_of_an_answer_are_its_output_when_it_is_resumed_too():
    agent, _ = agent_of("text", "It is <think>hm</think>3.")
    result = await agent.run("?", conversation_id="c")
    assert result.output == (await agent.resume("c")).output == "It is\n\n3."


class Dies(Memory):
    """A log whose program ends after so many writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    async def append(self, *args: Any, **options: Any) -> Any:
        if self.left == 0:
            raise OSError("killed")
        self.left -= 1
        return await super().append(*args, **options)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("writes", range(1, 5))
async def test_a_part_of_an_answer_is_never_the_answer_wherever_the_program_ends(driver, writes):
    storage = Dies(writes)
    first, _ = agent_of(
        driver, part(driver, HALVES[0]), part(driver, HALVES[1], STOP), storage=storage
    )
    with suppress(OSError):
        await first.run("?", conversation_id="c")
    storage.left = -1
    rows = (await storage.read("c")).rows
    has_first = any(row["type"] == "respond" for row in rows)
    rest = HALVES[1] if has_first else WHOLE
    second, _ = agent_of(driver, part(driver, rest, STOP), storage=storage)
    assert (await second.resume("c")).output == WHOLE


async def test_a_time_limit_in_the_middle_of_an_answer_leaves_it_open(monkeypatch):
    now = 0.0
    monkeypatch.setattr("cogency_rs.runs.context.monotonic", lambda: now)

    async def is_late(request: Any) -> Any:
        nonlocal now
        yield HALVES[0][:9]
        now = 60.0
        yield HALVES[0][9:]
        yield "never read"

    storage = Memory()
    first = Agent(is_late, storage=storage, limits=RunLimits(seconds=60))
    _, result = await said(first, "token")
    assert (result.status, str(result.stop.reason)) == ("stopped", "time_limit")
    second, _ = agent_of("text", HALVES[1], storage=storage)
    assert (await second.resume("c")).output == WHOLE


# The accumulator, for loops of one's own


@pytest.mark.parametrize("mode", MODES)
async def test_a_loop_of_ones_own_can_join_the_parts_and_its_prompts_have_the_whole(mode):
    async with SQLite(":memory:") as log:
        await log.save_message("c", "u", "user", "?")
        turns = Accumulator("u", "c", execution=Execution(storage=log), stream=mode)
        text = ""
        for chunks, goes_on in (((HALVES[0][:-1], LENGTH), False), ((f" {HALVES[1]}", STOP), True)):
            source = parse_tokens(_stream(chunks), errors="event")
            async for event in turns.process(source, goes_on=goes_on):
                text += event["content"] if event["type"] == "respond" else ""
        assert text == WHOLE
        await log.save_message("c", "u", "user", "And?")
        messages = await assemble("u", "c", tools=[], storage=log)
        assert [message["content"] for message in messages[1:]] == ["?", WHOLE, "And?"]


async def _stream(chunks: Sequence[Any]) -> Any:
    for chunk in chunks:
        yield chunk
