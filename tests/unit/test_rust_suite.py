"""Every file of tests in Rust is run: Cargo does not look for programs, so that they are few."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_every_file_is_a_program_or_a_module_of_one():
    manifests = [TESTS.parent / crate / "Cargo.toml" for crate in ("core", "agent")]
    programs = {
        program["path"].removeprefix("../")
        for manifest in manifests
        for program in tomllib.loads(manifest.read_text("utf-8"))["test"]
    }
    modules = [
        name
        for program in ("interface.rs", "on_tokio.rs")
        for name in re.findall(r"^mod (\w+);", (TESTS / program).read_text("utf-8"), re.MULTILINE)
    ]
    run = programs | {f"tests/{name}{end}" for name in modules for end in (".rs", "/main.rs")}
    files = [*TESTS.glob("*.rs"), *TESTS.glob("*/main.rs")]
    assert {f"tests/{path.relative_to(TESTS).as_posix()}" for path in files} <= run
