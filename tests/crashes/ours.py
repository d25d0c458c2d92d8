"""Carries a program out with this package, its log in a SQLite file or in PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from cogency_rs import Agent, PostgreSQL, SQLite, ToolContext, tool
from cogency_rs.execution import Happened, NotHappened, UnsettledCall

from .bank import Bank
from .judge import Ended
from .kills import Victim
from .programs import Kind, PlannedCall, Program

__all__ = ["Ours"]

CALL = "the call"
"""The argument that says which of the program's calls a call is."""


class Witnessed:
    """A part of a log: it writes down which results the log has acknowledged.

    Attributes:
        witness: the file to write to.
        victim: the process.
    """

    witness: Path
    victim: Victim

    def append(self, conversation_id: str, **options: Any) -> Any:
        self.victim.passes("before a save")
        log: Any = super()
        saving = log.append(conversation_id, **options)
        results = [json.loads(call.result) for call in options.get("calls", ()) if call.result]
        contents = [each["content"] for each in results if each["status"] == "success"]
        for type, content, _ in options["rows"]:
            if type == "result":
                contents += [each["content"] for each in json.loads(content)]
        saving.add_done_callback(lambda _: self._acknowledged(contents))
        return saving

    def _acknowledged(self, contents: list[Any]) -> None:
        lines = [f"{content}\n" for content in contents if str(content).startswith("receipt of ")]
        file = os.open(self.witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, "".join(lines).encode())
        finally:
            os.close(file)
        self.victim.passes("after a save")


class WitnessedFile(Witnessed, SQLite): ...


class WitnessedTables(Witnessed, PostgreSQL): ...


class Ours:
    """One program in one folder, as one process carries it out.

    Args:
        folder: what outlives the process.
        program: the work.
        victim: the process.
        database: the address of a PostgreSQL database to keep the log in; by default it is a file in the folder.
    """

    def __init__(self, folder: Path, program: Program, victim: Victim, database: str = "") -> None:
        self.bank = Bank(folder / "ledger", victim)
        self._path, self._witness = folder / "log.db", folder / "witness"
        self._program, self._victim, self._database = program, victim, database
        self._conversation = folder.name

    async def carry_out(self) -> None:
        """Begin the program, or go on where an earlier process was killed."""
        async with self._log() as log:
            tools = [self._tool(name, kind) for name, kind in self._program.tools.items()]
            agent = Agent(self._model, tools=tools, storage=log)
            if (await log.read(self._conversation)).rows:
                await agent.resume(self._conversation)
            else:
                await agent.run("Do it.", conversation_id=self._conversation)

    async def outcome(self) -> tuple[list[list[Ended]], bool]:
        """How each call came out, by batch; and whether the conversation has its answer."""
        async with self._log() as log:
            rows = (await log.read(self._conversation)).rows
            calls = await log.calls(self._conversation)
            records = [each for each in calls if not each.is_dropped]
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
            return outcome, is_over and not await log.open_calls(self._conversation)

    def acknowledged(self) -> dict[str, str]:
        """The results that a process has seen saved, by call."""
        if not self._witness.exists():
            return {}
        return {line.split()[-1]: line for line in self._witness.read_text().splitlines()}

    def _log(self) -> WitnessedFile | WitnessedTables:
        log = (
            WitnessedTables(self._database)
            if self._database
            else WitnessedFile(
                self._path, synchronous="OFF"
            )  # the process is killed, not the machine
        )
        log.witness, log.victim = self._witness, self._victim
        return log

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
