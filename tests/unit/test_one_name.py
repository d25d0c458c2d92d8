"""However a model writes the name of a tool, everything that decides about the call decides the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cogency_rs import (
    Agent,
    Execution,
    History,
    Hooks,
    Memory,
    RunLimits,
    ToolCall,
    ToolResult,
    execute_tools,
    tool,
)
from cogency_rs.agent import ScriptedDriver
from cogency_rs.errors import BlockTool
from cogency_rs.execution import execute_calls
from cogency_rs.executors import Executor
from cogency_rs.hooks import Invocation, Next
from cogency_rs.telemetry import Telemetry
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Retries
from cogency_rs.tools.toolbox import Toolbox
from support.served_tools import ServedTool, served
from support.traces import Traces

pytestmark = pytest.mark.timeout(60)

Point = Callable[[ToolCall, "Make"], Awaitable[Any]]


@tool
async def search(word: str = "") -> str:
    """Search here."""
    return f"{word} here"


class Make:
    """A tool of a server, with others from which it has to be told apart.

    Args:
        name: the tool's name on its server.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.made: ServedTool | None = None

    def tools(self, **options: Any) -> list[Any]:
        self.made = served(self.name, **options)
        return [search, self.made, served("other"), served("list", "disk")]

    @property
    def ran(self) -> int:
        assert self.made is not None
        return len(self.made.ran)


LONG = "x" * 80
SAID = {
    "delete_all": [
        ToolCall("delete_all", {}),
        ToolCall("delete_all", {}, server="local"),
        ToolCall("fs__delete_all", {}),
        ToolCall("delete_all", {}, server="fs"),
        ToolCall("fs__delete_all", {}, server="fs"),
    ],
    "search": [  # the agent has a tool of that name, too
        ToolCall("fs__search", {}),
        ToolCall("search", {}, server="fs"),
        ToolCall("fs__search", {}, server="fs"),
    ],
    "fs.read/v1 x": [
        ToolCall("fs_read_v1_x_83f25e57", {}),
        ToolCall("fs.read/v1 x", {}),
        ToolCall("fs__fs.read/v1 x", {}),
        ToolCall("fs.read/v1 x", {}, server="fs"),
        ToolCall("fs_read_v1_x_83f25e57", {}, server="fs"),
    ],
    LONG: [ToolCall(LONG, {}), ToolCall(f"fs__{LONG}", {}), ToolCall(LONG, {}, server="fs")],
}
"""The ways to say the name of a server's tool, by its name there."""

ONE_NAMES = {
    "delete_all": "delete_all",
    "search": "fs__search",
    "fs.read/v1 x": "fs_read_v1_x_83f25e57",
    LONG: f"{LONG[:55]}_b2e80351",
}


async def ran_by(call: ToolCall, tools: list[Any], **options: Any) -> Any:
    [execution] = await execute_calls([call], execution=Execution(tools=tools), **options)
    return execution


def agent(*steps: Any, tools: list[Any], **options: Any) -> Agent[Any, str]:
    """An agent whose model makes these steps."""
    driver = ScriptedDriver(steps, repeat_last=False)
    return Agent(ScriptedModel([]), tools=tools, driver=driver, **options)


POINTS: dict[str, tuple[Point, Any]] = {}


def point(expected: Any) -> Callable[[Point], Point]:
    """Name a point at which something is decided, with what is expected there; `NAME` stands for the one name."""

    def add(function: Point) -> Point:
        POINTS[function.__name__] = (function, expected)
        return function

    return add


NAME = "the one name"


@point((NAME, "fs", "success", 1))
async def execution(call: ToolCall, make: Make) -> Any:
    made = await ran_by(call, make.tools())
    return made.name, made.call.server, made.status, make.ran


@point(("denied", 0))
async def approval_without_anybody(call: ToolCall, make: Make) -> Any:
    made = await ran_by(call, make.tools(requires_approval=True))
    return made.status, make.ran


@point(([NAME], [NAME], "success"))
async def approval(call: ToolCall, make: Make) -> Any:
    asked, answered = list[str](), list[str]()

    def requires(call: ToolCall) -> bool:
        asked.append(call.name)
        return True

    def approve(ctx: Any, call: ToolCall) -> bool:
        answered.append(ctx.call.name)
        return call.name == ctx.call.name

    made = await ran_by(call, make.tools(requires_approval=requires), approve=approve)
    return asked, answered, made.status


@point(("waiting", [(NAME, "fs")], [(NAME, "fs", "waiting")], "done", 1))
async def waiting_and_resumption(call: ToolCall, make: Make) -> Any:
    log = Memory()
    first = agent([call], tools=make.tools(requires_approval=True), storage=log)
    result = await first.run("?", conversation_id="c")
    waiting = [(each.name, each.server) for each in result.waiting]
    records = [(each.name, each.server, each.status) for each in await log.calls("c")]
    other = agent("done", tools=make.tools(requires_approval=True), storage=log)
    decided = {str(each.id): True for each in result.waiting}
    ended = await other.resume("c", decided)
    return result.status, waiting, records, ended.output, make.ran


