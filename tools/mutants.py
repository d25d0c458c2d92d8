"""Changes the core in one place after the other, and says which changes no Rust test notices.

    python tools/mutants.py [--seed 41] [--count 200] [--again]

`cargo mutants` lists every change that it knows (https://mutants.rs); so many of them are drawn with the seed. Each is
made in a copy of the checkout, and the core's tests are run there. The unit tests come first: they notice most changes.
What came out is kept in `target/mutants/SEED.jsonl`, so that a run which was stopped goes on; `--again` tries those
again that were missed. The exit code is 1 if more than one in twenty was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDER = CHECKOUT / "target" / "mutants"
TREE = FOLDER / "tree"
MOST_MISSED = 0.05
PATIENCE = 200
"""Seconds for the tests of one mutant: one that never ends is noticed."""

STEPS = (["--lib"], ["--tests"])
"""What is tested, one after the other until something fails."""

Mutant = dict[str, Any]


def drawn(seed: int, count: int) -> list[Mutant]:
    """So many of the core's mutants, those of this seed. Their names are kept: a run that goes on has the same ones."""
    command = ["cargo", "mutants", "--workspace", "--list", "--json"]
    listed = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    core = [each for each in json.loads(listed.stdout) if "/python/" not in each["file"]]
    names = FOLDER / f"{seed}-{count}.json"
    if not names.exists():
        sample = random.Random(seed).sample(core, min(count, len(core)))
        names.write_text(json.dumps([key(each) for each in sample]), encoding="utf-8")
    wanted = json.loads(names.read_text(encoding="utf-8"))
    found = {key(each): each for each in core}
    return [found[name] for name in wanted if name in found]


def key(mutant: Mutant) -> str:
    """What names a mutant, also when lines above it were added."""
    return re.sub(r":\d+:\d+: ", ": ", mutant["name"], count=1)


def copied() -> None:
    """Copy the files of the checkout that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=CHECKOUT, check=True, capture_output=True, text=True
    )
    shutil.rmtree(TREE, ignore_errors=True)
    for name in listed.stdout.split("\0"):
        source = CHECKOUT / name
        if name and source.is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            # With the time of now: a build of a change that was left in the middle is not used again.
            shutil.copy(source, TREE / name)


def changed(text: str, mutant: Mutant) -> str:
    """The text of a file with the change in it. Lines and columns count from 1."""
    lines = text.splitlines(keepends=True)

    def offset(place: dict[str, int]) -> int:
        return sum(map(len, lines[: place["line"] - 1])) + place["column"] - 1

    start, end = offset(mutant["span"]["start"]), offset(mutant["span"]["end"])
    return text[:start] + mutant["replacement"] + text[end:]


def outcome(mutant: Mutant) -> str:
    """Whether a test notices the change: `caught`, `missed`, or `refused` by the compiler."""
    file = TREE / mutant["file"]
    before = file.read_text(encoding="utf-8")
    file.write_text(changed(before, mutant), encoding="utf-8")
    try:
        for step in STEPS:
            if not run(["--no-run", *step]):
                return "refused"
            if not run(step):
                return "caught"
        return "missed"
    finally:
        file.write_text(before, encoding="utf-8")


def run(options: list[str]) -> bool:
    """Whether `cargo test` of the copy succeeds in time."""
    command = ["cargo", "test", "--quiet", "--workspace", *options]
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(FOLDER / "target"),
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "RUST_BACKTRACE": "0",
    }
    # In a group of its own: what never ends is a test that cargo has started.
    quiet = subprocess.DEVNULL
    tests = subprocess.Popen(
        command, cwd=TREE, env=environment, stdout=quiet, stderr=quiet, start_new_session=True
    )
    try:
        return tests.wait(PATIENCE) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with suppress(ProcessLookupError):
            os.killpg(tests.pid, signal.SIGKILL)
        tests.wait()


def main() -> int:
    """Try the mutants that have not been tried."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    record = FOLDER / f"{options.seed}.jsonl"
    known: dict[str, str] = {}
    if record.exists():
        for line in record.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            known[entry["name"]] = entry["outcome"]
    mutants = {key(each): each for each in drawn(options.seed, options.count)}
    if options.again:
        known = {name: result for name, result in known.items() if result != "missed"}
    copied()
    if not all(run(step) for step in STEPS):
        sys.exit("the tests fail without any change")
    for number, (name, mutant) in enumerate(mutants.items(), 1):
        if name in known:
            continue
        began = time.monotonic()
        known[name] = outcome(mutant)
        print(f"{number} of {len(mutants)}: {known[name]}: {mutant['name']}", flush=True)
        with record.open("a", encoding="utf-8") as lines:
            entry = {
                "name": name,
                "outcome": known[name],
                "seconds": round(time.monotonic() - began),
            }
            lines.write(json.dumps(entry) + "\n")
    results = {name: known[name] for name in mutants}
    missed = [name for name, result in results.items() if result == "missed"]
    tried = sum(result != "refused" for result in results.values())
    share = len(missed) / max(tried, 1)
    print(f"seed {options.seed}: {tried} tried, {len(missed)} missed ({share:.1%})")
    print(*(f"  {name}" for name in missed), sep="\n")
    return int(share > MOST_MISSED)


if __name__ == "__main__":
    sys.exit(main())
