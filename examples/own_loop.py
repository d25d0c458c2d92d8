"""An agent in one loop: assemble the prompt, stream the model, run its calls, until it is done.

    python examples/own_loop.py
    python examples/own_loop.py "What is 19 + 23?"

A model is any function from messages to an async iterable of text. The one here reads from a script, so that nothing
else is needed; `openai_model.py` has a real one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from itertools import takewhile

from cogency_rs import (
    Accumulator,
    CallOptions,
    Event,
    Execution,
    SQLite,
    ToolResult,
    assemble,
    parse_tokens,
)
from cogency_rs.models import Finish, ReasoningDelta
from cogency_rs.types import TurnOutcome

Message = dict[str, str]
Model = Callable[[list[Message]], AsyncIterable[str | ReasoningDelta | Finish]]

GO_ON = {TurnOutcome.ACTED, TurnOutcome.MALFORMED, TurnOutcome.TRUNCATED}
"""The outcomes after which the model has something new to read: results, or what was wrong with its output."""


async def agent(
    model: Model,
    query: str,
    *,
    conversation_id: str,
    execution: Execution,
    tool_timeout: float | None = None,
    max_turns: int = 20,
) -> AsyncGenerator[Event, None]:
    """Answer `query`, in at most `max_turns` turns of the model; yields the events of all turns.

    Close it (`aclosing`) to stop early: the model's stream is closed, and running tools are cancelled and awaited.
    """
    storage, tools = execution.storage, execution.tools
    await storage.save_message(conversation_id, "", "user", query)
    turns = Accumulator(
        "",
        conversation_id,
        execution=execution,
        stream="token",
        calls=CallOptions(timeout=tool_timeout),
    )
    for _ in range(max_turns):
        messages = await assemble("", conversation_id, tools=tools, storage=storage)
        source = parse_tokens(model(messages), errors="event", lenient=True)
        async with aclosing(turns.process(source)) as turn:
            async for event in turn:
                yield event
        if turn.result.outcome not in GO_ON:
            return


def scripted(*answers: str, pause: float = 0.01) -> Model:
    """Make a model with these answers, one for each turn, a few characters at a time."""

    def is_query(message: Message) -> bool:
        return message["role"] == "user" and not message["content"].startswith("<results>")

    async def model(messages: list[Message]) -> AsyncGenerator[str, None]:
        since_query = takewhile(lambda message: not is_query(message), reversed(messages))
        given = sum(message["role"] == "assistant" for message in since_query)
        answer = answers[min(given, len(answers) - 1)]
        for start in range(0, len(answer), 4):
            await asyncio.sleep(pause)
            yield answer[start : start + 4]

    return model


class Add:
    """The only tool of this agent."""

    name, description = "add", "Add two numbers."
    schema = {
        "a": {"type": "integer", "required": True},
        "b": {"type": "integer", "required": True},
    }

    async def execute(self, a: int, b: int, **_: object) -> ToolResult:
        return ToolResult(outcome=f"{a} + {b} = {a + b}")


SCRIPT = [
    """\
<think>Two sums; neither needs the other.</think>\
I add both at once.<execute>[
  {"name": "add", "args": {"a": 19, "b": 23}},
  {"name": "add", "args": {"a": 2, "b": 3}}
]</execute>""",
    "The sums are 42 and 5.<end>",
]


async def show(events: AsyncIterable[Event]) -> None:
    """Print events as they stream: one line each, with all pieces of a text on one line."""
    shown = None
    async for event in events:
        if event["type"] != shown or shown == "call":
            print("" if shown is None else "\n", f"{event['type']:8}", sep="", end="")
        print(event.get("content", ""), end="", flush=True)
        shown = event["type"]
    print()


async def main(query: str) -> None:
    async with SQLite(":memory:") as storage:
        execution = Execution(storage=storage, tools=[Add()])
        await show(agent(scripted(*SCRIPT), query, conversation_id="sums", execution=execution))


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What is 19 + 23, and what is 2 + 3?"))
