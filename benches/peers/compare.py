"""Measures an agent's run beside the agents of other packages, and writes docs/peers.md.

    make bench-peers

All sides run in turn, round after round, in one process; the fastest round of each counts, since the machine is not
ours alone. Less is better.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import platform
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import one_run as sides  # noqa: E402
from measure import Bench  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "peers.md"


def main() -> None:
    """Measure, print, and write if asked to."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--write", action="store_true", help="docs/peers.md too")
    options = arguments.parse_args()
    table = asyncio.run(_table(options.rounds))
    print(table)
    if options.write:
        PAGE.write_text(_page(table))


async def _table(rounds: int) -> str:
    runs = {name: make() for name, make in sides.SIDES.items()}
    with tempfile.TemporaryDirectory() as folder:
        samples = await Bench(rounds, Path(folder), None).timed(**runs)
    fastest = {name: min(times) for name, times in samples.items()}
    ours = fastest["cogency-rs"]
    rows = ["| | one run | ours to it |", "| --- | ---: | ---: |"]
    for name, seconds in sorted(fastest.items(), key=lambda item: item[1]):
        version = importlib.metadata.version(name) if name != "cogency-rs" else _our_version()
        ratio = "" if name == "cogency-rs" else f"{ours / seconds:.2f}x"
        rows.append(f"| {name} {version} | {seconds * 1e6:,.0f} µs | {ratio} |")
    return "\n".join(rows)


def _our_version() -> str:
    import cogency_rs

    return cogency_rs.__version__


def _page(table: str) -> str:
    return f"""# Beside other agents

One run of an agent: a step with four calls of a tool that does nothing, then an answer, with each package's own
model for tests. `make bench-peers` measures it and writes this page; `benches/peers/one_run.py` has the programs,
as each package's documentation has them. It is what the loop itself costs: a real model takes a thousand times as long.

{table}

Python {platform.python_version()} on {platform.system()} {platform.machine()}; the fastest of 15 rounds.
"""


if __name__ == "__main__":
    main()
