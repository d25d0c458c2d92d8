"""A run is cancelled, closed or interrupted anywhere: each call has one result, no task is left, the run can resume."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, Hooks, Memory, SQLite, ToolContext, tool
from cogency_rs.agent import ScriptedDriver
from cogency_rs.errors import ConfigError
from cogency_rs.testing import ScriptedModel
from support.answers import ANSWERS, BATCH, DRIVERS
from support.interruptions import MOMENTS, cancelled_at
from support.programs import environment, program
from support.tools import rounds

pytestmark = pytest.mark.timeout(120)


class Scene:
    """An agent with three tools, its log, and what its tools did.

    Args:
        storage: the log.
        driver: how the agent's model is asked.
        child: whether one of the tools is an agent.
        reads: whether the tools only read, so that their calls begin while the model writes.
        hooks: the agent's hooks.
    """

    def __init__(
        self,
        storage: Any,
        driver: str,
        *,
        child: bool = False,
        reads: bool = False,
        hooks: Any = (),
    ) -> None:
        self.storage, self._driver, self._child, self._hooks = storage, driver, child, hooks
        self._reads = reads
        self._reads = reads
        self.begun: list[str] = []
        self.over = 0

    def agent(self, *, has_results: bool = False) -> Agent[Any, str]:
        """Make an agent whose model calls the tools, or answers if `has_results`."""

        async def work(name: str, times: int) -> str:
            self.begun.append(name)
            try:
                await rounds(times)
                if name == "bad":
                    raise ValueError("no")
                return name
            finally:
                self.over += 1

        @tool(read_only=self._reads)
        async def short() -> str:
            """Return soon."""
            return await work("short", 1)

        @tool(read_only=self._reads)
        async def long(context: ToolContext[Any]) -> str:
            """Return later."""
            context.emit({"type": "half done"})
            return await work("long", 3)

        @tool(read_only=self._reads)
        async def bad() -> str:
            """Fail."""
            return await work("bad", 1)

        answer = ANSWERS.get(self._driver, ANSWERS["text"])

        tools: list[Any] = [short, long, bad]
        if self._child:
            inner = Agent(ScriptedModel(lambda _: "inner"), storage=Memory())

            @tool(name="short")
            async def asking() -> str:
                """Ask another agent."""
                self.begun.append("short")
                try:
                    return (await inner.run("?")).output
                finally:
                    self.over += 1

            tools[0] = asking
        steps: list[Any] = ["done"] if has_results else [BATCH, "done"]
        driver: Any = ScriptedDriver(steps) if self._driver == "scripted" else self._driver
        return Agent(
            ScriptedModel(answer, chunk=10 if self._reads else 40),
            tools=tools,
            storage=self.storage,
            driver=driver,
            hooks=self._hooks,
        )

    async def check(self) -> None:
        """Check that each call in the log has one result, and that resuming goes on to the answer."""
        rows = (await self.storage.read("c")).rows
        types = [row["type"] for row in rows]
        found = [json.loads(row["content"]) for row in rows if row["type"] == "result"]
        assert types.count("call") == sum(len(each) for each in found) <= 3
        assert self.over == len(self.begun), "no tool is left half done"
        records = await self.storage.calls("c")
        assert all(record.status not in ("early", "open", "waiting") for record in records)
        kept = [record for record in records if record.decision is None]
        assert len(kept) == types.count("call"), "the other calls began early, and were dropped"
        resumed = self.agent(has_results="result" in types)
        if not rows:
            with pytest.raises(ConfigError, match="no conversation 'c'"):
                await resumed.resume("c")
            return
        result = await resumed.resume("c")
        # A model that was interrupted is asked for the rest. This one says it whole, or calls its tools first.
        last = max(place for place, type in enumerate(types) if type in ("user", "call", "result"))
        said = "".join(row["content"] for row in rows[last:] if row["type"] == "respond")
        expected = said if types[-1] == "respond" else f"{said if 'result' in types else ''}done"
        assert (result.output, result.status) == (expected, "completed")
        assert (await self.storage.read("c")).rows[-1]["type"] == "respond"


class Watching(Hooks):
    async def before_step(self, ctx: Any) -> None:
        await rounds(1)

    async def around_call(self, invocation: Any, next: Any) -> Any:
        await rounds(1)
        result = await next(invocation)
        await rounds(1)
        return result

    async def after_step(self, ctx: Any, step: Any) -> Any:
        await rounds(1)
        return step


STORAGES = {"memory": Memory, "SQLite": lambda: SQLite(":memory:")}
SCENERY: dict[str, dict[str, Any]] = {
    "plain": {},
    "hooks": {"hooks": [Watching()]},
    "an agent as a tool": {"child": True},
    "calls that begin early": {"reads": True},
}


async def close(storage: Any) -> None:
    if isinstance(storage, SQLite):
        await storage.close()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("scenery", SCENERY.values(), ids=SCENERY)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
async def test_a_run_that_is_cancelled_anywhere(storage, driver, scenery, moment):
    for at in itertools.count(1):
        scene = Scene(storage(), driver, **scenery)
        try:
            run = scene.agent().run("Do it.", conversation_id="c")
            ending = await cancelled_at(run, at, moment)
            assert ending.cancelled is ending.requested, "CancelledError reaches the caller"
            assert ending.leaked == set(), "no task is left when the caller gets the CancelledError"
            await scene.check()
        except BaseException as error:
            error.add_note(f"cancelled at suspension {at}")
            raise
        finally:
            await close(scene.storage)
        if ending.suspensions < at:
            break
    assert at > 2


@pytest.mark.parametrize("how", ["closed", "dropped", "broken out of"])
@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_run_that_is_left_after_any_event(driver, how):
    """A dropped stream is closed when the last reference to it is gone."""
    reported: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(repr(context)))
    for count in itertools.count(1):
        scene, this_task = Scene(Memory(), driver), asyncio.current_task()
        stream = scene.agent().run("Do it.", conversation_id="c")
        seen = 0
        if how == "closed":
            for _ in range(count):
                with suppress(StopAsyncIteration):
                    await anext(stream)
                    seen += 1
            await stream.aclose()
        else:
            async for _ in stream:
                seen += 1
                if seen == count:
                    break
            del stream
            if how == "dropped":
                gc.collect()
            for _ in range(50):
                await rounds(1)
                if asyncio.all_tasks() == {this_task}:
                    break
        assert asyncio.all_tasks() == {this_task}, "a task is left"
        assert reported == []
        await scene.check()
        if seen < count:
            break
    assert count > 5


async def test_leaving_after_the_end_of_an_answer_does_not_cancel_the_answer():
    scene = Scene(Memory(), "scripted")
    async with scene.agent(has_results=True).run("?", conversation_id="c") as stream:
        async for event in stream:
            if event["type"] == "metric":
                break
    assert stream.result.status == "completed"
    assert [row["type"] for row in (await scene.storage.read("c")).rows] == ["user", "respond"]


INTERRUPTED = """
@tool
async def wait() -> str:
    "Wait for ever."
    print("waits", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await rounds(2)
        print("stopped", flush=True)

async def model(messages):
    yield block("wait")

storage = SQLite(sys.argv[1])
try:
    Agent(model, tools=[wait], storage=storage).run_sync("?", conversation_id="c")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT for one process")
def test_ctrl_c_in_run_sync_stops_the_tools_and_the_log_has_their_results(tmp_path: Path):
    path = tmp_path / "log.db"
    running = subprocess.Popen(
        program(INTERRUPTED, path), env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "waits\n"
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert (out, running.returncode) == ("stopped\ninterrupted\n", 0)

    async def types() -> list[str]:
        async with SQLite(path) as storage:
            rows = (await storage.read("c")).rows
            return [row["type"] for row in rows]

    assert asyncio.run(types()) == ["user", "call", "result", "cancelled"]
