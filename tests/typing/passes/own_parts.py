"""Models and tools of one's own."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, ClassVar, assert_type

from cogency_rs import Agent, ToolResult
from cogency_rs.models import ModelRequest
from cogency_rs.testing import ScriptedModel


class Streams:
    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        yield "a"


class Answers:
    async def stream(self, request: ModelRequest) -> str:
        return "a"


async def function(messages: list[dict[str, Any]]) -> AsyncGenerator[str, None]:
    yield "a"


class Read:
    name = "read"
    description = "Read a file."
    schema: ClassVar[dict[str, Any]] = {"file": {"type": "string"}}

    def execute(self, file: str, lines: int = 100, *, sandbox_dir: str, **_: object) -> ToolResult:
        return ToolResult(f"{sandbox_dir}/{file}", lines)


for model in (Streams(), Answers(), function, ScriptedModel(["a"])):
    assert_type(Agent(model, tools=[Read()]).run_sync("?").output, str)
