"""Counts the instructions of some rows, and fails if one takes more than it did when `counts.json` was written.

python benches/counts.py --core PROFILE [--update]

Instructions are the same in every run, however busy the machine is, but others with another core or another Python. So
`counts.json` says what it was counted with, and nothing is counted with anything else. The rows are those of
`compare.py`, most of them with a smaller input. Needs valgrind; see `instructions.py`, which counts any row.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from counting import FOLDER, CountingBench, callgrind, total_of, under_callgrind

FILE = Path(__file__).with_name("counts.json")

MOST = 0.03
"""How much more than the kept count a row may take."""

PROGRAM = "import cogency_rs"


def rows() -> dict[str, Any]:
    """What is counted, by name. Its imports are those of the benches, which not every use of this program needs."""
    from rows import agents, context, dialects, parsing, tools, turns

    return {
        "parse-event": partial(parsing.event_mode, size=20_000),
        "parse-token": partial(parsing.token_mode, size=20_000),
        "dialect-event/qwen3-coder": partial(
            dialects.event_mode, dialect="qwen3-coder", size=20_000
        ),
        "chat-reader/hermes": partial(dialects.chat_reader, dialect="hermes", size=20_000),
        "execute/1": partial(tools.batch, count=1),
        "execute/8": partial(tools.batch, count=8),
        "execute/64": partial(tools.batch, count=64),
        "around/1": partial(tools.through_hooks, count=1),
        "around/8": partial(tools.through_hooks, count=8),
        "turn-memory/2 KB": partial(turns.in_memory, size=2_000),
        "turn-token": partial(turns.in_token_mode, size=5_000),
        "agent-run": agents.one_run,
        "to-messages": partial(context.to_messages, count=600),
        "assemble-next": partial(context.assemble_next, count=750),
    }


def main() -> None:
    options = _options()
    if FOLDER in os.environ:  # under callgrind
        options.into.write_text(json.dumps(asyncio.run(_counts(Path(os.environ[FOLDER])))))
        return
    kept: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    setting = {"core": options.core, "python": "{}.{}".format(*sys.version_info)}
    if (problem := _problem(setting, kept, is_update=options.update)) is not None:
        print(f"counts: skipped, {problem}")
        return
    counts = _counted(options.core)
    changes = _changes(counts, kept.get("counts", {}))
    more = [f"{name} ({change:+.1%})" for name, change in changes.items() if change > MOST]
    if options.update:
        FILE.write_text(json.dumps({**setting, "counts": counts}, indent=2) + "\n")
    elif more:
        sys.exit(
            f"More than {MOST:.0%} above {FILE.name}: {', '.join(more)}. If the change is worth it, commit it with the "
            "file that `make counts UPDATE=1` writes, and say why"
        )


def _problem(setting: dict[str, str], kept: dict[str, Any], *, is_update: bool) -> str | None:
    """Why nothing can be counted here; `None` if it can."""
    if shutil.which("valgrind") is None:
        return "there is no valgrind (Debian: valgrind)"
    if not setting["core"]:
        return "it is not known how the core was built: remove .venv/.built, and `make PROFILE=tested counts`"
    for what, value in setting.items():
        if not is_update and kept and kept[what] != value:
            return f"{FILE.name} was counted with {what} {kept[what]}, and this is {value}"
    return None


def _counted(core: str) -> dict[str, int]:
    """The instructions of each row."""
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "counts"
        if code := under_callgrind([__file__, "--core", core, "--into", str(into)]):
            sys.exit(code)
        counts: dict[str, int] = json.loads(into.read_text())
    nothing, whole = _of_program("pass"), _of_program(PROGRAM)
    return {**counts, "import": whole - nothing}


async def _counts(dumps: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, measure in rows().items():
            place = Path(folder) / str(len(counts))
            place.mkdir()
            samples = await measure(CountingBench(place, dumps))
            counts[name] = round(samples["ours"][0])
    return counts


def _of_program(program: str) -> int:
    """The instructions of a new process with this program, from beginning to end."""
    python = [sys.executable, "-W", "ignore", "-c", program]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    subprocess.run(python, env=environment, check=True)  # what it imports is compiled now
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counts"
        subprocess.run([*callgrind(file), *python], env=environment, check=True)
        return total_of(file)


def _changes(counts: dict[str, int], kept: dict[str, int]) -> dict[str, float]:
    """Print all rows; returns by which part each has changed that was counted before."""
    changes = {name: count / kept[name] - 1 for name, count in counts.items() if name in kept}
    for name, count in counts.items():
        change = f"  {changes[name]:+7.1%}" if name in changes else ""
        print(f"{name:30} {count:15,}{change}", flush=True)
    return changes


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = arguments.add_argument
    add("--core", metavar="PROFILE", required=True, help="the profile that the core was built with")
    add("--update", action="store_true", help=f"write {FILE.name}")
    add("--into", metavar="FILE", type=Path, help=argparse.SUPPRESS)
    return arguments.parse_args()


if __name__ == "__main__":
    main()
