"""Load: many conversations at once, at the pace at which models write, with tools that fail and a log on disk.

    python benches/soak.py [--seconds 300] [--conversations 2000] [--rate 50] [--postgres [DSN]] [--json] [--write]

Every conversation is scripted, so that it is known which events its consumer must see and which rows its log must hold.
Both are compared. The log is read at the end, without this package, from the file or from the tables. A fifth of the
time goes to the floor: the same conversations through a bare generator, with the tools under `asyncio.gather` and no
log. The floor shows how much one Python loop can do at all, and how late tokens are when it is busy. At the end every
conversation is cancelled where it is.

`--rate` is in tokens a second and conversation, `--json` prints the figures as JSON, `--write` puts them into
docs/reliability.md. `--postgres` keeps the log in PostgreSQL: in a schema of its own in the database at DSN, or on a
server that is started for it and waits for the disk. Figures are those of the machine it runs on.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import inspect
import json
import logging
import math
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from scripted import NAME, SCRIPTS, TOOLS, Row, Script, Tool, rows_of, scripts, turns
from soak_logs import InPostgreSQL, InSQLite, Log, Place, read_back, value_of

from cogency_rs import Accumulator, Execution, parse_tokens

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "reliability.md"

FLOOR_SHARE = 0.2
SAMPLED = 8
"""Every so many pieces of text, one is timed."""


# Ways to carry out turns


class Turn:
    """One turn: a model that writes a script, each token when it is due, or as soon as the loop comes round to it.

    Attributes:
        conversation: the conversation of the turn.
        name: a name that no other turn has.
        due: when the last token was due.
        handed: when it was handed over; both on the loop's clock.
    """

    def __init__(
        self, script: Script, conversation: str, name: str, rate: float, tally: Tally
    ) -> None:
        self.script, self.conversation, self.name = script, conversation, name
        self._rate, self._tally = rate, tally
        self.due = self.handed = 0.0

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(content) for kind, content in self.script.rows if kind == "call"]

    @property
    def rows(self) -> list[Row]:
        """The rows that the turn must leave."""
        return rows_of(self.script, self.name)

    async def __aiter__(self) -> AsyncIterator[str]:
        clock = asyncio.get_running_loop().time
        self.due = clock()
        for token in self.script.tokens:
            self.due += 1 / self._rate
            await asyncio.sleep(self.due - clock())
            self._tally.tokens += 1
            self.handed = clock()
            yield self.name if token == NAME else token


class Pipeline(Protocol):
    """How turns are carried out."""

    async def begin(self, conversation: str, name: str) -> None:
        """Save the user's message."""

    def events(self, turn: Turn) -> AsyncGenerator[dict[str, Any], None]:
        """Carry out a turn; yields its events."""

    def expected(self, turn: Turn) -> list[Row]:
        """The events that the turn must have, with text in one piece."""


