"""Carries a program out with this package, its log in SQLite."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from cogency_rs import Agent, SQLite, ToolContext, tool
from cogency_rs.execution import Happened, NotHappened, UnsettledCall

from .bank import Bank
from .judge import Ended
from .kills import Victim
from .programs import Kind, PlannedCall, Program

__all__ = ["Ours"]

CONVERSATION = "c"
CALL = "the call"
"""The argument that says which of the program's calls a call is."""


class WitnessedLog(SQLite):
    """A log that writes down which results it has acknowledged."""

    def __init__(self, path: Path, witness: Path, victim: Victim) -> None:
        super().__init__(path, synchronous="OFF")  # a kill of the process, not of the machine
        self._witness, self._victim = witness, victim

    def append(self, conversation_id: str, **options: Any) -> Any:
        self._victim.passes("before a save")
        saving = super().append(conversation_id, **options)
        results = [json.loads(call.result) for call in options.get("calls", ()) if call.result]
        contents = [each["content"] for each in results if each["status"] == "success"]
        for type, content, _ in options["rows"]:
            if type == "result":
                contents += [each["content"] for each in json.loads(content)]
        saving.add_done_callback(lambda _: self._acknowledged(contents))
        return saving

    def _acknowledged(self, contents: list[Any]) -> None:
        lines = [f"{content}\n" for content in contents if str(content).startswith("receipt of ")]
        file = os.open(self._witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, "".join(lines).encode())
        finally:
            os.close(file)
        self._victim.passes("after a save")


class Ours:
    """One program in one folder, as one process carries it out.

    Args:
        folder: what outlives the process.
        program: the work.
        victim: the process.
    """

    def __init__(self, folder: Path, program: Program, victim: Victim) -> None:
        self.bank = Bank(folder / "ledger", victim)
        self._path, self._witness = folder / "log.db", folder / "witness"
        self._program, self._victim = program, victim

    async def carry_out(self) -> None:
        """Begin the program, or go on where an earlier process was killed."""
        async with WitnessedLog(self._path, self._witness, self._victim) as log:
            tools = [self._tool(name, kind) for name, kind in self._program.tools.items()]
            agent = Agent(self._model, tools=tools, storage=log)
            if (await log.read(CONVERSATION)).rows:
                await agent.resume(CONVERSATION)
            else:
                await agent.run("Do it.", conversation_id=CONVERSATION)

    async def outcome(self) -> tuple[list[list[Ended]], bool]:
        """How each call came out, by batch; and whether the conversation has its answer."""
        async with SQLite(self._path) as log:
            rows = (await log.read(CONVERSATION)).rows
            records = [each for each in await log.calls(CONVERSATION) if not each.is_dropped]
            results = [json.loads(row["content"]) for row in rows if row["type"] == "result"]
            left = iter(records)
            outcome = [
                [
                    _ended(next(left).status, str(each["tool"]), str(each["content"]))
                    for each in batch
                ]
                for batch in results
            ]
            is_over = bool(rows) and rows[-1]["type"] == "respond" and not [*left]
            return outcome, is_over and not await log.open_calls(CONVERSATION)

    def acknowledged(self) -> dict[str, str]:
        """The results that a process has seen saved, by call."""
        if not self._witness.exists():
            return {}
        return {line.split()[-1]: line for line in self._witness.read_text().splitlines()}

    async def _model(self, messages: list[dict[str, Any]]) -> AsyncIterator[str]:
        done = sum(
            "<execute>" in each["content"] for each in messages if each["role"] == "assistant"
        )
        if done == len(self._program.batches):
            yield "Done."
            return
        calls = [
            {"name": call.name, "args": {**call.args, CALL: f"{done}/{place}"}}
            for place, call in enumerate(self._program.batches[done])
        ]
        text = f"<execute>{json.dumps(calls)}</execute>"
        for start in range(0, len(text), 50):
            yield text[start : start + 50]
            await asyncio.sleep(0)

    def _tool(self, name: str, kind: Kind) -> Any:
        async def act(context: ToolContext[Any], **args: Any) -> str:
            planned = self._planned(args[CALL])
            for _ in range(planned.rounds):
                await asyncio.sleep(0)
            if kind is Kind.READ:
                return f"read {args[CALL]}"
            return self.bank.do(context.execution_id, args[CALL], once=kind is Kind.IDEMPOTENT)

        async def look(call: UnsettledCall) -> Happened | NotHappened:
            self._victim.passes("in a reconcile")
            receipt = self.bank.find(call.execution_id)
            return NotHappened() if receipt is None else Happened(receipt)

        return tool(
            act,
            name=name,
            description="Act.",
            read_only=kind is Kind.READ,
            idempotent=kind is Kind.IDEMPOTENT,
            reconcile=look if kind is Kind.RECONCILED else None,
        )

    def _planned(self, id: str) -> PlannedCall:
        batch, _, place = id.partition("/")
        return self._program.batches[int(batch)][int(place)]


def _ended(status: str, name: str, content: str) -> Ended:
    match status:
        case "success":
            return Ended(name, "done", content)
        case "unknown":
            return Ended(name, "unknown", content)
        case _:
            return Ended(name, "failed", f"{status}: {content}")
