"""`python -m world --seed 7` shows one world; `--worlds 1000` looks for worlds that break a promise."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from support.postgres_server import Server as PostgresServer

from . import doors
from .check import check
from .exhaustive import every_plan, kill_points
from .plan import DIALECTS, Plan, draw
from .server import connected
from .shrink import shrunk
from .world import carry_out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m world", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first world's number")
    parser.add_argument("--worlds", type=int, default=1, help="how many worlds")
    parser.add_argument(
        "--storage",
        default="memory",
        help="memory, sqlite, postgresql, or module:function that makes a log in a folder",
    )
    parser.add_argument("--programs", type=int, help="how many processes there are at once")
    parser.add_argument(
        "--exhaustive", type=int, metavar="CALLS", help="every kill point for up to so many calls"
    )
    parser.add_argument("--show", action="store_true", help="show the plan and every prompt")
    parser.add_argument("--kind", help="shrink the first world that breaks this promise")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--right-clocks", action="store_true", help="without clocks that differ")
    parser.add_argument("--no-ids", action="store_true", help="without ids of a provider")
    options = parser.parse_args()
    with _server_for(options.storage), doors.opened():
        carry_out(draw(0, options.storage, options.programs))  # what is made once is not measured
        sys.exit(_look(options, _plans(options)))


@contextmanager
def _server_for(storage: str) -> Iterator[None]:
    """A server for worlds whose storage needs one."""
    if storage != "postgresql":
        yield
        return
    server = PostgresServer()
    try:
        with connected(server.address):
            yield
    finally:
        server.remove()


def _plans(options: Any) -> Iterator[Plan]:
    if options.exhaustive:
        for dialect in DIALECTS if options.exhaustive == 1 else DIALECTS[:1]:
            for plan in every_plan(options.exhaustive, dialect):
                yield from kill_points(plan)
        return
    for seed in range(options.seed, options.seed + options.worlds):
        plan = draw(seed, options.storage, options.programs)
        yield plan.without(clocks=options.right_clocks, ids=options.no_ids)


def _look(options: Any, plans: Iterable[Plan]) -> int:
    kinds: Counter[str] = Counter()
    first: dict[str, tuple[Plan, str]] = {}
    worlds = runs = calls = bad = 0
    began = time.process_time()
    for plan in plans:
        ledger, faults = check(plan)
        worlds += 1
        runs += ledger.runs
        calls += len(ledger.calls)
        bad += bool(faults)
        kinds.update({fault.kind for fault in faults})
        for fault in faults:
            first.setdefault(fault.kind, (plan, fault.what))
        if options.show:
            _show(plan, ledger)
    took = time.process_time() - began
    print(
        f"{worlds:,} worlds, {bad:,} with faults, {runs:,} runs, {calls:,} calls, "
        f"{worlds / took:.0f} worlds a second"
    )
    for kind, count in kinds.most_common():
        plan, what = first[kind]
        print(f"{count:6} {kind}: seed {plan.seed}: {what}")
    if first and not options.no_shrink:
        kind = options.kind or kinds.most_common(1)[0][0]
        if kind in first:
            _shrink(first[kind][0], kind)
    return int(bool(bad))


def _shrink(plan: Plan, kind: str) -> None:
    """Show the shortest form of a plan that breaks a promise."""

    def is_bad(plan: Plan) -> bool:
        return any(fault.kind == kind for fault in check(plan)[1])

    small = shrunk(plan, is_bad)
    ledger, faults = check(small)
    what = next((fault.what for fault in faults if fault.kind == kind), "")
    print(f"\nThe shortest form of seed {plan.seed} that is still wrong ({kind}: {what}):")
    print(small.shown())
    number = next((int(word) for word in what.replace(":", "").split() if word.isdigit()), None)
    if number is not None and "prompt" in what and number < len(ledger.prompts):
        for message in ledger.prompts[number].messages[1:]:
            print(
                "   ",
                message["role"],
                repr(message.get("content")),
                message.get("tool_calls") or "",
            )


def _show(plan: Plan, ledger: Any) -> None:
    print(plan.shown())
    for effect in ledger.effects:
        print(effect)
    for decided in ledger.decided:
        print(decided)
    for prompt in ledger.prompts:
        print("-----", prompt.number, prompt.talk, prompt.run, prompt.process)
        for message in prompt.messages[1:]:
            print(
                "   ",
                message["role"],
                repr(message.get("content")),
                message.get("tool_calls") or "",
            )


main()
