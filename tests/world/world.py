"""Carries out a plan: processes with agents, models, tools with effects, people, and a database that fails.

Nothing is judged here. What a world did is in its ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from pathlib import Path
from typing import Any

from .bank import Bank
from .database import FileLog, ReadingLog, SharedDatabase, SharedLog, given_log
from .ledger import Ledger
from .loop import NeverEnds, WorldLoop
from .machine import Machine
from .mind import Mind
from .people import People
from .plan import Plan, Process
from .server import ServerLog, the_server

__all__ = ["World", "carry_out", "lived"]

CALM = 200.0
"""Seconds after which whatever was late has come, and every lease has run out."""


class World:
    """A world while it goes on.

    Args:
        plan: what happens in it.
        folder: where a storage has its files, if it has some.

    Attributes:
        is_calm: whether no more faults happen.
        happened: whether something went wrong with a process or the database.
        ended: the names of processes that have died.
        ids: how many ids were made.
        machines: all processes.
    """

    def __init__(self, plan: Plan, folder: Path | None = None) -> None:
        self.plan, self.folder = plan, folder
        self.loop = WorldLoop()
        self.ledger = Ledger()
        self.is_calm = False
        self.happened = False
        self.ended: set[str] = set()
        self.ids = 0
        self._shared = SharedDatabase(self.loop) if plan.storage == "memory" else None
        if plan.storage == "postgresql":
            the_server().empty()
        self.machines: list[Machine] = []
        self._lives: dict[int, list[Machine]] = {}
        self.mind = Mind(self)
        self.bank = Bank(self)
        self.people = People(self)

    def log_of(self, machine: Machine) -> Any:
        """The log of a process."""
        if self._shared is not None:
            kind = ReadingLog if self.plan.in_one_trip else SharedLog
            return kind(self._shared, machine, machine.way)
        if self.plan.storage == "postgresql":
            return ServerLog(machine, machine.way)
        assert self.folder is not None
        if self.plan.storage != "sqlite":
            module, _, name = self.plan.storage.partition(":")
            make = getattr(importlib.import_module(module), name)
            return given_log(make(self.folder), machine, machine.way)
        return FileLog(self.folder / "world.db", machine, machine.way)

    def process(self, place: int) -> Machine:
        """The process at a place, or the one that was started there when it had died."""
        lives = self._lives.setdefault(place, [])
        if not lives or lives[-1].is_dead:
            plan = self.plan.processes[place] if place < len(self.plan.processes) else Process()
            if lives:
                plan = Process(plan.skew, plan.jumps, plan.machine)
            machine = Machine(self, place, plan, len(lives))
            lives.append(machine)
            self.machines.append(machine)
        return lives[-1]

    async def live(self) -> None:
        """Let everything happen, then let it come to rest, and look at each conversation once more."""
        people = self.people
        await asyncio.gather(*people.live())
        self.is_calm = True
        for machine in self.machines:
            machine.way.is_calm = True
        await asyncio.sleep(CALM)
        machine = self.process(len(self.plan.processes))
        if self.plan.settles:
            await people.settle_all(machine)
        for talk in list(people.talks):
            await people.bring_to_an_end(machine, talk)
        self.ledger.has_troubles = self.happened or self.plan.has_wrong_clocks

    def bury(self) -> None:
        """End what stopped in the middle, when nothing more of it can be seen."""
        for machine in self.machines:
            machine.way.is_void = True
            machine.stops_at = 0
        loop = self.loop
        tasks = [task for task in asyncio.all_tasks(loop) if not task.done()]
        for task in tasks:
            task.cancel()
        for machine in self.machines:
            if machine.frozen is not None:
                loop.thaw(machine)
        loop.begin_again()
        if tasks:
            with contextlib.suppress(NeverEnds):
                loop.run_until_complete(asyncio.wait(tasks, timeout=1000.0))
        for machine in self.machines:
            close = getattr(getattr(machine.log, "_database", None), "close", None)
            if close is not None:
                close()


def carry_out(plan: Plan) -> Ledger:
    """Carry out a plan; returns what happened. `doors.opened` must be in force."""
    return lived(plan).ledger


def lived(plan: Plan) -> World:
    """Carry out a plan; returns its world, which is over."""
    with _folder_of(plan) as folder:
        world = World(plan, folder)
        try:
            asyncio.set_event_loop(world.loop)
            life = world.loop.create_task(world.live(), context=Context())
            try:
                world.loop.run_until_complete(life)
            except NeverEnds as error:
                world.ledger.wrong.append(f"the world never ends: {error}")
            world.bury()
        finally:
            asyncio.set_event_loop(None)
            world.loop.close()
    _count_one()
    return world


@contextmanager
def _folder_of(plan: Plan) -> Iterator[Path | None]:
    if plan.storage in ("memory", "postgresql"):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="world-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


_lived = 0


def _count_one() -> None:
    """Free what worlds leave, now and then: nothing else does as long as the doors are open."""
    global _lived
    _lived += 1
    if _lived % 25 == 0:
        gc.collect()
