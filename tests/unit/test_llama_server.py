"""A real server of models: agents, requests and failures over llama.cpp's HTTP server, with a model made here.

The model's answers are fixed (see `support.tiny_model`). Everything else is real: templates, tokens, stop strings, the
server's own parser of tool calls and of reasoning, its errors.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, OpenAIModel, RunLimits
from cogency_rs.agent import TextDriver
from cogency_rs.errors import LLMError
from cogency_rs.models import (
    Finish,
    ModelRequest,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
    ToolDeclaration,
    Usage,
)
from cogency_rs.tools.registry import parameters_of
from support.agents import add
from support.llama_server import LlamaServer, llama_server, needs_llama
from support.openai_served import plain_environment
from support.tiny_model import Endless, tiny_model
from support.waiting import until

__all__ = ["plain_environment"]

pytestmark = needs_llama


def hermes(*calls: tuple[int, int]) -> str:
    written = (json.dumps({"name": "add", "arguments": {"a": a, "b": b}}) for a, b in calls)
    return "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in written)


ANSWERS = {
    "what is 2 + 3": 'I add. <execute>[{"name": "add", "args": {"a": 2, "b": 3}}]</execute>',
    "what is 20 + 30": hermes((20, 30)),
    "two sums": hermes((11, 12), (100, 101)),
    "the sum of yours with add": '<tool_call>  {"arguments": {"a":8, "b":9}, "name": "add"}  </tool_call>',
    "17": "Seventeen it is.",
    "ponder": "<think>\nA riddle, is it not?\n</think>\nNo idea.",
    "for ever": Endless("tick, tock; "),
    "as an object": '{"sum": 7}',
    '"content": 5': "Five it is.",
    "50": "Half a hundred.",
    "201": "Twenty-three, and 201.",
    "": "Good day to you!",
}
"""The model's answers, by words in the last message. Of several keys in it, the first one counts."""

HI = [{"role": "user", "content": "Hi"}]
DECLARED = ToolDeclaration("add", "Add.", parameters_of(add))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    path.write_bytes(tiny_model(ANSWERS))
    return path


@pytest.fixture(scope="module")
def server(tiny) -> Iterator[LlamaServer]:
    with llama_server(tiny) as server:
        yield server


@pytest.fixture
def url(server) -> str:
    return str(server.url)


def model(url: str, **settings: Any) -> OpenAIModel:
    return OpenAIModel("tiny", base_url=url, **{"temperature": 0, "max_retries": 0, **settings})


async def ask(asked: OpenAIModel, question: str, **fields: Any) -> list[Any]:
    request = ModelRequest([{"role": "user", "content": question}], **fields)
    async with asked:
        return [delta async for delta in asked.stream(request)]


