"""A program is killed in the middle of a run: another one resumes it, repeats no effect, and tells the model."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, CallOptions, Hooks, Memory, RunLimits, SQLite, tool
from cogency_rs.agent import ScriptedDriver
from cogency_rs.errors import BusyError, StorageError
from cogency_rs.hooks import ToolDenied
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel
from support.answers import ANSWERS, BATCH, DRIVERS
from support.programs import environment, program, run

pytestmark = pytest.mark.timeout(100)

DYING = """
path, log, stage = sys.argv[1:]

def die(here):
    if here == stage:
        os.kill(os.getpid(), signal.SIGKILL)

async def die_after(call, here):
    "Die once the result of a call is in the log, which other calls do not wait for."
    while here == stage:
        async with SQLite(path) as log:
            if [each for each in await log.calls("c") if (each.name, each.status) == (call, "ended")]:
                die(here)

def did(what):
    with open(log, "a") as file:
        file.write(what + "\\n")

@tool(sequential=True)
async def first() -> str:
    "Have an effect."
    die("in the first tool")
    did("first")
    return "ok"

@tool(sequential=True)
async def send() -> str:
    "Have an effect, and die before or after it."
    await die_after("first", "before the effect")
    did("send")
    await die_after("first", "after the effect")
    return "ok"

@tool(sequential=True, idempotent=True)
async def mark() -> str:
    "Have an effect that may happen twice."
    await die_after("send", "before the idempotent effect")
    did("mark")
    return "ok"

class Dying(Hooks):
    def before_step(self, ctx):
        die(f"before step {ctx.step}")

    async def around_call(self, invocation, next):
        die("before the batch")
        return await next(invocation)

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
UNKNOWN = "It is not known whether the call to"

