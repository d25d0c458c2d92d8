"""The cost of having the package: its import, and its size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from figures import Samples
from measure import Bench

CHECKOUT = Path(__file__).resolve().parent.parent.parent


TURN = "from cogency_rs import Accumulator, SQLite, parse_tokens"
"""The imports of a program that reads turns and keeps a log."""


async def importing(bench: Bench, program: str) -> Samples:
    return await bench.timed(
        patience=12,
        ours=lambda: _python(program, bench.folder),
        cogency=lambda: _python("import cogency", bench.folder),
        floor=lambda: _python("import asyncio, dataclasses, sqlite3", bench.folder),
    )


def _python(program: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=folder, check=True)


async def wheel(bench: Bench) -> Samples:
    return {"ours": [(bench.wheel or _built(bench.folder)).stat().st_size]}


def _built(folder: Path) -> Path:
    # As `make wheel` and the workflow build the wheel that is published.
    build = [sys.executable, "-m", "maturin", "build", "--release", "--quiet"]
    build += ["--locked", "--out", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, stderr=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    pack = [sys.executable, str(CHECKOUT / "tools" / "distributions.py"), "pack", str(wheel)]
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
    return wheel
