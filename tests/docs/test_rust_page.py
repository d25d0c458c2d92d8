"""The page for Rust programs shows parts of the programs in `examples/rust`, which `make test-rust` runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "docs" / "rust.md").read_text(encoding="utf-8")
EXAMPLES = CHECKOUT / "examples" / "rust"
PROGRAMS = {
    program.stem: program.read_text(encoding="utf-8")
    for program in sorted((EXAMPLES / "src" / "bin").glob("*.rs"))
}
SHARED = (EXAMPLES / "src" / "lib.rs").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```rust\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_each_block_is_part_of_a_program_that_runs(block: str):
    assert any(block in program for program in (*PROGRAMS.values(), SHARED))


def test_a_block_of_each_program_is_shown_and_each_is_run():
    shown = {name for name, text in PROGRAMS.items() if any(block in text for block in BLOCKS)}
    assert shown == set(PROGRAMS)
    runs = re.search(r"for program in ([\w ]+); do", (CHECKOUT / "Makefile").read_text("utf-8"))
    assert runs is not None
    served = (EXAMPLES / "tests" / "over_http.rs").read_text(encoding="utf-8")
    over_http = set(re.findall(r'CARGO_BIN_EXE_(\w+)"', served))
    assert sorted([*runs[1].split(), *over_http]) == sorted(PROGRAMS)