STAGES: list[tuple[str, int, list[str], list[str] | None]] = [
    # the stage; how many requests the second program makes; the effects; the statuses of calls that were left
    ("before step 0", 2, ["first", "send", "mark"], None),
    ("in the first answer", 2, ["first", "send", "mark"], None),
    ("before the batch", 1, ["first", "send", "mark"], ["success", "success", "success"]),
    ("in the first tool", 1, ["send", "mark"], ["unknown", "success", "success"]),
    ("before the effect", 1, ["first", "mark"], ["success", "unknown", "success"]),
    ("after the effect", 1, ["first", "send", "mark"], ["success", "unknown", "success"]),
    (
        "before the idempotent effect",
        1,
        ["first", "send", "mark"],
        ["success", "success", "success"],
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
        async def have_effect() -> str:
            with log.open("a") as file:
                file.write(name + "\n")
            return "ok"

        return tool(have_effect, name=name, description="Have an effect.", **options)

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
    assert log.read_text().split() == effects, "an effect happened twice, or never"
    assert len(records) == 3
    assert {record.status for record in records} <= {"success", "unknown"}, "a call is left open"
    if statuses is not None:
        assert [each.status for each in result.steps[0].executions] == statuses
        shown = model.requests[0].messages[-1]["content"]
        assert shown.count(UNKNOWN) == shown.count("was not run again") == statuses.count("unknown")


class Snapshots(Memory):
    """A log in memory, and copies of it after each save, which outlive the program."""

    is_durable = True

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[Memory] = []
        self._saves: list[tuple[Any, Any]] = []

    def append(self, *args: Any, **options: Any) -> Any:
        saved = super().append(*args, **options)
        self._saves.append((args, options))
        copy = Memory()
        for again, with_options in self._saves:
            copy.append(*again, **with_options)
        self.taken.append(copy)
        return saved


def scene(
    storage: Any, driver: str, effects: list[str], *, steps: list[Any], **options: Any
) -> Agent[Any, str]:
    """An agent whose tools append their effects to `effects`."""

    def effect(name: str) -> Any:
        async def have_effect() -> str:
            effects.append(name)
            return name

        return tool(have_effect, name=name, description="Have an effect.")

    script: Any = ScriptedDriver(steps) if driver == "scripted" else driver
    model = ScriptedModel(ANSWERS.get(driver, ANSWERS["text"]), chunk=40)
    tools = [effect(call.name) for call in BATCH]
    return Agent(model, tools=tools, storage=storage, driver=script, **options)


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_run_resumes_from_every_state_of_its_log_and_does_nothing_twice(driver):
    log, effects = Snapshots(), []
    first = scene(log, driver, effects, steps=[BATCH, "done"])
    assert (await first.run("Do it.", conversation_id="c")).output == "done"
    assert effects == [call.name for call in BATCH]
    assert len(log.taken) >= 4
    for number, snapshot in enumerate(log.taken):
        rows = (await snapshot.read("c")).rows
        called = [json.loads(row["content"])["name"] for row in rows if row["type"] == "call"]
        again: list[str] = []
        steps = ["done"] if called else [BATCH, "done"]
        result = await scene(snapshot, driver, again, steps=steps).resume("c")
        assert (result.output, result.status) == ("done", "completed"), f"after save {number}"
        assert sorted(called + again) == sorted(effects), f"after save {number}"
        assert all(record.status in ("success", "unknown") for record in await snapshot.calls("c"))


class PassThrough(Hooks):
    """A hook that changes nothing, but runs between the save of a call and its start."""

    async def around_call(self, invocation: Any, next: Any) -> Any:
        return await next(invocation)


async def test_a_resumed_run_makes_only_the_calls_that_had_not_begun():
    effects: list[str] = []
    moments: list[int] = []

    class Dated(Snapshots):
        """Notes how many effects there were at each save."""

        def append(self, *args: Any, **options: Any) -> Any:
            moments.append(len(effects))
            return super().append(*args, **options)

    log = Dated()
    first = scene(
        log, "text", effects, steps=[], hooks=[PassThrough()], calls=CallOptions(max_concurrency=1)
    )
    assert (await first.run("Do it.", conversation_id="c")).output == "done"
    seen = set()
    for snapshot, before, after in zip(log.taken, moments, [*moments[1:], None], strict=True):
        records = await snapshot.calls("c")
        begun = {record.name for record in records if record.status != "saved"}
        seen.update(record.status for record in records)
        assert set(effects[before:after]) <= begun, "the log does not know that a call has begun"
        if not records:
            continue
        again: list[str] = []
        result = await scene(snapshot, "text", again, steps=[]).resume("c")
        assert result.status == "completed"
        left = [record.name for record in records if record.status == "saved"]
        assert again == left, "only the calls that had not begun run"
        for record in await snapshot.calls("c"):
            before = {each.name: each.status for each in records}[record.name]
            known = record.name in left or before == "success"
            assert record.status == ("success" if known else "unknown")
            assert record.attempt == 1
    assert seen == {"saved", "open", "success"}


NOT_BEGUN = "Tool 'pay' was not run: the program ended before the call began"


@pytest.mark.parametrize("then", ["resume", "resume without an approver", "another question"])
async def test_a_call_that_awaited_approval_when_the_program_died_has_not_begun(then):
    paid: list[str] = []

    @tool(requires_approval=True)
    async def pay() -> str:
        """Pay."""
        paid.append("pay")
        return "paid"

    log = Snapshots()
    died: list[Memory] = []

    def ask(ctx: Any, call: Any) -> bool:
        died.append(log.taken[-1])
        return False

    def agent(storage: Any, *answers: str, **options: Any) -> Agent[Any, str]:
        return Agent(ScriptedModel(answers), tools=[pay], storage=storage, **options)

    call = '<execute>[{"name": "pay", "args": {}}]</execute>'
    await agent(log, call, "no", approve=ask).run("Pay.", conversation_id="c")
    [left] = died
    assert [record.status for record in await left.calls("c")] == ["saved"]
    match then:
        case "resume":
            result = await agent(left, "done", approve=lambda ctx, call: True).resume("c")
        case "another question":
            result = await agent(left, "done").run("And?", conversation_id="c")
            [row] = [row for row in (await left.read("c")).rows if row["type"] == "result"]
            assert NOT_BEGUN in row["content"]
        case _:
            waits = await agent(left).resume("c")
            assert waits.status == "waiting"
            [waiting] = waits.waiting
            assert [record.status for record in await left.calls("c")] == ["waiting"]
            result = await agent(left, "done").resume("c", {str(waiting.id): True})
    assert (result.status, result.output) == ("completed", "done")
    expected = ([], "cancelled") if then == "another question" else (["pay"], "success")
    assert (paid, [record.status for record in await left.calls("c")]) == (
        expected[0],
        [expected[1]],
    )


async def test_a_call_whose_beginning_cannot_be_saved_does_not_run():
    ran: list[str] = []

    class Full(Memory):
        def append(self, *args: Any, **options: Any) -> Any:
            if not options["rows"]:
                raise StorageError("the disk is full")
            return super().append(*args, **options)

    log = Full()
    agent = scene(log, "text", ran, steps=[], hooks=[PassThrough()])
    result = await agent.run("Do it.", conversation_id="c")
    assert (result.output, ran) == ("done", [])
    for execution in result.steps[0].executions:
        assert (execution.status, execution.record.attempt) == ("failure", 0)
        assert str(execution.error) == (
            f"Tool execution failed: Tool '{execution.name}' was not run, because its start "
            "could not be logged: the disk is full"
        )


async def test_the_beginning_of_a_call_is_saved_only_if_a_hook_runs_before_it():
    log = Snapshots()
    await scene(log, "text", [], steps=[]).run("Do it.", conversation_id="c")
    plain = len(log.taken)
    log = Snapshots()
    await scene(log, "text", [], steps=[], hooks=[PassThrough()]).run("Do it.", conversation_id="c")
    assert len(log.taken) == plain + len(BATCH)


async def test_a_decision_counts_even_if_the_program_dies_after_it():
    """The program is killed after the calls have begun: the denied call never runs."""
    effects: list[str] = []

    def effect(name: str, **options: Any) -> Any:
        async def have_effect() -> str:
            effects.append(name)
            return name

        return tool(
            have_effect, name=name, description="Have an effect.", requires_approval=True, **options
        )

    tools = [effect("short"), effect("long"), effect("bad", idempotent=True)]
    log = Snapshots()
    first = Agent(ScriptedModel(ANSWERS["text"]), tools=tools, storage=log)
    waiting = (await first.run("Do it.", conversation_id="c")).waiting
    short, long, bad = (str(call.id) for call in waiting)
    before = len(log.taken)
    await first.resume("c", {short: ToolDenied("not that"), long: True, bad: True})
    assert effects == ["long", "bad"]
    assert [record.status for record in await log.taken[before].calls("c")] == ["saved"] * 3
    begun = log.taken[-3]  # the two saves after it have the results and the answer
    assert [record.status for record in await begun.calls("c")] == ["saved", "open", "open"]
    again = Agent(ScriptedModel(ANSWERS["text"]), tools=tools, storage=begun)
    result = await again.resume("c")
    assert [each.status for each in result.steps[0].executions] == ["denied", "unknown", "success"]
    assert effects == ["long", "bad", "bad"]


@pytest.mark.parametrize("ask", ["resume", "run"])
async def test_calls_left_open_by_several_programs_are_all_settled(ask):
    """The first program died, and then the second, before it could settle the calls that the first had left."""
    log, ran = Memory(), []
    for n in (1, 2):
        call = json.dumps({"name": "mark", "args": {"n": n}})
        record = CallRecord(f"id {n}", f"batch {n}", 0, "mark")
        log.append("c", rows=[("user", f"{n}?", n), ("call", call, n + 0.5)], calls=[record])

    @tool(idempotent=True)
    async def mark(n: int) -> int:
        """Mark."""
        ran.append(n)
        return n

    agent = Agent(ScriptedModel(["done"]), tools=[mark], storage=log)
    if ask == "resume":
        assert (await agent.resume("c")).output == "done"
        expected = ["unknown", "success"]
    else:
        assert (await agent.run("3?", conversation_id="c")).output == "done"
        expected = ["unknown", "unknown"]
    assert [record.status for record in await log.calls("c")] == expected
    assert ran == ([2] if ask == "resume" else [])


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


async def test_a_run_waits_for_another_program_s_run_or_is_refused(tmp_path: Path):
    path = tmp_path / "log.db"
    holder = started(HOLDING, path)
    try:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "asked\n"
        async with SQLite(path) as storage:
            refusing = Agent(ScriptedModel([]), storage=storage, limits=RunLimits(on_busy="error"))
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
