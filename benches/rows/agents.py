"""The cost of the agent's loop: one run, and the same turns in a loop written by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from figures import Samples
from measure import Bench
from sides import Tool, block, cut, drain, execution

from cogency_rs import Accumulator, Agent, Memory, TurnOutcome, assemble, parse_tokens
from cogency_rs.ids import uuid7

CALLS = 4
ANSWERS = (f"I look.{block([('t', {'text': 'x'})] * CALLS)}", "That is all there is to see.")


class Script:
    """A model with two answers in turn: one with calls, and one after their results."""

    def __init__(self) -> None:
        self._answers = [cut(answer, 16) for answer in ANSWERS]
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
        turn = Accumulator("", conversation, execution=execution(tools, storage))
        while turn.outcome in (None, TurnOutcome.ACTED):
            messages = await assemble(
                "", conversation, tools=tools, storage=storage, escape_tags=True
            )
            await drain(turn.process(parse_tokens(model(messages), errors="event", lenient=True)))

    return await bench.timed(ours=ours, floor=by_hand)
