"""Forks processes that carry programs out, kills them, and asks the judge: `python -m crashes.campaign --kills 1000`.

Everything is imported before the first fork, so a kill costs milliseconds. Trial n is drawn from the number n. With
`--folder`, a campaign that was stopped goes on after the last trial that it ended.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from .judge import judge
from .kills import Kill, Victim
from .ours import Ours
from .programs import Program, programs

__all__ = ["Trial", "run"]

MOST_KILLS = 3
"""Kills in one trial, at most."""

PATIENCE = 60
"""Seconds after which a process is stuck."""


class Trial:
    """One program, some kills, and what came of them.

    Args:
        number: from which it is drawn.
        choices: the programs.
        folder: where it leaves its files.
        database: see `Ours`.

    Attributes:
        kills: where processes were killed.
        wrong: what the judge says.
    """

    def __init__(
        self, number: int, choices: list[Program], folder: Path, database: str = ""
    ) -> None:
        self._random = Random(number)
        self.program = self._random.choice(choices)
        self._folder, self._database = folder, database
        self.kills: list[str] = []
        self.wrong: list[str] = []

    def run(self, seconds: float) -> float:
        """Carry it out; `seconds` is how long a program takes. Returns how long the last process took."""
        for _ in range(self._random.randint(1, MOST_KILLS)):
            kill = Kill.drawn(self._random)
            status, _ = self._process(kill, seconds)
            if not os.WIFSIGNALED(status):
                break  # it had ended before
            self.kills.append(kill.point or "any moment")
        status, took = self._process(None, seconds)
        if status:
            self.wrong.append(f"the last process ended with {status}")
        ours = self._ours(None)
        # In a process of its own, so that this one stays without threads.
        if self._forked(lambda: self._judged(ours)):
            self.wrong.append((self._folder / "verdict").read_text())
        return took

    async def _judged(self, ours: Ours) -> None:
        outcome, is_over = await ours.outcome()
        effects, acknowledged = ours.bank.effects(), ours.acknowledged()
        if wrong := judge(self.program, effects, acknowledged, outcome, is_over=is_over):
            raise AssertionError("\n".join(wrong))

    def _ours(self, kill: Kill | None) -> Ours:
        return Ours(self._folder, self.program, Victim(kill), self._database)

    def _process(self, kill: Kill | None, seconds: float) -> tuple[int, float]:
        """Let a process carry the program out; returns its status, and how long it took."""
        began = time.monotonic()
        ours = self._ours(kill)
        limit = PATIENCE if kill is None or kill.point else seconds * kill.after
        return self._forked(ours.carry_out, limit), time.monotonic() - began

    def _forked(
        self, work: Callable[[], Coroutine[Any, Any, None]], limit: float = PATIENCE
    ) -> int:
        child = os.fork()
        if not child:
            try:
                asyncio.run(work())
            except BaseException:
                (self._folder / "verdict").write_text(traceback.format_exc())
                os._exit(1)
            os._exit(0)
        killer = threading.Timer(limit, os.kill, (child, signal.SIGKILL))
        killer.start()
        # The child keeps its number until nothing kills it any longer.
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        killer.cancel()
        killer.join()
        return os.waitpid(child, 0)[1]


def run(
    kills: int, recordings: Path, folder: Path, database: str = ""
) -> tuple[Counter[str], list[str]]:
    """Run trials until there were so many kills.

    Args:
        kills: how many.
        recordings: where the recorded scripts are.
        folder: where trials leave their files, and the note of those that are over.
        database: see `Ours`.

    Returns:
        How often processes were killed at each point, and what was wrong, by trial.
    """
    choices, seconds = programs(recordings), 0.05
    note = folder / "trials"
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    number = 0
    for line in note.read_text().splitlines() if note.exists() else ():
        number += 1
        counts.update(each for each in line.split(";") if each)
    while counts.total() < kills:
        place = folder / f"trial-{number}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        trial = Trial(number, choices, place, database)
        seconds = (seconds + trial.run(seconds)) / 2
        counts.update(trial.kills)
        if trial.wrong:
            wrong.append(
                f"trial {number}, {trial.program.id}, killed at {trial.kills}, in {place}: {trial.wrong}"
            )
        else:
            shutil.rmtree(place)
        with note.open("a") as file:
            file.write(";".join(trial.kills) + "\n")
        number += 1
    return counts, wrong


def main() -> int:
    """Run a campaign, and print what came of it."""
    from support.postgres_server import Server
    from support.recordings import FOLDER

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--storage", choices=("sqlite", "postgresql"), default="sqlite")
    asked = parser.parse_args()
    with ExitStack() as stack:
        temporary = stack.enter_context(tempfile.TemporaryDirectory())
        database = ""
        if asked.storage == "postgresql":
            server = (
                Server()
            )  # with each campaign a new one, so that no trial finds an earlier one's rows
            stack.callback(server.remove)
            database = server.address
        began = time.monotonic()
        counts, wrong = run(asked.kills, FOLDER, asked.folder or Path(temporary), database)
        for each in wrong:
            print(each, file=sys.stderr)
        where = ", ".join(f"{count} {point}" for point, count in counts.most_common())
        took = time.monotonic() - began
        print(
            f"{asked.storage}: {counts.total()} kills in {took:.0f} s: {where}; "
            f"{len(wrong)} trials went wrong"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