def text(deltas: Sequence[Any]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


# Agents


@pytest.mark.parametrize(
    ("driver", "question", "output", "sums"),
    [
        ({"dialect": "cogency"}, "what is 2 + 3?", "Five it is.", [5]),
        ({"dialect": "hermes"}, "what is 20 + 30?", "Half a hundred.", [50]),
        ({"dialect": "hermes"}, "two sums", "Twenty-three, and 201.", [23, 201]),
        ({"driver": "native"}, "what is 20 + 30?", "Half a hundred.", [50]),
        ({"driver": "native"}, "two sums", "Twenty-three, and 201.", [23, 201]),
    ],
    ids=["cogency", "hermes", "hermes, two calls", "native", "native, two calls"],
)
async def test_an_agent_calls_its_tools_and_answers(url, driver, question, output, sums):
    async with model(url) as served:
        result = await Agent(served, tools=[add], **driver).run(question)
    acted, answered = result.steps
    assert (result.status, result.output) == ("completed", output)
    assert [execution.value for execution in acted.executions] == sums
    assert answered.finish_reason == "stop"
    assert result.usage.input_tokens > 0 < result.usage.output_tokens


async def test_calls_stay_text_if_the_server_applies_the_template_and_reads_no_calls(url):
    driver = TextDriver("hermes", tools_in="request")
    async with model(url, tool_choice="none") as served:
        agent = Agent(served, tools=[add], driver=driver)
        messages = agent.prompt("the sum of yours").request.messages
        assert "add" not in str(messages)  # so it is the server that declares the tool
        result = await agent.run("the sum of yours")
        without = await Agent(served, tools=[], driver=driver).run("the sum of yours")
    assert (result.output, without.output) == ("Seventeen it is.", "Good day to you!")
    assert [execution.value for execution in result.steps[0].executions] == [17]


async def test_a_server_that_reads_the_calls_itself_says_how_to_keep_them_as_text(url):
    async with model(url) as served:
        agent = Agent(served, tools=[add], driver=TextDriver("hermes", tools_in="request"))
        with pytest.raises(LLMError, match=r"model=OpenAIModel\(…, tool_choice=\"none\"\)"):
            await agent.run("what is 20 + 30?")


async def test_a_conversation_goes_on_over_several_questions(url):
    async with model(url) as served, Agent(served, tools=[add], driver="native") as agent:
        outputs = [
            (await agent.run(question, conversation_id="c")).output
            for question in ("Hi", "what is 20 + 30?", "Hi again", "two sums")
        ]
    day = "Good day to you!"
    assert outputs == [day, "Half a hundred.", day, "Twenty-three, and 201."]


async def test_conversations_at_the_same_time_do_not_mix(url):
    questions = {
        "what is 20 + 30?": "Half a hundred.",
        "two sums": "Twenty-three, and 201.",
        "Hi": "Good day to you!",
    }
    async with model(url) as served:
        agent = Agent(served, tools=[add], driver="native")
        results = await asyncio.gather(*(agent.run(each) for each in [*questions] * 3))
    assert [result.output for result in results] == [*questions.values()] * 3


@dataclass
class Sum:
    """A sum."""

    sum: int


async def test_an_answer_is_an_object_if_the_output_type_is_one(url):
    async with model(url) as served:
        result = await Agent(served, output_type=Sum, driver="native").run("as an object")
    assert result.output == Sum(7)


async def test_a_token_limit_cuts_an_answer_and_the_step_says_so(url):
    async with model(url, max_tokens=4) as served:
        result = await Agent(served, limits=RunLimits(steps=1)).run("for ever")
    assert result.steps[0].finish_reason == "length"


# Answers


async def test_an_answer_streams_and_ends_with_its_usage_and_its_reason(url):
    *pieces, used, finish = await ask(model(url), "Hi")
    assert text(pieces) == "Good day to you!"
    assert isinstance(used, Usage)
    assert used.output_tokens >= len(pieces)
    assert finish == Finish("stop")


async def test_a_stop_string_ends_an_answer_and_is_left_out(url):
    *pieces, _, finish = await ask(model(url), "for ever", stop=(";",))
    assert (text(pieces), finish) == ("tick, tock", Finish("stop"))


async def test_a_cut_answer_says_so(url):
    *pieces, used, finish = await ask(model(url, max_tokens=3), "for ever")
    assert text(pieces).startswith("tick, tock")
    assert (used.output_tokens, finish) == (3, Finish("length"))


async def test_calls_come_with_the_server_s_ids_in_however_many_pieces(url):
    deltas = await ask(model(url), "two sums", tools=(DECLARED,))
    calls = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert deltas[-1] == Finish("tool_calls")
    ids = {delta.index: delta.id for delta in calls if delta.id}
    assert sorted(ids) == [0, 1]
    assert ids[0] != ids[1]
    for index, sum in enumerate([{"a": 11, "b": 12}, {"a": 100, "b": 101}]):
        assert [delta.name for delta in calls if delta.index == index and delta.name] == ["add"]
        assert json.loads("".join(d.arguments for d in calls if d.index == index)) == sum


@pytest.mark.parametrize("choice", ["required", SpecificTool("add")])
async def test_the_server_accepts_a_tool_choice(url, choice):
    deltas = await ask(model(url), "what is 20 + 30?", tools=(DECLARED,), tool_choice=choice)
    assert any(isinstance(delta, ToolCallDelta) for delta in deltas)


async def test_reasoning_that_the_server_takes_out_of_the_text_is_read_as_reasoning(url):
    deltas = await ask(model(url), "ponder")
    thought = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    assert (thought.strip(), text(deltas).strip()) == ("A riddle, is it not?", "No idea.")


def template(messages: Sequence[Mapping[str, Any]]) -> str:
    """The prompt of a plain completion, which the caller writes; its end chooses the answer."""
    words = messages[-1]["content"]
    number = next(number for number, key in zip(count(), ANSWERS, strict=False) if key in words)
    return f"<|im_start|>user\n{words}<|im_end|>\n<|answer {number}|>"


async def test_a_plain_completion_is_asked_with_the_caller_s_own_prompt(url):
    served = model(url, endpoint="completions", template=template)
    *pieces, used, finish = await ask(served, "for ever", stop=("tock",))
    assert (text(pieces), finish) == ("tick, ", Finish("stop"))
    assert used.input_tokens > 0


async def test_an_agent_reads_its_dialect_in_plain_completions(url):
    async with model(url, endpoint="completions", template=template) as served:
        result = await Agent(served, tools=[add], dialect="hermes").run("two sums")
    assert result.output == "Twenty-three, and 201."


# Answers that are stopped


async def until_stopped(server: LlamaServer, before: int) -> None:
    """Wait until the server has stopped an answer before its end."""
    await until(lambda: server.cancelled != before, "the server goes on")


async def test_closing_an_answer_stops_it_on_the_server(server):
    before = server.cancelled
    async with model(server.url) as served:
        async with aclosing(served.stream(ModelRequest([{**HI[0], "content": "for ever"}]))) as it:
            assert isinstance(await anext(it), TextDelta)
        await until_stopped(server, before)


async def test_cancelling_a_run_stops_its_answer_on_the_server(server):
    before = server.cancelled
    async with model(server.url) as served:
        began = asyncio.Event()

        async def run() -> None:
            async for event in Agent(served).run("for ever"):
                if event["type"] == "respond":
                    began.set()

        running = asyncio.create_task(run())
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await until_stopped(server, before)


# Failures


async def test_a_prompt_that_is_too_long_is_refused_with_what_to_do(url):
    with pytest.raises(LLMError, match=r"refused a prompt that is too long .*History") as caught:
        await ask(model(url), "too long " * 1_500)
    assert not caught.value.rate_limited


async def test_a_server_of_one_model_answers_to_every_model_name(url):
    asked = OpenAIModel("another", base_url=url, temperature=0)
    assert text(await ask(asked, "Hi")) == "Good day to you!"


async def test_the_error_for_an_address_without_the_api_names_the_missing_path(url):
    asked = OpenAIModel("tiny", base_url=f"{url}/chat", max_retries=0)
    with pytest.raises(LLMError, match=r"has no such API .* such as /v1\?"):
        await ask(asked, "Hi")


async def test_a_setting_that_the_server_refuses_is_named(url):
    with pytest.raises(LLMError, match=f"{url} refused the request .*; correct the settings"):
        await ask(model(url, logit_bias="x", extra_body={"n_probs": "many"}), "Hi")


async def test_a_wrong_key_is_refused_with_what_to_do_and_the_right_one_answers(tiny):
    with llama_server(tiny, "right") as server:
        url = server.url
        with pytest.raises(LLMError, match=r"refused the key .*; set OPENAI_API_KEY") as caught:
            await ask(model(url, api_key="wrong"), "Hi")
        assert caught.value.auth_failed
        assert text(await ask(model(url, api_key="right"), "Hi")) == "Good day to you!"


async def test_a_server_that_stops_in_mid_answer_breaks_the_stream_and_then_cannot_be_reached(tiny):
    with llama_server(tiny) as server:
        served = model(server.url, max_retries=1)
        answer = served.stream(ModelRequest([{**HI[0], "content": "for ever"}]))
        assert isinstance(await anext(answer), TextDelta)
    # A request that was repeated would find no server.
    with pytest.raises(LLMError, match=r"broke off .*; its answer is incomplete"):
        async for _ in answer:
            pass
    with pytest.raises(LLMError, match=r"no server answers at .* is the server running there"):
        await ask(served, "Hi")


# The command line


def test_the_command_ask_prints_the_server_s_answer(url, command):
    pytest.importorskip("typer", reason="the command line is in the extra cli")
    ended = command("ask", "--model", "tiny", "--base-url", url, "Hi")
    assert (ended.code, ended.out) == (0, "Good day to you!\n")
