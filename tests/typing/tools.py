"""What an editor knows of tools: the function's own signature, and what a tool has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, assert_type

from cogency_rs import Execution, ToolCall, ToolResult, execute_tools, tool
from cogency_rs.tools import FunctionTool, Param
from cogency_rs.types import Tool


@dataclass
class Point:
    x: int


@tool
async def move(to: Point, steps: Annotated[int, Param("how many", ge=1)] = 1) -> list[Point]:
    return [to] * steps


@tool(name="see", description="Look.")
def look(at: str) -> str:
    return at


class Robot:
    @tool
    async def turn(self, degrees: float) -> float:
        return degrees

    @tool(name="stop_now")
    def stop(self) -> None: ...


async def called() -> None:
    assert_type(await move(Point(1), steps=2), list[Point])
    assert_type(look("there"), str)
    assert_type(await Robot().turn(90.0), float)
    assert_type(Robot().stop(), None)
    await move("there")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    look()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    look(at="there", how="long")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await Robot().turn("left")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def has() -> None:
    assert_type(move.name, str)
    assert_type(move.schema, dict[str, Any])
    assert_type(move.json_schema, dict[str, Any])
    assert_type(move.describe({"to": 1}), str)
    assert_type(tool(look_around), FunctionTool[[], str])
    assert_type(Robot().turn.description, str)
    move.parameters  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def look_around() -> str:
    return ""


def made_wrongly() -> None:
    tool("Move the robot.")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    tool(look_around, title="look")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    Param("how many", ge="1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def used() -> None:
    as_protocol: list[Tool] = [move, look, Robot().turn]
    execution = Execution(storage=None, tools=as_protocol)
    calls = [ToolCall("move", {})]
    results = await execute_tools(calls, execution=execution, user_id="", conversation_id="c")
    assert_type(results, list[ToolResult])
    assert_type(await execute_tools(calls, execution=execution), list[ToolResult])
    await execute_tools(calls)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
