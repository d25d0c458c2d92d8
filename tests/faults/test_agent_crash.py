"""A program that is killed in the middle of a run: another goes on, nothing is done twice, and the model is told."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from programs import environment, program, run

from cogency_rs import Agent, BusyError, SQLite, tool
from cogency_rs.testing import ScriptedModel

pytestmark = pytest.mark.timeout(100)

DYING = """
path, log, stage = sys.argv[1:]

def die(here):
    if here == stage:
        os.kill(os.getpid(), signal.SIGKILL)

def did(what):
    with open(log, "a") as file:
        file.write(what + "\\n")

@tool(sequential=True)
async def first() -> str:
    "Have an effect."
    did("first")
    return "ok"

@tool(sequential=True)
async def send() -> str:
    "Have an effect, and die of it."
    die("before the effect")
    did("send")
    die("after the effect")
    return "ok"

@tool(sequential=True, idempotent=True)
async def mark() -> str:
    "Have an effect that may be had twice."
    die("before the idempotent effect")
    did("mark")
    return "ok"

class Dying(Hooks):
    def before_step(self, ctx):
        die(f"before step {ctx.step}")

    def before_tool_execute(self, ctx, call):
        die("before the batch")
        return call

    def after_step(self, ctx, step):
        die(f"after step {step.index}")
        return step

    def after_run(self, ctx, result):
        die("after the run")
        return result

async def model(messages):
    if len(messages) == 2:
        yield "I will see to it.\\n"
        die("in the first answer")
        yield '<execute>[{"name": "first", "args": {}}, {"name": "send", "args": {}}, '
        yield '{"name": "mark", "args": {}}]</execute>'
    else:
        yield "It is "
        die("in the last answer")
        yield "done."

async def main():
    async with SQLite(path) as storage:
        agent = Agent(model, tools=[first, send, mark], storage=storage, hooks=[Dying()])
        print((await agent.run("Do it.", conversation_id="c", user_id="u")).output)

asyncio.run(main())
"""

RAN = {"first": "ok", "send": "ok", "mark": "ok"}
UNKNOWN = "It is not known whether the call of"

STAGES: list[tuple[str, int, list[str], list[str] | None]] = [
    # the stage; the requests that the second program makes; the effects; and the results, where calls were left
    ("before step 0", 2, ["first", "send", "mark"], None),
    ("in the first answer", 2, ["first", "send", "mark"], None),
    ("before the batch", 1, ["mark"], ["unknown", "unknown", "success"]),
    ("before the effect", 1, ["first", "mark"], ["unknown", "unknown", "success"]),
    ("after the effect", 1, ["first", "send", "mark"], ["unknown", "unknown", "success"]),
    (
        "before the idempotent effect",
        1,
        ["first", "send", "mark"],
        ["unknown", "unknown", "success"],
    ),
    ("after step 0", 1, ["first", "send", "mark"], None),
    ("before step 1", 1, ["first", "send", "mark"], None),
    ("in the last answer", 1, ["first", "send", "mark"], None),
    ("after step 1", 0, ["first", "send", "mark"], None),
    ("after the run", 0, ["first", "send", "mark"], None),
]


@pytest.mark.parametrize(
    ("stage", "requests", "effects", "statuses"), STAGES, ids=[stage for stage, *_ in STAGES]
)
async def test_another_program_goes_on_and_does_nothing_twice(
    stage, requests, effects, statuses, tmp_path: Path
):
    path, log = tmp_path / "log.db", tmp_path / "effects"
    died = run(DYING, path, log, stage)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, ""), died.stderr[-2000:]

    def effect(name: str, **options: Any) -> Any:
        async def had() -> str:
            with log.open("a") as file:
                file.write(name + "\n")
            return "ok"

        return tool(had, name=name, description="Have an effect.", **options)

    def answer(request: Any) -> str:
        if len(request.messages) == 2:
            return calls
        return "It is done."

    calls = "<execute>" + json.dumps([{"name": name, "args": {}} for name in RAN]) + "</execute>"
    tools = [effect("first"), effect("send"), effect("mark", idempotent=True)]
    async with SQLite(path) as storage:
        model = ScriptedModel(answer)
        agent = Agent(model, tools=tools, storage=storage)
        result = await agent.resume("c", user_id="u")
        records = await storage.calls("c")
    assert (result.output, result.status) == ("It is done.", "completed")
    assert len(model.requests) == requests
    assert log.read_text().split() == effects, "an effect was had twice, or never"
    assert len(records) == 3
    assert {record.status for record in records} <= {"success", "unknown"}, "none is left open"
    if statuses is not None:
        assert [each.status for each in result.steps[0].executions] == statuses
        shown = model.requests[0].messages[-1]["content"]
        assert shown.count(UNKNOWN) == 2
        assert "was not run again" in shown


HOLDING = """
async def model(messages):
    print("asked", flush=True)
    sys.stdin.readline()
    yield "mine"

async def main():
    async with SQLite(sys.argv[1]) as storage:
        print((await Agent(model, storage=storage).run("?", conversation_id="c")).output)

asyncio.run(main())
"""


def started(code: str, *arguments: Any) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = program(code, *arguments)
    return subprocess.Popen(command, env=environment(), stdin=pipe, stdout=pipe, text=True)


async def test_a_run_that_another_program_has_is_waited_for_or_refused(tmp_path: Path):
    path = tmp_path / "log.db"
    holder = started(HOLDING, path)
    try:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "asked\n"
        async with SQLite(path) as storage:
            refusing = Agent(ScriptedModel([]), storage=storage, on_busy="error")
            with pytest.raises(BusyError, match="'c'"):
                await refusing.run("Me too?", conversation_id="c")
            with pytest.raises(BusyError):
                await refusing.resume("c")
            model = ScriptedModel(["second"])
            holder.stdin.write("\n")
            holder.stdin.flush()
            result = await Agent(model, storage=storage).run("Me too?", conversation_id="c")
        assert result.output == "second"
        assert [each["content"] for each in model.requests[0].messages[1:]] == [
            *("?", "mine", "Me too?")
        ]
    finally:
        holder.kill()
        holder.communicate()
