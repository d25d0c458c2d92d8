"""The dialect of a model behind a server that tells its chat template, as llama.cpp's does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cogency_rs import Agent, Dialect, OpenAIModel
from cogency_rs.agent import TextDriver
from cogency_rs.errors import LLMError
from cogency_rs.models import ModelRequest
from cogency_rs.testing import ModelServer, Reply, ScriptedModel
from support import openai_served
from support.agents import add
from support.clock import in_exact_time
from support.llama_server import llama_server, needs_llama
from support.openai_served import DONE, STOP, delta, reply
from support.tiny_model import tiny_model

openai_environment = openai_served.plain_environment

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}<tool_call>\n"
    "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}\n</tool_call>"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if tools %}{% endif %}"
)
FOUND = "rendered with one tool and one call, hermes reads the call"
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'


@asynccontextmanager
async def served(*texts: str, props: Any = None) -> AsyncIterator[tuple[ModelServer, OpenAIModel]]:
    replies = [reply(delta(content=text), STOP, DONE) for text in texts]
    async with (
        ModelServer(replies, props=props) as server,
        OpenAIModel("m", base_url=f"{server.url}/v1", max_retries=0) as model,
    ):
        yield server, model


async def test_the_first_step_is_in_the_dialect_that_the_server_tells():
    async with served(CALL, "3.", props={"chat_template": TEMPLATE}) as (server, model):
        agent = Agent(model, tools=[add])
        assert agent.describe()["dialect"] == "cogency"
        result = await agent.run("1 + 2?")
        assert (result.output, len(result.steps)) == ("3.", 2)
        described = agent.describe()
        assert described["dialect"] == "hermes"
        assert described["evidence"].startswith(FOUND)
        prompt = server.requests[0].body["messages"][0]["content"]
        assert "<tool_call>" in prompt
        assert Agent(model).describe()["dialect"] == "hermes", "it is known for the next agent"


async def test_a_prompt_is_shown_in_this_dialect_once_it_is_known():
    async with served("Hello.", props={"chat_template": TEMPLATE}) as (_, model):
        agent = Agent(model, tools=[add])
        assert "<tool_call>" not in str(agent.prompt("1 + 2?")), "nothing is asked for a prompt"
        await agent.run("Hi")
        assert "<tool_call>" in str(agent.prompt("1 + 2?"))


async def test_a_prompt_says_that_the_server_was_not_asked_yet():
    async with served(props={"chat_template": TEMPLATE, "eos_token": "</s>"}) as (_, model):
        agent = Agent(model, tools=[add])
        [missing] = agent.prompt("1 + 2?").missing
        assert "await model.detect_dialect()" in missing
        assert Agent(model, tools=[add], dialect="hermes").prompt("1 + 2?").missing == ()
        await model.detect_dialect()
        assert Agent(model, tools=[add]).prompt("1 + 2?").missing == ()


async def test_it_can_be_asked_for_before_there_is_an_agent():
    async with served(props={"chat_template": TEMPLATE, "eos_token": "</s>"}) as (_, model):
        found = await model.detect_dialect()
        assert found is not None
        assert found is await model.detect_dialect()
        assert model.dialect == found.dialect == Dialect("hermes")


async def test_the_template_for_tools_is_preferred():
    plain = "{% for m in messages %}{{ m.content }}{% endfor %}"
    props = {"chat_template": plain, "chat_template_tool_use": TEMPLATE}
    async with served(props=props) as (_, model):
        found = await model.detect_dialect()
        assert found is not None
        assert found.evidence[0] == FOUND


@pytest.mark.parametrize(
    "props",
    [
        None,
        {},
        {"chat_template": 5},
        {"chat_template": ""},
        {"chat_template": TEMPLATE.replace("<tool_call>", "<<<<C ").replace("</tool_call>", ">>>")},
    ],
    ids=["no such page", "no template", "a number", "empty", "no known dialect"],
)
async def test_where_it_tells_none_the_model_is_told_one(props):
    async with served("Hello.", props=props) as (_, model):
        agent = Agent(model, tools=[add])
        assert (await agent.run("Hi")).output == "Hello."
        assert agent.describe()["dialect"] == "cogency"
        assert "evidence" not in agent.describe()
        assert not model.tells_template, "it is not asked again"


async def test_a_dialect_that_was_given_is_spoken():
    async with served("Hello.", "Hello.", props={"chat_template": TEMPLATE}) as (_, model):
        for options in ({"dialect": "mistral"}, {"driver": TextDriver("mistral")}):
            agent = Agent(model, tools=[add], **options)
            await agent.run("Hi")
            assert agent.describe()["dialect"] == "mistral"
            assert model.detection is None


class Loading(ModelServer):
    """A server that loads its model when it is first asked for the template."""

    is_loaded = False

    def _reply_to(self, request: Any) -> Reply:
        if request.path == "/props" and not self.is_loaded:
            self.is_loaded = True
            return Reply({"error": {"message": "Loading model"}}, 503)
        return super()._reply_to(request)


async def test_a_server_that_loads_its_model_is_asked_again():
    replies = [reply(delta(content="Hello."), STOP, DONE) for _ in range(2)]
    async with (
        Loading(replies, props={"chat_template": TEMPLATE}) as server,
        OpenAIModel("m", base_url=f"{server.url}/v1") as model,
    ):
        agent = Agent(model, tools=[add])
        spoken = [(await agent.run("Hi")) and agent.describe()["dialect"] for _ in range(2)]
        assert spoken == ["cogency", "hermes"]


async def test_a_server_that_is_not_there_tells_nothing():
    async with OpenAIModel("m", base_url="http://127.0.0.1:9/v1") as model:
        assert await model.detect_dialect() is None
        assert model.tells_template, "it may be there later"


async def test_only_servers_nearby_are_asked_by_themselves():
    async with OpenAIModel("m", base_url="https://api.example.org/v1", api_key="k") as model:
        assert not model.tells_template


@needs_llama
async def test_llama_cpp_tells_its_template(tmp_path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(tiny_model({"": "Hello."}))
    with llama_server(path) as server:
        async with OpenAIModel("tiny", base_url=server.url) as model:
            agent = Agent(model, tools=[add])
            assert (await agent.run("Hi", limits=None)).output is not None
            described = agent.describe()
    assert described["dialect"] == "hermes"
    assert described["evidence"]


async def test_a_server_is_not_asked_for_its_template_if_the_model_says_so():
    async with served("Hello.", props={"chat_template": TEMPLATE}) as (server, asked):
        model = OpenAIModel("m", base_url=f"{server.url}/v1", ask_template=False)
        agent = Agent(model, tools=[add])
        assert agent.prompt("Hi").missing == ()
        await agent.run("Hi")
        assert (agent.describe()["dialect"], model.detection) == ("cogency", None)
        assert asked.tells_template, "by default it is asked"
        assert not OpenAIModel(
            "m", base_url="https://models.example/v1", api_key="k"
        ).tells_template
        far = OpenAIModel("m", base_url="https://models.example/v1", api_key="k", ask_template=True)
        assert far.tells_template


class Late(ScriptedModel):
    """Tells its template after a while."""

    tells_template = True

    async def detect_dialect(self) -> None:
        await asyncio.sleep(3)


@in_exact_time
async def test_the_time_for_the_template_counts_in_that_of_the_first_question():
    model = Late(["Hello."])
    await Agent(model, tools=[add]).run("Hi")
    assert [request.waited for request in model.requests] == [3]


async def test_a_question_that_waited_for_all_its_time_is_late():
    async with served() as (server, _):
        model = OpenAIModel("m", base_url=f"{server.url}/v1", timeout={"total": 5}, max_retries=0)
        with pytest.raises(LLMError, match=r"no answer from .* in time"):
            async for _ in model.stream(
                ModelRequest([{"role": "user", "content": "Hi"}], waited=5)
            ):
                pass
