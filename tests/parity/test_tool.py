"""Tools made of functions, in cogency's own agent: on plain cogency, and with `install()`."""

from __future__ import annotations

import asyncio
import importlib
import json
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

import cogency_rs
from cogency_rs import ToolContext, tool
from cogency_rs.protocol import tool_instructions
from cogency_rs.tools import Param

from .oracle import cogency, skip_without_cogency

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

skip_without_cogency()

pytestmark = pytest.mark.timeout(60)

CORES = {"plain": nullcontext, "installed": cogency_rs.install}


@pytest.fixture(params=CORES)
def core(request: pytest.FixtureRequest) -> Any:
    """Which core cogency runs on."""
    cogency("agent")
    with CORES[request.param]():
        yield request.param


@dataclass
class Point:
    x: int
    y: int = 0


@tool
async def move(
    to: Point,
    steps: list[Annotated[int, Param(ge=1)]],
    how: Literal["slow", "fast"] = "slow",
    *,
    about: ToolContext,
) -> list[Any]:
    """Move the robot."""
    return [to, sum(steps), how, about.access, about.sandbox_dir]


@tool
def count(upto: int) -> list[int]:
    """Count."""
    return list(range(upto))


class Model:
    """A model that gives fixed answers, and keeps its requests."""

    def __init__(self, *turns: str) -> None:
        self.turns = list(turns)
        self.sent: list[list[dict[str, Any]]] = []

    async def stream(self, messages: list[dict[str, Any]]) -> AsyncIterator[str]:
        self.sent.append(list(messages))
        yield self.turns.pop(0)


def ask(model: Model, folder: Any, tools: list[Any]) -> list[dict[str, Any]]:
    """The events of an agent that answers one query."""
    # Looked up now, since `install()` rebinds them.
    storage = importlib.import_module("cogency.lib.sqlite").SQLite(str(folder / "store.db"))
    agent = importlib.import_module("cogency.agent").Agent(
        model, storage, tools=tools, mode="replay"
    )

    async def events() -> list[dict[str, Any]]:
        return [event async for event in agent("Go.", "ada", "c")]

    return asyncio.run(events())


def calls(*given: tuple[str, dict[str, Any]]) -> str:
    return f"<execute>{json.dumps([{'name': n, 'args': a} for n, a in given])}</execute>"


def test_an_agent_lists_and_runs_a_function(core, tmp_path):
    model = Model(
        calls(
            ("move", {"to": {"x": 1}, "steps": [1, 2], "how": "fast"}),
            ("move", {"to": {"x": 1}, "steps": [0]}),
            ("move", {"to": {"x": 1}, "steps": [], "where": "there"}),
        ),
        "Done.<end>",
    )
    events = ask(model, tmp_path, [move])
    assert "move(to, steps, how?) - Move the robot." in model.sent[0][0]["content"]
    [result] = [event for event in events if event["type"] == "result"]
    refused = [
        "argument 'steps[0]' must be at least 1, got 0",
        "argument 'where' is not known; known are to, steps, how",
    ]
    items = json.loads(result["content"])
    assert items[0]["content"] == [{"x": 1, "y": 0}, 3, "fast", "sandbox", ".cogency/sandbox"]
    assert items[1:] == [
        {
            "tool": "move",
            "status": "failure",
            "content": f"Invalid arguments for tool 'move': {each}",
        }
        for each in refused
    ]
    assert "Done." in [event.get("content") for event in events]
    # The model reads these results.
    assert any(json.dumps(refused[1])[1:-1] in message["content"] for message in model.sent[1])


def test_a_plain_function_runs_in_a_thread_where_our_core_is_installed(tmp_path):
    cogency("agent")
    with cogency_rs.install():
        model = Model(calls(("count", {"upto": 3})), "Done.<end>")
        events = ask(model, tmp_path, [count])
    [result] = [json.loads(e["content"]) for e in events if e["type"] == "result"]
    assert result == [{"tool": "count", "status": "success", "content": [0, 1, 2]}]


def test_cogency_accepts_a_function_as_a_tool(core):
    assert isinstance(move, cogency("core.protocols").Tool)
    assert cogency("core.registry").ToolRegistry(None).register(move, "test") is None


def test_the_prompts_agree_on_a_function():
    theirs = cogency("core.codec").tool_instructions([move, count])
    assert tool_instructions([move, count]) == theirs


def test_cogency_s_own_annotations_are_read():
    ToolParam = cogency("core.protocols").ToolParam  # noqa: N806

    async def add(a: int) -> int:
        return a

    add.__annotations__ = {"a": Annotated[int, ToolParam(description="one number", ge=0, le=9)]}
    theirs = {
        "type": "integer",
        "required": True,
        "description": "one number",
        "min": 0,
        "max": 9,
    }
    assert tool(add).schema == {"a": theirs}


def test_installed_prompts_list_tools_with_a_json_schema(tmp_path):
    class Described:
        name, description = "find", "Find."
        schema = {  # noqa: RUF012
            "type": "object",
            "properties": {"what": {"type": "string"}, "where": {"type": "string"}},
            "required": ["what"],
        }

        async def execute(self, **_: Any) -> None: ...

    cogency("agent")
    with cogency_rs.install():
        model = Model("Done.<end>")
        ask(model, tmp_path, [Described()])
    assert "find(what, where?) - Find." in model.sent[0][0]["content"]
