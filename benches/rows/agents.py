"""The cost of the agent's loop: a run next to the same turns in a loop by hand, and a late run next to an early one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from figures import Samples
from measure import Bench
from sides import Tool, block, cut, drain, execution

from cogency_rs import Accumulator, Agent, Memory, SQLite, assemble, parse_tokens
from cogency_rs.models import ModelRequest
from cogency_rs.outside import uuid7
from cogency_rs.storage import CallRecord
from cogency_rs.storage.sqlite import writer
from cogency_rs.types import TurnOutcome

CALLS = 4
ANSWERS = (f"I look.{block([('t', {'text': 'x'})] * CALLS)}", "That is all there is to see.")


class Script:
    """A model that gives its answers in turn: by default one with calls, and one after their results."""

    def __init__(self, answers: Sequence[str] = ANSWERS) -> None:
        self._answers = [cut(answer, 16) for answer in answers]
        self._asked = 0

    async def __call__(self, messages: Any) -> AsyncIterator[str]:
        answer = self._answers[self._asked % len(self._answers)]
        self._asked += 1
        for piece in answer:
            yield piece


async def one_run(bench: Bench) -> Samples:
    """A step with four calls, then an answer, each time in a new conversation, with the log in memory."""
    tools = [Tool()]
    agent = Agent(Script(), tools=tools, storage=Memory())
    storage, model = Memory(), Script()

    async def ours() -> None:
        result = await agent.run("What is there?")
        assert result.output == ANSWERS[-1]

    async def by_hand() -> None:
        conversation = uuid7()
        await storage.append(conversation, rows=[("user", "What is there?", 0.0)])
        turns = Accumulator("", conversation, execution=execution(tools, storage))
        outcome: TurnOutcome | None = TurnOutcome.ACTED
        while outcome is TurnOutcome.ACTED:
            messages = await assemble(
                "", conversation, tools=tools, storage=storage, escape_tags=True
            )
            turn = turns.process(parse_tokens(model(messages), errors="event", lenient=True))
            await drain(turn)
            outcome = turn.result.outcome

    return await bench.timed(ours=ours, floor=by_hand)


QUESTION = ("Good morning.",)
CALL = (block([("t", {"text": "x"})]), "That is all.")


async def synced_commits(bench: Bench, answers: tuple[str, ...]) -> Samples:
    """The commits of a run that wait for the disk, in a file on disk and with `synchronous="FULL"`."""
    waits = False
    count = 0

    def note(statement: str) -> None:
        nonlocal waits, count
        if statement.startswith("PRAGMA synchronous = "):
            waits = int(statement[-1]) >= FULL
        count += waits and statement == "COMMIT"

    def traced(path: str) -> Any:
        connection = connect(path)
        connection.set_trace_callback(note)
        return connection

    connect = writer.connect_to_write
    writer.connect_to_write = traced
    counts: list[int] = []
    try:
        async with SQLite(bench.folder / "synced.db") as storage:
            agent = Agent(Script(answers), tools=[Tool()], storage=storage)
            await agent.run("Hello", conversation_id="c")  # makes the file
            for _ in range(3):
                before = count
                await agent.run("Hello", conversation_id="c")
                counts.append(count - before)
    finally:
        writer.connect_to_write = connect
    return {"ours": counts}


FULL = 2
"""The level of `PRAGMA synchronous` from which a commit waits for the disk."""

EARLY = 10
"""The turns of a conversation that is still short."""


class Model(Script):
    """The same as a model that leaves the messages alone, as `OpenAIModel` does."""

    keeps_messages = True

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        return self(request.messages)


async def late_run(bench: Bench, turns: int) -> Samples:
    """A run with one batch of calls as the next turn of a long conversation, and of a short one; both in SQLite.

    The long one grows while it is measured, and a short one is made for each run.
    """
    async with SQLite(bench.folder / "log.db") as storage:
        agent = Agent(Model(), tools=[Tool()], storage=storage)
        await _append_turns(storage, "long", turns)
        shorts: list[str] = []

        async def add_short() -> None:
            shorts.append(uuid7())
            await _append_turns(storage, shorts[-1], EARLY)

        async def run(conversation: str) -> None:
            result = await agent.run("What is there?", conversation_id=conversation)
            assert result.output == ANSWERS[-1]

        await run("long")  # the first prompt folds what the others go on with
        return await bench.timed(
            before=add_short, ours=lambda: run("long"), floor=lambda: run(shorts[-1])
        )


async def _append_turns(storage: SQLite, conversation: str, turns: int) -> None:
    call = json.dumps({"name": "t", "args": {"text": "x"}})
    result = {"tool": "t", "status": "success", "content": "x"}
    for turn in range(turns):
        batch, time = uuid7(), 1.0 + turn
        records = [
            CallRecord(uuid7(), batch, place, "t", status="success", started_at=time)
            for place in range(CALLS)
        ]
        await storage.append(
            conversation,
            user_id="",
            rows=[
                ("user", f"What is there at {turn}?", time),
                ("respond", "I look.", time),
                *[("call", call, time)] * CALLS,
            ],
            calls=[record._replace(status="open") for record in records],
        )
        results = json.dumps([result] * CALLS)
        rows = [("result", results, time), ("respond", ANSWERS[-1], time)]
        await storage.append(conversation, user_id="", rows=rows, calls=records)
