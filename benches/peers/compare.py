"""Measures our package next to others, and writes docs/peers.md.

    make bench-peers

With `--instructions` it counts those of the section that `--only` names instead, which are the same on a busy machine.

All sides of a section run in turn, round after round, in one process. The fastest round of each counts, since other
programs use the machine too. Less is better.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

import batch  # noqa: E402
import held  # noqa: E402
import one_run  # noqa: E402
import parsing  # noqa: E402
import stored_run  # noqa: E402
from counting import FOLDER, CountingBench, under_callgrind  # noqa: E402
from measure import Bench  # noqa: E402
from side import OURS, Side  # noqa: E402

PAGE = ROOT / "docs" / "peers.md"
ORACLES = ROOT / "oracles"


def in_time(value: float) -> str:
    return f"{value * 1e6:,.0f} µs"


def in_instructions(value: float) -> str:
    return f"{value:,.0f}"


def in_bytes(value: float) -> str:
    return f"{value:,.0f} bytes"


@dataclass(frozen=True)
class Section:
    """One comparison under a heading.

    Args:
        title: its heading.
        what: what each side does, as sentences.
        sides: ours and the others'.
        shown: how a figure is written.
    """

    title: str
    what: str
    sides: Sequence[Side]
    shown: Callable[[float], str] = in_time

    def table(self, figures: Mapping[str, float]) -> str:
        """The least first."""
        rows = ["| | version | each | ours to it |", "| --- | --- | ---: | ---: |"]
        versions = {side.name: side.version for side in self.sides}
        for name, figure in sorted(figures.items(), key=lambda item: item[1]):
            ratio = "" if name == OURS else f"{figures[OURS] / figure:.3g}x"
            rows.append(f"| {name} | {versions[name]} | {self.shown(figure)} | {ratio} |")
        return "\n".join(rows)

    def slower(self, figures: Mapping[str, float]) -> list[str]:
        """Where ours costs more, and how much."""
        ours = figures[OURS]
        return [
            f"{self.title}: {ours / figure:.3g}x of {name}"
            for name, figure in figures.items()
            if figure < ours
        ]


SECTIONS = (
    Section(
        "A run of an agent",
        "A step with four calls of a tool that does nothing, then an answer, with each package's own model for tests. "
        "It is what the loop itself costs: a real model takes a thousand times as long.",
        one_run.SIDES,
    ),
    Section(
        "A run that is kept",
        "The same, with what was said and done in a file of SQLite. Ours and cogency write what is called before it is "
        "run and what came of it after, so that a crash loses nothing; a session is written at the ends of a run.",
        stored_run.STORED,
    ),
    Section(
        "A conversation in memory",
        f"What is resident for each of {held.CONVERSATIONS:,} such runs whose history is kept, each side in a "
        "process of its own. Ours is the log, with times and a row for each call; theirs is a list of messages.",
        held.HELD,
        in_bytes,
    ),
    Section(
        "An answer, read while it comes",
        "Text and two calls as Qwen writes them, with some 2 KB of arguments each, in chunks of 4 characters.",
        parsing.ANSWERS,
    ),
    Section(
        "The arguments of a call, shown while they come",
        "2 KB of JSON in chunks of 4 characters. Readers that begin anew with each chunk cost the "
        "square of the length.",
        parsing.ARGUMENTS,
    ),
    Section(
        "A batch",
        "64 async tools that do nothing, at the same time. Ours checks the arguments, and gives each call a result, a "
        "time and a place in the order.",
        batch.BATCH,
    ),
)


def main() -> None:
    """Measure, print, and write if asked to."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--only", default="", help="the sections whose heading begins so")
    arguments.add_argument("--no-rust", action="store_true", help="not the parsers in Rust")
    arguments.add_argument("--write", action="store_true", help="docs/peers.md too")
    arguments.add_argument("--instructions", action="store_true", help="needs valgrind and --only")
    options = arguments.parse_args()
    sections = [section for section in SECTIONS if section.title.startswith(options.only)]
    if options.instructions:
        if FOLDER not in os.environ:
            sys.exit(under_callgrind())
        counted = replace(sections[0], shown=in_instructions)
        print(counted.table(asyncio.run(_counted(counted.sides))))
        return
    figures = {section.title: _figures(section, options.rounds) for section in sections}
    core = "" if options.only or options.no_rust else _core()
    page = _page(sections, figures, core)
    print(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")


def _figures(section: Section, rounds: int) -> dict[str, float]:
    """The least of each side."""
    if section.sides is held.HELD:
        return {side.name: held.measured(side) for side in section.sides}
    return asyncio.run(_timed(section.sides, rounds))


async def _timed(sides: Sequence[Side], rounds: int) -> dict[str, float]:
    work = {side.name: side.make() for side in sides}
    with tempfile.TemporaryDirectory() as folder:
        samples = await Bench(rounds, Path(folder), None).timed(**work)
    return {name: min(times) for name, times in samples.items()}


async def _counted(sides: Sequence[Side]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        bench = CountingBench(Path(folder), Path(os.environ[FOLDER]))
        return {side.name: (await bench.timed(ours=side.make()))["ours"][0] for side in sides}


def _core() -> str:
    """The times of the parsers of other servers written in Rust, if Rust is installed here."""
    if shutil.which("cargo") is None:
        return "Not measured: there is no cargo on this machine."
    command = ["cargo", "bench", "--quiet", "--bench", "peers"]
    target = {"CARGO_TARGET_DIR": str(ROOT / "target" / "oracles")}
    done = subprocess.run(
        command, cwd=ORACLES, check=True, capture_output=True, text=True, env=os.environ | target
    )
    left_out = sorted({line for line in done.stderr.splitlines() if "left out" in line})
    return "\n".join(["```text", *left_out, *done.stdout.strip().splitlines(), "```"])


def _rust_versions() -> str:
    wanted = tomllib.loads((ORACLES / "Cargo.toml").read_text(encoding="utf-8"))["dependencies"]
    return " and ".join(
        f"{name} {wanted[name].lstrip('=')}" for name in ("tool-parser", "dynamo-parsers-v2")
    )


def _page(
    sections: Sequence[Section], figures: Mapping[str, Mapping[str, float]], core: str
) -> str:
    slower = [line for section in sections for line in section.slower(figures[section.title])]
    parts = [
        "# Next to other packages",
        "`make bench-peers` measures this and writes this page. The fastest of several rounds counts, and less is "
        "better. The programs of all sides are at the end, written as each package's documentation has them.",
        "## Where ours costs more",
        "\n".join(f"- {line}" for line in slower) or "Nowhere here.",
    ]
    for section in sections:
        parts += [f"## {section.title}", section.what, section.table(figures[section.title])]
    if core:
        parts += [
            "## The core next to parsers in Rust",
            f"The same streams, read by the core and by the parsers of two servers, {_rust_versions()}, with no "
            "Python. A reader that makes other calls of a stream than were written is left out, and named. "
            "`oracles/benches/peers.rs` has the programs.",
            core,
        ]
    parts += [
        "## The programs",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}. What several share is in "
        "`benches/peers`.",
    ]
    for section in sections:
        for side in section.sides:
            parts += [f"### {section.title}: {side.name}", f"```text\n{_program(side)}```"]
    return "\n\n".join(parts) + "\n"


def _program(side: Side) -> str:
    """Its source, after that of the agent that it asks for."""
    module = inspect.getmodule(side.make)
    asked = [
        inspect.getsource(value)
        for name, value in vars(module).items()
        if name.startswith("agent_of_") and f"{name}(" in side.program and module is one_run
    ]
    return "\n\n".join([*asked, side.program])


if __name__ == "__main__":
    main()
