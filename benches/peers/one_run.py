"""One run of an agent with each package's own model for tests: a step with four calls, then an answer.

Each side is written as its package's documentation has it. None streams to anybody, traces or talks to a network.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from side import Run, Side

QUESTION, LOOKING, ANSWER = "What is there?", "I look.", "That is all there is to see."
CALLS = 4


def agent_of_ours(storage: Any = None) -> Any:
    """The answers come as text in pieces of 16 characters, and are parsed."""
    import cogency_rs

    @cogency_rs.tool
    async def look(text: str) -> str:
        """Look."""
        return "ok"

    call = '{"name": "look", "args": {"text": "x"}}'
    answers = [f"{LOOKING}<execute>[{', '.join([call] * CALLS)}]</execute>", ANSWER]
    asked = 0

    async def model(messages: Any) -> AsyncIterator[str]:
        nonlocal asked
        answer = answers[asked % 2]
        asked += 1
        for start in range(0, len(answer), 16):
            yield answer[start : start + 16]

    return cogency_rs.Agent(model, tools=[look], storage=storage)


def cogency_rs() -> Run:
    agent = agent_of_ours()

    async def run() -> None:
        assert (await agent.run(QUESTION)).output == ANSWER

    return run


def agent_of_pydantic() -> Any:
    """Its `FunctionModel`."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def model(messages: Any, _: Any) -> ModelResponse:
        if any(part.part_kind == "tool-return" for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart(ANSWER)])
        calls = [ToolCallPart("look", {"text": "x"}) for _ in range(CALLS)]
        return ModelResponse(parts=[TextPart(LOOKING), *calls])

    agent = Agent(FunctionModel(model))

    @agent.tool_plain
    async def look(text: str) -> str:
        """Look."""
        return "ok"

    return agent


def pydantic_ai() -> Run:
    agent = agent_of_pydantic()

    async def run() -> None:
        assert (await agent.run(QUESTION)).output == ANSWER

    return run


def agent_of_openai() -> Any:
    """A `Model` of one's own, as its tests have one."""
    import agents
    from agents.items import ModelResponse
    from agents.usage import Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    agents.set_tracing_disabled(True)

    def spoken(text: str) -> ResponseOutputMessage:
        content = ResponseOutputText(text=text, type="output_text", annotations=[])
        return ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[content]
        )

    class Scripted(agents.Model):
        asked = 0

        async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
            self.asked += 1
            output: list[Any] = [spoken(LOOKING if self.asked % 2 else ANSWER)]
            if self.asked % 2:
                output += [
                    ResponseFunctionToolCall(
                        id=f"f{number}",
                        call_id=f"c{number}",
                        type="function_call",
                        name="look",
                        arguments='{"text": "x"}',
                    )
                    for number in range(CALLS)
                ]
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **options: Any) -> Any:
            raise AssertionError("nothing streams here")

    @agents.function_tool
    async def look(text: str) -> str:
        """Look."""
        return "ok"

    return agents.Agent(name="agent", model=Scripted(), tools=[look])


def openai_agents() -> Run:
    from agents import Runner

    agent = agent_of_openai()

    async def run() -> None:
        assert (await Runner.run(agent, QUESTION)).final_output == ANSWER

    return run


def langgraph() -> Run:
    """Its prebuilt agent, with a chat model of langchain-core."""
    import warnings

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

        def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
            message = AIMessage(ANSWER)
            if messages[-1].type != "tool":
                calls = [
                    {"name": "look", "args": {"text": "x"}, "id": f"c{number}"}
                    for number in range(CALLS)
                ]
                message = AIMessage(LOOKING, tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
            return self._generate(messages)

    @tool
    async def look(text: str) -> str:
        """Look."""
        return "ok"

    with warnings.catch_warnings(action="ignore"):
        from langgraph.prebuilt import create_react_agent

        graph = create_react_agent(Scripted(), [look])

    async def run() -> None:
        state = await graph.ainvoke({"messages": [("user", QUESTION)]})
        assert state["messages"][-1].content == ANSWER

    return run


def smolagents() -> Run:
    """Its `ToolCallingAgent`, which is not async: an answer is a call of `final_answer`, and calls run in threads."""
    from smolagents import LogLevel, Model, Tool, ToolCallingAgent
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
    )
    from smolagents.monitoring import TokenUsage

    class Look(Tool):
        name = "look"
        description = "Look."
        inputs = {"text": {"type": "string", "description": "What at."}}  # noqa: RUF012
        output_type = "string"

        def forward(self, text: str) -> str:
            return "ok"

    def calls(name: str, args: dict[str, str], count: int) -> list[ChatMessageToolCall]:
        function = ChatMessageToolCallFunction(name=name, arguments=args)
        return [ChatMessageToolCall(function, f"c{number}", "function") for number in range(count)]

    class Scripted(Model):
        asked = 0

        def generate(self, *args: Any, **options: Any) -> ChatMessage:
            self.asked += 1
            if self.asked % 2:
                called = calls("look", {"text": "x"}, CALLS)
            else:
                called = calls("final_answer", {"answer": ANSWER}, 1)
            usage = TokenUsage(0, 0)
            return ChatMessage(MessageRole.ASSISTANT, LOOKING, called, token_usage=usage)

    agent = ToolCallingAgent(tools=[Look()], model=Scripted(), verbosity_level=LogLevel.OFF)

    def run() -> None:
        assert agent.run(QUESTION) == ANSWER

    return run


SIDES = (
    Side("cogency-rs", cogency_rs, "cogency-rs"),
    Side("pydantic-ai-slim", pydantic_ai, "pydantic-ai-slim"),
    Side("openai-agents", openai_agents, "openai-agents"),
    Side("langgraph", langgraph, "langgraph"),
    Side("smolagents", smolagents, "smolagents"),
)
