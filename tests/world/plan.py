"""What happens in a world, drawn from one number: a value that can be printed, made smaller, and carried out again.

Invariant: a plan says everything. Carrying it out draws only from random numbers that the plan's seed and the name of
what draws decide, so that what is left out of a plan changes as little as possible of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Literal

__all__ = [
    "DIALECTS",
    "Ask",
    "Call",
    "Click",
    "Fork",
    "Plan",
    "Process",
    "Settle",
    "Step",
    "Trouble",
    "draw",
]

DIALECTS = ("cogency", "hermes", "qwen3-coder", "native")

Ids = Literal["none", "same", "few", "ours", "earlier"]
"""The ids that a provider gives to calls: none, one for all, a few that repeat, or ids that look like ours: new ones,
or those of calls before."""

Verdict = Literal["yes", "no", "edit", "never"]


@dataclass(frozen=True)
class Click:
    """A person decides about a call that was shown.

    Attributes:
        verdict: what is decided.
        after: seconds after the call was shown.
        process: which process gets it.
    """

    verdict: Verdict
    after: float
    process: int


@dataclass(frozen=True)
class Call:
    """A call that a model writes.

    Attributes:
        tool: the tool's name.
        seconds: how long the tool takes before its effect, and after it.
        clicks: what people decide about it, if it is shown to them.
    """

    tool: str
    seconds: tuple[float, float] = (0.0, 0.0)
    clicks: tuple[Click, ...] = ()


@dataclass(frozen=True)
class Step:
    """An answer of a model.

    Attributes:
        calls: what it calls.
        broken: whether one more block comes, which cannot be read: "first", "last", or "" for none.
        words: whether it says something before.
        ends: how it ends: as it should, cut at a limit, or with an error of the service.
        at: where it is cut, as a part of its length.
        together: whether the first decisions about its calls come as one.
    """

    calls: tuple[Call, ...]
    broken: Literal["", "first", "last"] = ""
    words: bool = False
    ends: Literal["whole", "length", "error"] = "whole"
    at: float = 1.0
    together: bool = False


@dataclass(frozen=True)
class Ask:
    """A question.

    Attributes:
        talk: its conversation.
        process: which process carries it out.
        steps: what the model answers before it is done.
        after: seconds after the question before.
        alone: whether it waits until the question before has its answer.
        by: who asks: the owner of the conversation, or somebody else.
        gives_up: whether the calls that wait, or that a process left, are left alone when it is asked.
        resumed_by: the process that goes on where the first one died.
    """

    talk: int
    process: int
    steps: tuple[Step, ...]
    after: float = 1.0
    alone: bool = True
    by: Literal["owner", "other"] = "owner"
    gives_up: bool = False
    resumed_by: int = 1


@dataclass(frozen=True)
class Process:
    """A process that runs agents.

    Attributes:
        skew: by how many seconds its clock is ahead.
        jumps: at what time its clock jumps, and by how much.
        machine: on which machine it is: others there see at once that it has ended.
        killed_at: the step at which it dies; 0 for never.
        stopped_at: the step at which it stops; 0 for never.
        stopped_for: for how many seconds.
    """

    skew: float = 0.0
    jumps: tuple[tuple[float, float], ...] = ()
    machine: str = "m1"
    killed_at: int = 0
    stopped_at: int = 0
    stopped_for: float = 0.0


@dataclass(frozen=True)
class Trouble:
    """A fault of the database, for one request of a process.

    Attributes:
        process: whose request.
        request: its number, from 1.
        kind: refused; late; or carried out, and the answer is lost.
        seconds: how late.
    """

    process: int
    request: int
    kind: Literal["refused", "late", "lost"]
    seconds: float = 0.0


@dataclass(frozen=True)
class Fork:
    """A fork of a conversation at a moment, in which a question is asked."""

    talk: int
    at: float
    process: int


@dataclass(frozen=True)
class Settle:
    """A person looks at a moment what is not known, and says what became of it."""

    at: float
    process: int


@dataclass(frozen=True)
class Plan:
    """A world; see `draw`.

    Attributes:
        seed: its number.
        dialect: how its models write calls; "native" for a provider's own form.
        storage: where its log is.
        ids: which ids its provider gives to calls.
        cuts: the number that says where answers are cut into pieces.
        slow_database: whether requests to the database take time.
        in_one_trip: whether the log in memory reads what a run needs with its lease.
        talks: how many conversations there are.
        asks: the questions.
        processes: the processes; what comes after their death is like `Process()`.
        troubles: what goes wrong with requests to the database.
        forks: the forks.
        settles: when people look at what is not known.
        rates: when that changes which the preview of a charge says.
    """

    seed: int
    dialect: str = "cogency"
    storage: str = "memory"
    ids: Ids = "none"
    cuts: int = 0
    slow_database: bool = True
    in_one_trip: bool = True
    talks: int = 2
    asks: tuple[Ask, ...] = ()
    processes: tuple[Process, ...] = (Process(),)
    troubles: tuple[Trouble, ...] = ()
    forks: tuple[Fork, ...] = ()
    settles: tuple[Settle, ...] = ()
    rates: tuple[float, ...] = ()

    @property
    def has_wrong_clocks(self) -> bool:
        """Whether the clocks of its processes differ."""
        return any(process.skew or process.jumps for process in self.processes)

    def without(self, *, clocks: bool, ids: bool) -> Plan:
        """The plan with clocks that are right, and without the ids of a provider."""
        plan = self
        if clocks:
            processes = (replace(each, skew=0.0, jumps=()) for each in plan.processes)
            plan = replace(plan, processes=tuple(processes))
        return replace(plan, ids="none") if ids else plan

    def undisturbed(self) -> Plan:
        """The plan without death, and with a database that is quick and never fails.

        These depend on how many steps and requests the code takes.
        """
        processes = (Process(each.skew, each.jumps, each.machine) for each in self.processes)
        return replace(self, slow_database=False, processes=tuple(processes), troubles=())

    @property
    def calls(self) -> int:
        """How many calls it has."""
        return sum(len(step.calls) for ask in self.asks for step in ask.steps)

    @property
    def faults(self) -> int:
        """How many things go wrong in it."""
        found = len(self.troubles) + len(self.forks) + len(self.settles) + len(self.rates)
        found += self.ids != "none" and self.dialect == "native"
        for process in self.processes:
            found += bool(process.skew) + len(process.jumps)
            found += bool(process.killed_at) + bool(process.stopped_at)
        for ask in self.asks:
            found += (not ask.alone) + (ask.by != "owner")
            for step in ask.steps:
                found += bool(step.broken) + (step.ends != "whole")
                found += sum(len(call.clicks) > 1 for call in step.calls)
        return found

    def shown(self) -> str:
        """What is not as it is by default, one part a line."""
        lines = [
            f"seed {self.seed}: {self.dialect}, {self.storage}, ids {self.ids}, cuts {self.cuts}"
        ]
        lines += [f"  process {n}: {_changed(p)}" for n, p in enumerate(self.processes)]
        for number, ask in enumerate(self.asks):
            lines.append(
                f"  question {number} in talk {ask.talk}: {_changed(ask, 'talk', 'steps')}"
            )
            lines += [
                f"    answer: {_changed(step, 'calls')}"
                + "".join(f"\n      {call}" for call in step.calls)
                for step in ask.steps
            ]
        lines += [f"  {part}" for part in (*self.troubles, *self.forks, *self.settles)]
        lines += [f"  rates change at {self.rates}"] if self.rates else []
        return "\n".join(lines)


def _changed(part: object, *without: str) -> str:
    kind = type(part)
    fields = kind.__dataclass_fields__  # type: ignore[attr-defined]
    told = [
        f"{name}={getattr(part, name)!r}"
        for name, one in fields.items()
        if name not in without and getattr(part, name) != one.default
    ]
    return ", ".join(told) or "-"


_TOOLS = (
    *("pay", "pay", "pay", "pay", "send", "send", "look", "fail"),
    *("wire", "wire", "wire", "charge", "charge", "book", "book", "book"),
)
"""What models call, as often as they are listed here."""

ASKED_ABOUT = ("wire", "charge")
"""The tools that somebody must approve."""


def draw(seed: int, storage: str = "memory", programs: int | None = None) -> Plan:
    """The plan of a number: at least eight runs, ten calls and two faults.

    Args:
        seed: the number.
        storage: "memory", "sqlite", or `module:function` for a log of your own: the function makes it in a folder, for
            one of the processes that share it.
        programs: how many processes there are at once; two or three by default.
    """
    random = Random(seed)
    dialect = random.choice(DIALECTS)
    talks = random.choice((1, 2, 2, 2))
    count = random.randint(2, 3)
    count = programs or count
    asks = [_ask(random, n % talks, count) for n in range(3)]
    while len(asks) + 2 * talks < 8:  # each conversation is resumed and asked once more at the end
        asks.append(_ask(random, len(asks) % talks, count))
    while sum(len(step.calls) for ask in asks for step in ask.steps) < 10:
        n = random.randrange(len(asks))
        ask = asks[n]
        asks[n] = _with_step(ask, _step(random, count))
    if random.random() < 0.1:
        asks.append(Ask(random.randrange(talks), 0, (), after=5.0, by="other"))
    ids: Ids = random.choice(("none", "none", "same", "few", "ours", "earlier"))
    plan = Plan(
        seed,
        dialect,
        storage,
        ids,
        seed,
        random.random() < 0.5,
        seed % 3 > 0,
        talks,
        tuple(asks),
        tuple(_process(random) for _ in range(count)),
        tuple(
            Trouble(
                random.randrange(count),
                random.randint(1, 60),
                random.choice(("refused", "late", "late", "lost")),
                random.choice((0.5, 4.0, 12.0, 45.0)),
            )
            for _ in range(random.choice((0, 0, 0, 1, 1, 2)))
        ),
        tuple(
            Fork(random.randrange(talks), random.uniform(1, 90), random.randrange(count))
            for _ in range(random.random() < 0.15)
        ),
        tuple(
            Settle(random.uniform(20, 200), random.randrange(count))
            for _ in range(random.random() < 0.25)
        ),
        tuple(random.uniform(1, 150) for _ in range(random.choice((0, 0, 6, 12)))),
    )
    if plan.faults < 2:
        faults = Process(skew=3600.0, killed_at=random.randint(20, 200))
        plan = replace(plan, processes=(faults, *plan.processes[1:]))
    return plan


def _with_step(ask: Ask, step: Step) -> Ask:
    return replace(ask, steps=(*ask.steps, step))


def _ask(random: Random, talk: int, processes: int) -> Ask:
    steps = tuple(_step(random, processes) for _ in range(random.choice((1, 1, 1, 2))))
    return Ask(
        talk,
        random.randrange(processes),
        steps,
        random.choice((0.1, 1.0, 5.0, 60.0)),
        random.random() < 0.85,
        "owner",
        random.random() < 0.25,
        random.randrange(processes),
    )


def _step(random: Random, processes: int) -> Step:
    calls = tuple(_call(random, processes) for _ in range(random.choice((1, 2, 2, 3))))
    chance = random.random()
    ends = "length" if chance < 0.05 else "error" if chance < 0.08 else "whole"
    return Step(
        calls,
        random.choice(("first", "last")) if random.random() < 0.1 else "",
        random.random() < 0.3,
        ends,  # type: ignore[arg-type]
        random.uniform(0.1, 0.95),
        random.random() < 0.6,
    )


def _call(random: Random, processes: int) -> Call:
    tool = random.choice(_TOOLS)
    seconds = random.choice(((0.0, 0.0), (0.0, 0.0), (0.5, 0.5), (0.0, 2.0), (40.0, 1.0)))
    if tool not in ASKED_ABOUT:
        return Call(tool, seconds)
    verdict: Verdict = random.choice(("yes", "yes", "yes", "no", "no", "edit", "never"))
    clicks = [Click(verdict, random.choice((0.5, 3.0, 30.0)), random.randrange(processes))]
    chance = random.random()
    if chance < 0.2:  # twice
        clicks.append(
            Click(verdict, random.choice((0.5, 3.5, 31.0, 90.0)), random.randrange(processes))
        )
    elif chance < 0.45:  # by somebody else
        other: Verdict = random.choice(("yes", "no", "edit"))
        clicks.append(Click(other, random.choice((0.5, 4.0, 40.0)), random.randrange(processes)))
    return Call(tool, seconds, tuple(clicks))


def _process(random: Random) -> Process:
    skew = random.choice((0.0, 0.0, 0.0, -2.0, 2.0, -3600.0, 3600.0, -1.0e9))
    jumps = ((random.uniform(1, 60), random.choice((-3600.0, -5.0, 5.0, 3600.0))),)
    chance = random.random()
    killed, stopped = 0, 0
    if chance < 0.35:
        killed = random.randint(5, 350)
    elif chance < 0.5:
        stopped = random.randint(5, 350)
    return Process(
        skew,
        jumps if random.random() < 0.15 else (),
        random.choice(("m1", "m1", "m2")),
        killed,
        stopped,
        random.choice((1.0, 20.0, 45.0, 100.0)) if stopped else 0.0,
    )