@pytest.mark.parametrize("matcher", ["the one name", "fs__*"])
@pytest.mark.parametrize(("name", "call"), [(n, c) for n in SAID for c in SAID[n]])
async def test_a_matcher_finds_the_call(name, call, matcher):
    matcher = ONE_NAMES[name] if matcher == NAME else matcher
    seen: list[str] = []

    class Seeing(Hooks):
        async def around_call(self, invocation: Invocation, next: Any) -> Any:
            seen.append(f"before {invocation.context.call.name} {invocation.call.name}")
            result = await next(invocation)
            seen.append(f"after {invocation.execution(result).name}")
            return result

    hooks = [Seeing(matcher=matcher), Seeing(matcher="search")]  # the second is for the agent's own
    await ran_by(call, Make(name).tools(), hooks=hooks)
    one = ONE_NAMES[name]
    assert seen == [f"before {one} {one}", f"after {one}"]


@point(("blocked", 0))
async def a_hook_by_name(call: ToolCall, make: Make) -> Any:
    class Guard(Hooks):
        async def around_call(self, invocation: Invocation, next: Any) -> Any:
            if invocation.call.name == ONE_NAMES[make.name]:
                raise BlockTool("no")
            return await next(invocation)

    made = await ran_by(call, make.tools(), hooks=[Guard()])
    return made.status, make.ran


@point([(NAME, True)])
async def a_function_around_calls(call: ToolCall, make: Make) -> Any:
    seen: list[tuple[str, bool]] = []

    async def layer(invocation: Invocation, next: Any) -> Any:
        seen.append((invocation.call.name, invocation.tool is make.made))
        return await next(invocation)

    await ran_by(call, make.tools(), hooks=[layer])
    return seen


@point(([NAME], [NAME]))
async def hooks_around_calls(call: ToolCall, make: Make) -> Any:
    started, ended = list[str](), list[str]()

    class Watch(Hooks):
        matcher = ONE_NAMES[make.name]

        async def around_call(self, invocation: Invocation, next: Next) -> ToolResult:
            started.append(invocation.call.name)
            result = await next(invocation)
            ended.append(invocation.call.name)
            return result

    await ran_by(call, make.tools(), hooks=[Watch()])
    return started, ended


@point((3, "failure"))
async def retries(call: ToolCall, make: Make) -> Any:
    tools = make.tools(answer=ValueError("no"), idempotent=Retries(2))
    made = await ran_by(call, tools)
    return make.ran, made.status


@point(["elsewhere"])
async def an_executor(call: ToolCall, make: Make) -> Any:
    class Elsewhere(Executor):
        def takes(self, tool: Any) -> bool:
            return tool is make.made

        async def run(self, invocation: Invocation, execution: Any) -> Any:
            return "elsewhere"

    made = await ran_by(call, make.tools(remote=True), hooks=[Elsewhere()])
    return [made.value]


@point(("completed", "done", NAME))
async def a_tool_that_ends_the_run(call: ToolCall, make: Make) -> Any:
    result = await agent([call], tools=make.tools(ends_run=True)).run("?")
    return result.status, result.output, result.stop.source


@pytest.mark.parametrize(("name", "call"), [(n, c) for n in SAID for c in SAID[n]])
async def test_stop_at_tools_ends_the_run(name, call):
    for said in SAID[name]:
        if said.server is None and said.name != "search":
            mine = agent(
                [call], tools=Make(name).tools(), limits=RunLimits(stop_at_tools=[said.name])
            )
            result = await mine.run("?")
            assert (result.status, result.output) == ("completed", "done")


@point([f"execute_tool {NAME}"])
async def tracing(call: ToolCall, make: Make) -> Any:
    traces = Traces()
    mine = agent(
        [call],
        "done",
        tools=make.tools(),
        telemetry=Telemetry(tracer_provider=traces.provider),
    )
    await mine.run("?")
    return [each.name for each in traces.spans if each.name.startswith("execute_tool")]


@point([(NAME, "fs", "success")])
async def the_log(call: ToolCall, make: Make) -> Any:
    mine = agent([call], "done", tools=make.tools())
    await mine.run("?", conversation_id="c")
    records = await mine.storage.calls("c")
    return [(each.name, each.server, each.status) for each in records]


