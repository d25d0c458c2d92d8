"""An agent with tools of MCP servers: what its prompt lists, where calls go, and that approval is asked for."""

from __future__ import annotations

import json

from mcp_servers import small

from cogency_rs import Agent, MCPServer, ServerGroup, tool
from cogency_rs.testing import ScriptedModel


@tool
def search(word: str) -> str:
    """Searches here."""
    return f"{word} here"


def write(*calls: dict[str, object]) -> str:
    return f"<execute>{json.dumps(calls)}</execute>"


async def test_the_prompt_lists_what_the_model_then_calls():
    model = ScriptedModel(
        [
            write(
                {"name": "search", "args": {"word": "a"}},
                {"name": "web__search", "args": {"word": "b"}},
                {"name": "fetch", "args": {}},
            ),
            "Done.",
        ]
    )
    async with ServerGroup({"web": small("search", "fetch")}) as group:
        result = await Agent(model, tools=await group.tools([search])).run("Look it up.")
    assert result.output == "Done."
    prompt = model.requests[0].messages[0]["content"]
    assert [name in prompt for name in ("search(", "web__search(", "fetch(")] == [True] * 3
    first, second, third = result.steps[0].executions
    assert first.value == "a here"
    assert json.loads(second.value)["arguments"] == {"word": "b"}
    assert third.status == "success"


async def test_a_server_whose_calls_need_agreement_waits_for_it_and_goes_on():
    async def run(server: MCPServer) -> None:
        model = ScriptedModel([write({"name": "wipe", "args": {}}), "Done."])
        agent = Agent(model, tools=await server.tools())
        result = await agent.run("Wipe it.")
        assert result.status == "waiting"
        [call] = result.waiting
        result = await agent.resume(result.conversation_id, {str(call.id): True})
        assert result.output == "Done."

    async with small("wipe", requires_approval=True) as server:
        await run(server)
