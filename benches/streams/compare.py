"""Measures how answers are read at a model's pace, next to other clients, and prints a table.

    python benches/streams/compare.py [--write] [--rounds 3] [--seconds 5]

Each side reads in a process of its own, over TLS, what `streams` writes by the clock; the sides take turns. `--write`
writes the tables and the picture of `docs/transport.md`. It takes a quarter of an hour, or `--only cost` four minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lateness import drawn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "transport.md"
PICTURE = ROOT / "docs" / "transport.svg"
MARKS = ("<!-- figures: made by `make load`, do not edit -->", "<!-- figures: end -->")

PEERS = ("aiohttp, bytes", "OpenAI SDK, bytes", "OpenAI SDK, objects")
OURS = ("ours, model", "ours, text driver", "ours, native driver", "ours, await agent.run()")
FLOOR = "two threads, nothing read"
"""What reading on another thread takes by itself: see `floor.py`."""
LATE = (*PEERS, "ours, text driver")
STREAMS = (50, 200, 500, 1000, 2000)
FASTER = (40, 28, 20, 14, 10, 7, 5, 3.5)
"""Milliseconds between two deltas of a stream."""
LATE_MS = 100
"""A side that is later than this does not keep up."""

LIBRARY = ROOT / "target" / "streams" / "release" / "libfloor.so"

Figures = Mapping[str, Any]


@contextmanager
def served(certificate: Path) -> Iterator[str]:
    """The address of a server that streams by the clock."""
    target = ROOT / "target" / "streams"
    manifest = HERE / "Cargo.toml"
    build = ["cargo", "build", "--quiet", "--release", "--manifest-path", manifest]
    subprocess.run([*build, "--target-dir", target], check=True)
    command = [target / "release" / "streams", certificate]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


class Measure:
    """Runs sides against one server."""

    def __init__(self, url: str, certificate: Path) -> None:
        self._reached = [url, "--certificate", str(certificate)]

    def __call__(self, side: str, **options: float) -> Figures:
        if side == FLOOR:
            return self._figures("floor.py", "--threads", str(LIBRARY), **options)
        return self._figures("side.py", side, **options)

    def agents(self, **options: float) -> Figures:
        """Run agents with a log."""
        return self._figures("agents.py", **options)

    def first(self) -> Mapping[str, Figures]:
        """Start first programs."""
        return self._figures("first.py")

    def _figures(self, program: str, *arguments: str, **options: float) -> Figures:
        named = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        command = [sys.executable, HERE / program, *arguments, *self._reached, *named]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
        figures: Figures = json.loads(done.stdout)
        print(json.dumps(figures), flush=True)
        return figures

    def in_turn(self, sides: Sequence[str], rounds: int, **options: float) -> dict[str, Figures]:
        """The median of each figure of each side."""
        seen: dict[str, list[Figures]] = {side: [] for side in sides}
        for _ in range(rounds):
            for side in sides:
                seen[side].append(self(side, **options))
        return {
            side: {
                name: statistics.median(each[name] for each in all)
                for name in all[0]
                if name != "side"
            }
            for side, all in seen.items()
        }

    def rate(self, side: str, seconds: float) -> float:
        """How many deltas a second it keeps up with: 200 streams, faster and faster until one in a hundred is late."""
        kept = 0.0
        for every in FASTER:
            figures = self(side, streams=200, every=every, seconds=seconds)
            if figures["late_p99_ms"] > LATE_MS:
                break
            kept = 200 * 1000 / every
        return kept


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; all columns but the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cost_table(figures: Mapping[str, Figures]) -> str:
    rows: list[list[str]] = []
    for side, each in figures.items():
        ratios = [f"{each['cpu_us'] / figures[peer]['cpu_us']:.2f}x" for peer in PEERS]
        late = [f"{each['late_ms']:.1f} ms", f"{each['late_p99_ms']:.1f} ms"]
        if side == OURS[-1]:
            late = ["", ""]  # nobody sees it before its end
        rows.append([side, f"{each['cpu_us']:.0f}", f"{each['loop_us']:.1f}", *ratios, *late])
    of = [f"of {peer}" for peer in PEERS]
    return table(["", "CPU, µs", "of it on the loop, µs", *of, "late, median", "late, p99"], rows)


def one_table(figures: Mapping[str, Figures]) -> str:
    sdk = figures[PEERS[1]]["cpu_us"]
    rows = [
        [side, f"{each['cpu_us']:.0f}", f"{each['loop_us']:.0f}", f"{each['cpu_us'] / sdk:.2f}x"]
        for side, each in figures.items()
    ]
    return table(["", "CPU, µs", "of it on the loop, µs", f"of {PEERS[1]}"], rows)


def first_table(figures: Mapping[str, Figures]) -> str:
    sdk = figures["OpenAI SDK"]
    rows = [
        [
            name,
            f"{each['word_ms']:.0f} ms",
            f"{each['word_ms'] / sdk['word_ms']:.2f}x",
            f"{each['cpu_ms']:.0f} ms",
            f"{each['cpu_ms'] / sdk['cpu_ms']:.2f}x",
        ]
        for name, each in figures.items()
    ]
    return table(["", "first word", "of OpenAI SDK", "CPU in all", "of OpenAI SDK"], rows)


def late_table(figures: Mapping[str, Mapping[int, Figures]]) -> str:
    def shown(milliseconds: float) -> str:
        return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.1f} ms"

    rows = [
        [side, *(shown(each[streams]["late_p99_ms"]) for streams in STREAMS)]
        for side, each in figures.items()
    ]
    return table(["late, p99", *(f"{streams:,} streams" for streams in STREAMS)], rows)


def rate_table(rates: Mapping[str, float]) -> str:
    rows = [[side, f"{rate:,.0f}"] for side, rate in rates.items()]
    return table(["", "deltas a second"], rows)


def agents_table(figures: Mapping[str, Figures]) -> str:
    rows = [
        [
            name,
            f"{each['deltas']:,}",
            f"{each['lost']:,}",
            f"{each['late_ms']:.1f} ms",
            f"{each['late_p99_ms']:.0f} ms",
            f"{each['held_ms']:.0f} ms",
            f"{each['collection_ms']:.0f} ms",
            f"{each['collection_alone_ms']:.0f} ms",
            f"{each['kb_a_stream']:.0f} KB",
            f"{each['growth']:.2f}x",
        ]
        for name, each in figures.items()
    ]
    head = ["", "deltas", "lost", "late, median", "late, p99", "loop held, at most"]
    collections = ["full collection, at most", "one without agents"]
    return table([*head, *collections, "memory a stream", "second half to first"], rows)


def main() -> None:
    """Measure, and print or write what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", choices=["cost"])
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        certificate = Path(folder) / "certificate.pem"
        with served(certificate) as url:
            measure = Measure(url, certificate)
            first = measure.first()
            pace = {"streams": 200, "every": 20, "seconds": options.seconds}
            cost = measure.in_turn((*PEERS, *OURS[:-1]), options.rounds, **pace)
            # A run has costs of its own: of a short answer they would be most.
            long = {**pace, "seconds": 4 * options.seconds}
            cost |= measure.in_turn(OURS[-1:], 1, **long)
            one = measure.in_turn(
                (*PEERS[:2], FLOOR, OURS[1]),
                options.rounds,
                streams=1,
                every=10,
                seconds=options.seconds,
            )
            late = (
                {}
                if options.only
                else {
                    side: {
                        streams: measure(side, streams=streams, every=50, seconds=options.seconds)
                        for streams in STREAMS
                    }
                    for side in LATE
                }
            )
            rates = {side: measure.rate(side, options.seconds) for side in LATE} if late else {}
            ways: Mapping[str, Mapping[str, float]] = {
                "as Python is": {},
                "without its garbage collector": {"collects": 0},
                "the answers alone, without agents and log": {"alone": 1},
            }
            agents = {name: measure.agents(**way) for name, way in ways.items()} if late else {}
    text = [
        "What one delta costs, with 200 streams of 50 deltas a second each:",
        cost_table(cost),
        "One stream, a delta every 10 ms. Two threads that are woken for each delta and read neither HTTP nor JSON are "
        "the least that reading outside the interpreter takes:",
        one_table(one),
        "A first program, from its start to the first word of an answer that a server has at once:",
        first_table(first),
    ]
    if late:
        picture = drawn(
            {side: {n: f["late_p99_ms"] for n, f in each.items()} for side, each in late.items()}
        )
        text += [
            "How late one delta in a hundred is, with more and more streams of 20 deltas a second:",
            late_table(late),
            "![How late deltas are, by the number of streams](transport.svg)",
            f"How many deltas 200 streams can carry before one in a hundred is {LATE_MS} ms late:",
            rate_table(rates),
            "1,000 agents with a log in SQLite, answers of 5 seconds with 20 deltas a second, for a minute:",
            agents_table(agents),
        ]
        if options.write:
            PICTURE.write_text(picture, encoding="utf-8")
    whole = "\n\n".join(text)
    print(whole)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        page = f"{before}{MARKS[0]}\n\n{whole}\n\n{MARKS[1]}{after}"
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