@point("zzzzz\n[")
async def what_is_shown_of_a_result(call: ToolCall, make: Make) -> Any:
    written = {"tool_name": call.name, "arguments": {}}
    if call.server is not None:
        written["server_name"] = call.server
    model = ScriptedModel([f"<tool>{json.dumps(written)}</tool>", "done"])
    tools = make.tools(answer="z" * 99)
    listed = next(name for name, each in Toolbox.of(tools).names.items() if each is make.made)
    history = History(max_result_chars=50, tool_result_chars={listed: 5})
    mine = Agent(model, tools=tools, dialect="forge-json", history=history)
    await mine.run("?")
    text = model.requests[1].messages[-1]["content"]
    start = text.index("zzzzz")
    return text[start : start + 7].replace("\\n", "\n")


@pytest.mark.parametrize("name", SAID)
async def test_equal_errors_are_counted_however_the_name_is_written(name):
    mine = agent(
        *([call] for call in SAID[name][:3]),
        tools=Make(name).tools(answer=ValueError("no")),
        limits=RunLimits(same_errors=3),
    )
    result = await mine.run("?")
    assert result.stop.reason == "retry_limit"
    assert f"of '{ONE_NAMES[name]}'" in result.stop.message


@pytest.mark.parametrize(("name", "call"), [(n, c) for n in SAID for c in SAID[n]])
@pytest.mark.parametrize("point", POINTS)
async def test_every_spelling_is_decided_alike(point, name, call):
    decide, expected = POINTS[point]
    found = await decide(call, Make(name))
    assert _with(found, ONE_NAMES[name]) == _with(expected, ONE_NAMES[name])


def _with(value: Any, name: str) -> Any:
    match value:
        case str():
            return value.replace(NAME, name)
        case [*items]:
            return [_with(item, name) for item in items]
        case _:
            return value


def test_a_sequential_tool_is_a_barrier():
    journal: list[str] = []

    async def run(call: ToolCall) -> None:
        alone = served("alone", sequential=True)

        @tool
        async def slow() -> None:
            """Take some rounds of the loop."""
            for _ in range(5):
                await asyncio.sleep(0)
            journal.append("slow")

        async def noting(invocation: Invocation, next: Any) -> Any:
            result = await next(invocation)
            if invocation.tool is alone:
                journal.append("alone")
            return result

        calls = [ToolCall("slow", {}), call]
        await execute_tools(calls, execution=Execution(tools=[slow, alone]), hooks=[noting])

    for call in (
        ToolCall("alone", {}),
        ToolCall("fs__alone", {}),
        ToolCall("alone", {}, server="fs"),
    ):
        journal.clear()
        asyncio.run(run(call))
        assert journal == ["slow", "alone"], call


@pytest.mark.parametrize("name", ["read", "fs__read"])
async def test_a_tool_that_only_reads_begins_early(name):
    began = asyncio.Event()
    written: list[bool] = []

    class Reading(ServedTool):
        async def execute(self, **args: Any) -> Any:
            began.set()
            return "done"

    read = Reading("read", "fs", "read", served("read", read_only=True).options)

    async def answer(request: Any) -> Any:
        if len(request.messages) > 2:
            yield "Done."
            return
        yield f'<execute>[{{"name": "{name}", "args": {{}}}}, '
        async with asyncio.timeout(10):
            await began.wait()
        written.append(began.is_set())
        yield '{"name": "other", "args": {}}]</execute>'

    mine = Agent(ScriptedModel(answer), tools=[read, served("other")])
    result = await mine.run("?")
    assert (result.output, written) == ("Done.", [True])
    records = await mine.storage.calls(result.conversation_id)
    assert [each.name for each in records] == ["read", "other"]


@pytest.mark.parametrize(
    "head",
    [
        "<tool_name>add</tool_name>",
        "<tool_name>fs__add</tool_name>",
        "<server_name>fs</server_name><tool_name>add</tool_name>",
    ],
)
async def test_arguments_are_read_by_the_schema_of_the_tool(head):
    schema = {"type": "object", "properties": {"n": {"type": "string"}}}
    model = ScriptedModel([f"<tool>{head}<arguments><n>5</n></arguments></tool>", "done"])
    add = served("add", schema=schema)
    await Agent(model, tools=[add], dialect="forge-xml").run("?")
    assert [each["n"] for each in add.ran] == ["5"]


async def test_the_driver_react_takes_every_spelling():
    decided = {"thought": "", "type": "call_tool", "tool": "fs__delete_all", "args": {}}
    answered = {"thought": "", "type": "final_answer", "answer": "done"}
    model = ScriptedModel([json.dumps(decided), json.dumps(answered)])
    mine = Agent(model, tools=[served("delete_all")], driver="react")
    result = await mine.run("?", conversation_id="c")
    assert [each.name for each in result.steps[0].executions] == ["delete_all"]
    assert json.loads((await mine.storage.read("c")).rows[1]["content"])["name"] == "fs__delete_all"
