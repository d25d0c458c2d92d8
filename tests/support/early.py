"""A model that writes slowly, tools that say when they run, and a turn of both."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from typing import Any

from cogency_rs import Accumulator, CallOptions, Execution, Memory, ToolContext, parse_tokens, tool
from support.begun import is_dropped
from support.tools import rounds

STABLE_KEYS = ("type", "content", "payload", "kind", "name", "index", "said")
"""The keys of an event whose values do not depend on the time."""


@dataclass
class Bench:
    """Tools of every kind, and a journal of their calls.

    Attributes:
        journal: what happened, in order: `"begin n"`, `"end n"` or `"stop n"` for the call with `n`, `"written"` when
            the model has written its last chunk, or its answer is closed.
    """

    journal: list[str] = field(default_factory=list)

    def tools(self) -> list[Any]:
        """`read`, `fail`, `say` and `block` may begin early; `alone`, `secret` and `write` may not."""

        async def work(n: int, times: int) -> int:
            self.journal.append(f"begin {n}")
            try:
                await rounds(times)
            except BaseException:
                self.journal.append(f"stop {n}")
                raise
            self.journal.append(f"end {n}")
            return n

        @tool(read_only=True)
        async def read(n: int) -> int:
            """Read."""
            return await work(n, n % 7)

        @tool(read_only=True)
        async def fail(n: int) -> int:
            """Read a thing that does not exist."""
            raise LookupError(await work(n, 1))

        @tool(read_only=True)
        async def say(n: int, context: ToolContext[Any]) -> int:
            """Read, and emit an event."""
            context.emit({"type": "progress", "said": n})
            return await work(n, 2)

        @tool(read_only=True)
        def block(n: int) -> int:
            """Read in a thread."""
            return n

        @tool(read_only=True, sequential=True)
        async def alone(n: int) -> int:
            """Read alone."""
            return await work(n, 1)

        @tool(read_only=True, requires_approval=True)
        async def secret(n: int) -> int:
            """Read a thing that needs approval."""
            return await work(n, 1)

        @tool
        async def write(n: int) -> int:
            """Write."""
            return await work(n, 1)

        return [read, fail, say, block, alone, secret, write]

    async def chunks(self, chunks: Iterable[Any], pause: int = 3) -> AsyncGenerator[Any, None]:
        """The chunks of an answer, each after some rounds of the event loop."""
        try:
            for chunk in chunks:
                await rounds(pause)
                yield chunk
        finally:
            self.journal.append("written")

    @property
    def early(self) -> list[str]:
        """What happened while the model wrote."""
        end = self.journal.index("written") if "written" in self.journal else len(self.journal)
        return self.journal[:end]

    @property
    def begun_early(self) -> list[int]:
        """The calls that began while the model wrote."""
        return [int(what.split()[1]) for what in self.early if what.startswith("begin")]


@dataclass
class Turned:
    """What a turn left: its events, rows and records, without their times and ids."""

    events: list[dict[str, Any]]
    rows: list[tuple[str, str]]
    records: list[tuple[Any, ...]]
    outcome: Any
    dropped: list[tuple[Any, ...]]


async def turn(
    bench: Bench,
    chunks: Iterable[Any],
    *,
    eager: bool,
    mode: str = "event",
    most: int | None = None,
    reading: dict[str, Any] | None = None,
    **options: Any,
) -> Turned:
    """Carry out a turn whose answer comes in these chunks, with at most so many calls at once."""
    storage, tools = Memory(), bench.tools()
    turns = Accumulator(
        "u",
        "c",
        execution=Execution(storage=storage, tools=tools),
        calls=CallOptions(eager=eager, max_concurrency=most),
        stream=mode,  # type: ignore[arg-type]
        **options,
    )
    source: Any = parse_tokens(
        bench.chunks(chunks),
        **{"errors": "event", "lenient": True, "tools": tools, **(reading or {})},
    )
    turn = turns.process(source)
    events = [{key: event[key] for key in STABLE_KEYS if key in event} async for event in turn]
    rows = [(row["type"], row["content"]) for row in (await storage.read("c")).rows]
    records = await storage.calls("c")
    assert not {record.status for record in records} & {"early", "open"}
    return Turned(
        events,
        rows,
        [(each.name, each.status, each.attempt) for each in records if not is_dropped(each)],
        turn.result.outcome,
        [(each.name, each.status, each.decision) for each in records if is_dropped(each)],
    )
