"""A process of a world: its clock, its ids, its agent, and what it was doing when it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from cogency_rs import Agent, RunLimits
from cogency_rs.errors import StorageError, ToolError

from .bank import TOOLS
from .database import Way
from .doors import enter
from .plan import Process

if TYPE_CHECKING:
    from .mind import Mind
    from .world import World

__all__ = ["RUN", "Died", "Machine", "Talk", "ended"]

EPOCH = 1_600_000_000.0
"""What a clock that is right shows when a world begins; in the past, so that times of the core are told apart."""


RUN: ContextVar[tuple[str, int]] = ContextVar("world_run")
"""The conversation and the number of the run that the present code is part of."""


class Died(Exception):  # noqa: N818  # it happened to somebody else
    """The process died before it had answered."""


class Talk:
    """A conversation.

    Attributes:
        id: its id.
        user: its user.
    """

    def __init__(self, id: str, user: str) -> None:
        self.id, self.user = id, user
        self.shown: set[str] = set()  # the ids of calls that people have seen
        self.begun = False


class Machine:
    """A process: its clock, its ids, its agent, and what it was doing when it stopped.

    Attributes:
        name: as `worker()` names it.
        frozen: the steps that it could not take since it stopped; `None` as long as it runs.
    """

    def __init__(self, world: World, place: int, plan: Process, life: int) -> None:
        self.world, self.plan, self.machine = world, plan, plan.machine
        self.name = f"{plan.machine}:{100 + 10 * place + life}"
        self.steps = 0
        self.stops_at = (plan.killed_at or plan.stopped_at) if not world.is_calm else 0
        self.frozen: list[asyncio.Handle] | None = None
        self.is_dead = False
        self.tasks: list[asyncio.Task[Any]] = []
        self.waiters: dict[asyncio.Future[Any], None] = {}  # in order
        self.runs: set[int] = set()  # the numbers of those that go on
        self._place = place
        self._last, self._count = 0, 0
        self._context = Context()
        enter(self._context, self)
        random = Random(world.plan.seed * 1000 + place * 10 + life)
        troubles = {
            each.request: each
            for each in world.plan.troubles
            if each.process == place and life == 0
        }
        self.way = Way(world.loop, self, random if world.plan.slow_database else None, troubles)
        self.way.is_calm = world.is_calm
        self.log: Any = world.log_of(self)
        self.agent = agent_like(world.plan.dialect, world.mind, self.log)

    # Its doors

    def clock(self, moment: float) -> float:
        """What its clock shows at a moment of the world."""
        jumped = sum(by for at, by in self.plan.jumps if at <= moment)
        return EPOCH + self.plan.skew + jumped + moment

    def now(self) -> float:
        return self.clock(self.world.loop.time())

    def monotonic(self) -> float:
        return self.world.loop.time()

    def new_id(self) -> str:
        """An id like those of `uuid7`: by its own clock, and never two the same."""
        self._last = max(self._last, int(self.now() * 1000))
        self._count += 1
        where = f"{self.world.ids:04x}"
        self.world.ids += 1
        time = f"{self._last:012x}"
        return f"{time[:8]}-{time[8:]}-7{self._count % 4096:03x}-8{self._place:03x}-{where:>012}"

    def sees_end_of(self, name: str, on: str) -> bool:
        """Whether it can see that another process has ended: one on its own machine."""
        return on == self.machine and name in self.world.ended

    def inside(self, work: Callable[[], Any]) -> Any:
        """Do something as a part of this process."""
        context = Context()
        enter(context, self)
        return context.run(work)

    # Its end

    def reached(self) -> None:
        """It comes to the step at which it stops."""
        world = self.world
        if world.is_calm or self.is_dead or self.frozen is not None:
            return
        world.happened = True
        self.frozen = []
        if self.plan.killed_at:
            self.die()
        else:
            world.loop.outside(world.loop.time() + self.plan.stopped_for, self.go_on)

    def die(self) -> None:
        self.is_dead = True
        self.frozen = self.frozen or []
        self.world.ended.add(self.name)
        if self.world.plan.troubles:
            self.world.ledger.outlived |= self.runs
        for waiter in list(self.waiters):
            if not waiter.done():
                waiter.set_exception(Died())

    def go_on(self) -> None:
        if not self.is_dead:
            self.world.loop.thaw(self)

    def begin(
        self, talk: Talk, make: Callable[[Agent[Any, Any]], Coroutine[Any, Any, Any]]
    ) -> asyncio.Future[Any]:
        """Begin to do something in this process; the future has its result, its exception or `Died`."""
        world = self.world
        told: asyncio.Future[Any] = world.loop.create_future()
        if self.is_dead:
            told.set_exception(Died())
            return told
        self.waiters[told] = None
        world.ledger.runs += 1
        number = world.ledger.runs
        context = Context()
        enter(context, self)
        context.run(RUN.set, (talk.id, number))
        agent = self.agent

        async def carry() -> Any:
            return await make(agent)

        self.runs.add(number)
        task = world.loop.create_task(carry(), context=context)
        self.tasks.append(task)

        def over(task: asyncio.Task[Any]) -> None:
            self.waiters.pop(told, None)
            self.runs.discard(number)
            if told.done():
                return
            if task.cancelled():
                told.set_exception(Died())
            elif (error := task.exception()) is not None:
                if isinstance(error, StorageError | ToolError):
                    world.ledger.outlived.add(number)
                told.set_exception(error)
            else:
                told.set_result(task.result())

        task.add_done_callback(over, context=Context())
        return told


_agents: dict[str, Agent[Any, Any]] = {}


def agent_like(dialect: str, mind: Mind, log: Any) -> Agent[Any, Any]:
    """An agent as its constructor makes it. What the tools and the dialect decide is made once for all worlds."""
    made = _agents.get(dialect)
    if made is None:
        made = _agents[dialect] = Agent(
            mind,
            tools=TOOLS,
            storage=log,
            driver="native" if dialect == "native" else "text",
            dialect=None if dialect == "native" else dialect,
            limits=RunLimits(steps=12),
        )
    agent: Agent[Any, Any] = object.__new__(Agent)
    agent.name = made.name
    agent._settings = replace(made._settings, model=mind, storage=log)
    return agent


async def ended(going: asyncio.Future[Any]) -> tuple[Any, BaseException | None]:
    """Wait for a run; returns its result, or why there is none."""
    try:
        return await going, None
    except Exception as error:
        return None, error
