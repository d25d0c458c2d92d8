"""Every file of tests in Rust is run: Cargo does not look for programs, so that they are few."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_every_file_is_a_program_or_a_module_of_one():
    manifest = tomllib.loads((TESTS.parent / "Cargo.toml").read_text("utf-8"))
    programs = {program.get("path", f"tests/{program['name']}.rs") for program in manifest["test"]}
    modules = re.findall(r"^mod (\w+);", (TESTS / "interface.rs").read_text("utf-8"), re.MULTILINE)
    run = programs | {f"tests/{name}{end}" for name in modules for end in (".rs", "/main.rs")}
    files = [*TESTS.glob("*.rs"), *TESTS.glob("*/main.rs")]
    assert {f"tests/{path.relative_to(TESTS).as_posix()}" for path in files} <= run
