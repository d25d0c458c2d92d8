"""Reads the table of what a batch does.

The batch on asyncio is tested with it, and that on Tokio, with closures and with Python's callables.

`tests/batches/cases.jsonl` has a case in each line:

- `calls`: each with its `attempts`, the seconds and the end of each (`return`, `raise`, `fail`: returns a failure,
  `crash`: raises an error of its own); the last is repeated. `args` are the call's arguments, and `schema` is what the
  tool takes; further members are the tool's options. `unknown` is a call of a tool that does not exist.
- `actions`: seconds, and what is done then: `begin` the next call early, `withdraw` the calls from a place on,
  `complete` the batch with the rest, `cancel` it. By default it is complete at once.
- `results`: for each call that counts its status, what the model reads, and how often the tool was started.
- `journal`: the whole seconds at which an attempt of a call begins, ends by itself or is stopped.
- `tokio`: what is different with closures on Tokio (`texts`, by the call's place), with the `reason`.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cogency_rs import CallOptions, ToolCall, ToolResult
from cogency_rs.errors import ToolError
from cogency_rs.execution.batch import ToolBatch
from cogency_rs.execution.host import BatchSettings
from cogency_rs.execution.shielded_wait import outlast
from cogency_rs.tools import Retries, ToolOptions
from cogency_rs.tools.toolbox import Toolbox
from support.tools import with_tools

TABLE = Path(__file__).resolve().parents[1] / "batches" / "cases.jsonl"

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()
]

LIMITS = {
    "tool_timeout": "timeout",
    "batch_timeout": "batch_timeout",
    "max_concurrency": "max_concurrency",
}
"""The limits of a case, and the options that they are here."""


@dataclass
class ScriptedTool:
    """A tool whose attempts take the seconds of a case, and end as it says."""

    index: int
    script: dict[str, Any]
    journal: list[str]
    description: str = "does as it is told"
    started: int = 0

    @property
    def name(self) -> str:
        return f"t{self.index}"

    @property
    def schema(self) -> dict[str, Any]:
        return self.script.get("schema", {})

    @property
    def options(self) -> ToolOptions:
        others = ("attempts", "args", "schema", "retries")
        own = {key: value for key, value in self.script.items() if key not in others}
        retries = self.script.get("retries", 0)
        return ToolOptions(idempotent=Retries(retries) if retries else False, **own)

    async def execute(self, **_: Any) -> Any:
        attempts = self.script["attempts"]
        seconds, end = attempts[min(self.started, len(attempts) - 1)]
        self.started += 1
        self._note("begin")
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self._note("stop")
            raise
        self._note("end")
        match end:
            case "raise":
                raise ToolError("it failed")
            case "crash":
                raise RuntimeError("it broke")
            case "fail":
                return ToolResult(outcome="it failed", error=True)
        return self.index

    def _note(self, what: str) -> None:
        now = asyncio.get_running_loop().time()
        self.journal.append(f"{int(now)} {what} {self.index}")


async def carried_out(case: dict[str, Any]) -> tuple[list[list[Any]], list[str]]:
    """The results and the journal of a case; needs a loop in exact time."""
    journal: list[str] = []
    scripts = case["calls"]
    tools = [
        ScriptedTool(index, script, journal)
        for index, script in enumerate(scripts)
        if not script.get("unknown")
    ]
    toolbox = Toolbox.of(tools)
    calls = toolbox.resolve_all(
        [ToolCall(f"t{index}", script.get("args", {})) for index, script in enumerate(scripts)]
    )
    options = CallOptions(
        **{option: case[limit] for limit, option in LIMITS.items() if limit in case}
    )
    settings = BatchSettings(
        tools=toolbox,
        execution=with_tools(*tools),
        user_id="u",
        conversation_id="c",
        options=options,
        state={},
    )
    batch = ToolBatch(settings)
    loop, begun = asyncio.get_running_loop(), 0
    for at, action, *place in case.get("actions", [[0, "complete"]]):
        if at > loop.time():
            await asyncio.sleep(at - loop.time())
        match action:
            case "begin":
                batch.begin_early(calls[begun])
                begun += 1
            case "complete":
                batch.complete(calls[begun:])
            case "withdraw":
                await outlast(batch.stop(place[0]))
                batch.forget(place[0])
            case "cancel":
                await batch.stop_all()
    await batch.join()
    results = [
        [one.status, one.error if one.result.error else one.value, one.record.attempt]
        for one in batch.executions(batch.results())
    ]
    return results, journal
