"""One run of an agent with each package's own model for tests: a step with four calls, then an answer.

Each side is written as its package's documentation has it. None streams to anybody, traces or talks to a network.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

QUESTION, LOOKING, ANSWER = "What is there?", "I look.", "That is all there is to see."
CALLS = 4

Run = Callable[[], Awaitable[None]]


def cogency_rs() -> Run:
    """Ours: the answers come as text in pieces of 16 characters, and are parsed."""
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

    agent = cogency_rs.Agent(model, tools=[look])

    async def run() -> None:
        assert (await agent.run(QUESTION)).output == ANSWER

    return run


def pydantic_ai() -> Run:
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

    async def run() -> None:
        assert (await agent.run(QUESTION)).output == ANSWER

    return run


def openai_agents() -> Run:
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

    def said(text: str) -> ResponseOutputMessage:
        content = ResponseOutputText(text=text, type="output_text", annotations=[])
        return ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[content]
        )

    class Scripted(agents.Model):
        asked = 0

        async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
            self.asked += 1
            output: list[Any] = [said(LOOKING if self.asked % 2 else ANSWER)]
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

    agent = agents.Agent(name="agent", model=Scripted(), tools=[look])

    async def run() -> None:
        assert (await agents.Runner.run(agent, QUESTION)).final_output == ANSWER

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


SIDES: dict[str, Callable[[], Run]] = {
    "cogency-rs": cogency_rs,
    "pydantic-ai-slim": pydantic_ai,
    "openai-agents": openai_agents,
    "langgraph": langgraph,
}
"""By the name of the distribution."""
