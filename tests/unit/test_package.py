"""What the package exports, and what it imports for that."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import cogency_rs


def test_dir_lists_all_public_names_before_any_of_them_was_used():
    code = "import cogency_rs; print(sorted(set(cogency_rs.__all__) - set(dir(cogency_rs))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_exists_and_is_listed_once():
    assert [name for name in cogency_rs.__all__ if getattr(cogency_rs, name, None) is None] == []
    assert len(set(cogency_rs.__all__)) == len(cogency_rs.__all__)


def test_type_checkers_read_the_same_names_from_the_same_modules():
    stub = ast.parse(Path(cogency_rs.__file__).with_suffix(".pyi").read_text())
    typed = {
        (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    public = {(module, name) for module, names in cogency_rs._PUBLIC.items() for name in names}
    assert typed == {*public, ("_core", "__version__")}


@pytest.mark.parametrize(
    ("names", "unused"),
    [
        ("parse_tokens", {"execution.batch", "storage.sqlite", "tools.function_tool"}),
        ("SQLite", {"execution.batch", "turn.accumulator", "hooks"}),
        ("tool", {"execution.batch", "storage.sqlite"}),
        ("to_messages", {"execution.batch", "tools.function_tool"}),
        (
            "MCPServer",
            {"execution.batch", "tools.function_tool", "servers.connection", "servers.serve"},
        ),
        ("__version__", {"agent", "turn.accumulator", "execution.batch", "storage"}),
        ("Accumulator", {"agent", "runs.run_result"}),
        (
            "Agent",
            {"tools.function_tool", "tools.schema", "agent.drivers.native", "agent.drivers.react"},
        ),
        ("ModelRequest", {"models.openai", "models.anthropic", "models.served"}),
    ],
)
def test_a_part_loads_only_what_it_needs(names: str, unused: set[str]):
    assert all(find_spec(f"cogency_rs.{module}") for module in unused)
    code = f"import sys; from cogency_rs import {names}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {f"cogency_rs.{module}" for module in unused} & set(done.stdout.split()) == set()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Agency'"):
        _ = cogency_rs.Agency  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
