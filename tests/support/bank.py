"""A call that a killed program left in doubt, and a bank that can tell what became of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from cogency_rs import Agent, ToolContext, tool
from cogency_rs.execution import Reconcile, UnsettledCall
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel

__all__ = ["STARTED", "Bank", "hang", "leave", "told"]

STARTED = 1_000.5


async def leave(log: Any, *, name: str = "pay", **fields: Any) -> CallRecord:
    """Leave a conversation as a killed program does: with a call that may have happened."""
    record = CallRecord(uuid7(), uuid7(), 0, name, None, "open", 1, STARTED, None, "far:1")
    record = record._replace(**fields)
    rows = [("user", "Go.", 1.0), ("call", json.dumps({"name": name, "args": {"n": 5}}), 2.0)]
    await log.append("c", user_id="ada", rows=rows, calls=[record])
    return record


class Bank:
    """Pays, and tells whether it did."""

    def __init__(self, answer: Any, **options: Any) -> None:
        self.paid: list[str] = []
        self.asked: list[UnsettledCall] = []
        self._answer = answer
        reconcile = Reconcile(self.look, **options) if options else self.look
        self.pay = tool(self._pay, name="pay", description="Pay.", reconcile=reconcile)

    async def _pay(self, n: int, context: ToolContext[Any]) -> str:
        self.paid.append(context.execution_id)
        return f"paid {n}"

    async def look(self, call: UnsettledCall) -> Any:
        self.asked.append(call)
        answer = self._answer
        if isinstance(answer, BaseException):
            raise answer
        return await answer() if answer is hang else answer

    def agent(self, log: Any, *answers: str, **options: Any) -> Agent[Any, str]:
        return Agent(ScriptedModel(answers or ["done"]), tools=[self.pay], storage=log, **options)


async def told(log: Any) -> Any:
    """What the model reads of the call."""
    [row] = [row for row in (await log.read("c")).rows if row["type"] == "result"]
    [result] = json.loads(row["content"])
    return result["content"]


async def hang() -> None:
    await asyncio.get_running_loop().create_future()