class Floor:
    """The least that any implementation has to do: hand on tokens, and gather tools."""

    async def begin(self, conversation: str, name: str) -> None:
        """Keep nothing."""

    async def events(self, turn: Turn) -> AsyncGenerator[dict[str, Any], None]:
        """Carry out a turn; yields its tokens."""
        async for token in turn:
            yield {"type": "respond", "content": token}
        await asyncio.gather(
            *(self._run(TOOLS[call["name"]], call["args"]) for call in turn.calls),
            return_exceptions=True,
        )

    async def _run(self, tool: Tool, args: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(tool.execute):
            return await tool.execute(**args)
        return await asyncio.to_thread(tool.execute, **args)

    def expected(self, turn: Turn) -> list[Row]:
        """Its text."""
        return [("respond", "".join(turn.script.tokens).replace(NAME, turn.name))]


class Core:
    """A parser and an accumulator in token mode, and a log."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self._execution = Execution(storage=storage, tools=[*TOOLS.values()])

    async def begin(self, conversation: str, name: str) -> None:
        """Save the user's message."""
        await self._storage.save_message(conversation, "", "user", name)

    def events(self, turn: Turn) -> AsyncGenerator[dict[str, Any], None]:
        """Carry out a turn."""
        accumulator = Accumulator(
            "", turn.conversation, execution=self._execution, stream="token", max_failures=10**9
        )
        return accumulator.process(parse_tokens(turn))

    def expected(self, turn: Turn) -> list[Row]:
        """Its rows."""
        return turn.rows


# Measurements


class Delays:
    """Times, in buckets that grow by a twentieth, so that any number of them takes no memory."""

    _LEAST, _GROWTH = 1e-7, math.log(1.05)

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        self._buckets[int(math.log(max(seconds / self._LEAST, 1)) / self._GROWTH)] += 1

    def milliseconds(self, share: float) -> float:
        """The time below which this share of all times stays."""
        rest = share * self._buckets.total()
        for bucket, count in sorted(self._buckets.items()):
            rest -= count
            if rest <= 0:
                return 1e3 * self._LEAST * math.exp((bucket + 1) * self._GROWTH)
        return 0.0


@dataclass
class Tally:
    """The measurements of a phase.

    Attributes:
        tokens: how many were handed over.
        turns: how many were completed.
        calls: how many these had.
        wrong: how many completed turns had other events than they must have.
        safe: for each conversation, how many rows its consumer knows to be in the log.
        late: the time from when a token was due until its event was with the consumer.
        added: the time from when the token was handed over until then.
    """

    tokens: int = 0
    turns: int = 0
    calls: int = 0
    wrong: int = 0
    safe: Counter[str] = field(default_factory=Counter)
    late: Delays = field(default_factory=Delays)
    added: Delays = field(default_factory=Delays)


async def converse(
    conversation: str,
    library: list[tuple[Script, Script]],
    rate: float,
    pipeline: Pipeline,
    tally: Tally,
) -> None:
    """Carry on a conversation until cancelled."""
    clock = asyncio.get_running_loop().time
    pieces = 0
    for name, asked in turns(conversation, library):
        await pipeline.begin(conversation, name)
        tally.safe[conversation] += 1
        for script in asked:
            before = tally.safe[conversation]
            turn = Turn(script, conversation, name, rate, tally)
            seen: list[tuple[str, list[str]]] = []
            async with aclosing(pipeline.events(turn)) as events:
                async for event in events:
                    kind = event["type"]
                    if kind in {"think", "respond"}:
                        pieces += 1
                        if not pieces % SAMPLED:
                            now = clock()
                            tally.late.add(now - turn.due)
                            tally.added.add(now - turn.handed)
                        if seen and seen[-1][0] == kind:
                            seen[-1][1].append(event["content"])
                            continue
                    if "content" in event:
                        seen.append((kind, [event["content"]]))
                        if kind in {"call", "result"}:
                            tally.safe[conversation] = before + len(seen)
            found = [(kind, value_of(kind, "".join(content))) for kind, content in seen]
            tally.safe[conversation] = before + len(found)
            tally.wrong += found != pipeline.expected(turn)
            tally.calls += len(turn.calls)
            tally.turns += 1


@dataclass
class Phase:
    """The figures of the floor, or of the core; rates are per second."""

    tokens_per_second: float
    turns_per_second: float
    calls_per_second: float
    late_p50_ms: float
    late_p99_ms: float
    added_p50_ms: float
    added_p99_ms: float
    wrong_turns: int
    resident_mb: list[float]
    safe: Counter[str]


async def phase(pipeline: Pipeline, conversations: int, rate: float, seconds: float) -> Phase:
    """Carry on this many conversations for a while; the first tenth, in which they begin, is not measured."""
    library = [scripts(seed) for seed in range(SCRIPTS)]
    tally = Tally()
    tasks = []
    for number in range(conversations):
        tasks.append(asyncio.create_task(converse(f"{number}", library, rate, pipeline, tally)))
        await asyncio.sleep(seconds / 10 / conversations)
    tokens, turns_, calls = tally.tokens, tally.turns, tally.calls
    tally.late, tally.added = Delays(), Delays()
    resident = [resident_megabytes()]
    start = time.monotonic()
    for _ in range(2):
        await asyncio.sleep(seconds * 0.45)
        resident.append(resident_megabytes())
    taken = time.monotonic() - start
    tokens, turns_, calls = tally.tokens - tokens, tally.turns - turns_, tally.calls - calls
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(ended, asyncio.CancelledError):
            raise RuntimeError("a conversation ended by itself") from ended
    return Phase(
        tokens_per_second=tokens / taken,
        turns_per_second=turns_ / taken,
        calls_per_second=calls / taken,
        late_p50_ms=tally.late.milliseconds(0.5),
        late_p99_ms=tally.late.milliseconds(0.99),
        added_p50_ms=tally.added.milliseconds(0.5),
        added_p99_ms=tally.added.milliseconds(0.99),
        wrong_turns=tally.wrong,
        resident_mb=resident,
        safe=tally.safe,
    )


# The program around it


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def count(folder: str) -> int:
    """Entries of a folder of this process: `fd` or `task`."""
    return sum(1 for _ in Path(f"/proc/self/{folder}").iterdir())


@dataclass
class Resources:
    """The resources of the process.

    Attributes:
        resident_mb: memory.
        files: open files.
        threads: of the system.
    """

    resident_mb: float
    files: int
    threads: int

    @classmethod
    def now(cls) -> Resources:
        return cls(resident_megabytes(), count("fd"), count("task"))


@dataclass
class Figures:
    """All that is reported."""

    python: str
    cpus: int
    seconds: float
    conversations: int
    demanded_tokens_per_second: float
    floor: Phase
    core: Phase
    log: Log
    start: Resources
    busy: Resources
    end: Resources

    @property
    def events_lost(self) -> int:
        return self.log.lost + self.core.wrong_turns


async def soak(place: Place, seconds: float, conversations: int, rate: float) -> Figures:
    start = Resources.now()
    floor = await phase(Floor(), conversations, rate, seconds * FLOOR_SHARE)
    gc.collect()
    async with place.open() as storage:
        core = await phase(Core(storage), conversations, rate, seconds * (1 - FLOOR_SHARE))
        busy = Resources.now()
    gc.collect()
    return Figures(
        python=platform.python_version(),
        cpus=os.cpu_count() or 1,
        seconds=seconds,
        conversations=conversations,
        demanded_tokens_per_second=conversations * rate,
        floor=floor,
        core=core,
        log=await read_back(place, core.safe),
        start=start,
        busy=busy,
        end=Resources.now(),
    )


def three_digits(value: float) -> str:
    """A number with its significant digits."""
    return f"{float(f'{value:.3g}'):,g}"


def table(figures: Figures, place: Place) -> str:
    """The figures for a reader."""
    demanded, log = figures.demanded_tokens_per_second, figures.log
    start, busy, end = figures.start, figures.busy, figures.end

    def column(name: str, phase: Phase, lost: int) -> list[str]:
        share = phase.tokens_per_second / demanded
        return [
            name,
            f"{phase.tokens_per_second:,.0f} ({share:.0%})",
            f"{phase.turns_per_second:,.0f}",
            f"{phase.calls_per_second:,.0f}",
            f"{three_digits(phase.late_p50_ms)} / {three_digits(phase.late_p99_ms)} ms",
            f"{three_digits(phase.added_p50_ms)} / {three_digits(phase.added_p99_ms)} ms",
            f"{lost:,}",
            " / ".join(f"{value:,.0f}" for value in phase.resident_mb) + " MB",
        ]

    names = [
        "",
        f"tokens a second, of {demanded:,.0f} asked for",
        "turns a second",
        "tool calls a second",
        "a token, from due to consumer: p50 / p99",
        "a token, from handed over to consumer: p50 / p99",
        "events lost",
        "resident memory: all begun / halfway / at the end",
    ]
    columns = zip(
        names,
        column("bare generator", figures.floor, figures.floor.wrong_turns),
        column(f"cogency-rs, log {place.where}", figures.core, figures.events_lost),
        strict=True,
    )
    head, *body = (f"| {' | '.join(row)} |" for row in columns)
    carried = figures.core.tokens_per_second / demanded * figures.conversations
    return f"""\
{figures.conversations:,} conversations for {figures.seconds:,.0f} s, Python {figures.python}, {figures.cpus} CPUs:

{head}
| --- | ---: | ---: |
{chr(10).join(body)}

At that pace the core carries {carried:,.0f} conversations in one event loop. The log holds {log.rows:,} rows,
of which {log.lost:,} are missing or wrong. {log.cancelled_calls:,} calls were running when all conversations
were cancelled at the end; each has its result. Open files: {start.files} before, {busy.files} while the log
was open, {end.files} after. Threads: {start.threads} before, {busy.threads} while the log was open,
{end.threads} after; the pools stay."""


def reported(figures: Figures) -> dict[str, Any]:
    """The figures for a program."""
    report = {"events_lost": figures.events_lost, **asdict(figures)}
    for phase_ in ("floor", "core"):
        del report[phase_]["safe"]  # one number for each conversation
    return report


def write(text: str, begin: str, end: str) -> None:
    """Put a text between two marks of the document."""
    document = DOCUMENT.read_text(encoding="utf-8")
    before, rest = document.split(begin)
    _, after = rest.split(end)
    whole = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    DOCUMENT.write_text(whole, encoding="utf-8")


def main() -> None:
    """Run, print, and fail if anything was lost."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=300)
    arguments.add_argument("--conversations", type=int, default=2000)
    arguments.add_argument("--rate", type=float, default=50)
    arguments.add_argument("--postgres", nargs="?", const="", metavar="DSN")
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--write", action="store_true")
    options = arguments.parse_args()
    # Tools that fail are a part of the load; any other error is printed.
    logging.getLogger("cogency_rs.execution.batch").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        place: Place = InSQLite(Path(folder) / "log.db")
        if options.postgres is not None:
            place = InPostgreSQL(options.postgres)
        with place:
            load = options.seconds, options.conversations, options.rate
            figures = asyncio.run(soak(place, *load))
    text = table(figures, place)
    if options.write:
        write(text, place.begin, place.end)
    print(json.dumps(reported(figures), indent=2) if options.json else text)
    sys.exit(figures.events_lost and f"{figures.events_lost} events were lost")


if __name__ == "__main__":
    main()
