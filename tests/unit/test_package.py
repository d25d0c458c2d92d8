"""What the package exports, and what it imports for that."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import cogency_rs
from support.public_modules import PUBLIC_MODULES


def test_dir_lists_all_public_names_before_any_of_them_was_used():
    code = "import cogency_rs; print(sorted(set(cogency_rs.__all__) - set(dir(cogency_rs))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_at_most_32_names_are_at_the_top():
    assert len(cogency_rs.__all__) <= 32


def test_every_public_name_exists_and_is_imported_from_one_place():
    places: dict[str, list[str]] = {}
    for module in PUBLIC_MODULES:
        for name in module.__all__:
            assert getattr(module, name, None) is not None, f"{module.__name__}.{name}"
            places.setdefault(name, []).append(module.__name__)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_dir_lists_what_a_module_loads_when_it_is_used(module: ModuleType):
    assert set(module.__all__) <= set(dir(module))


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
    assert {(f".{module}", name) for module, name in typed} == {*public, ("._core", "__version__")}


@pytest.mark.parametrize(
    ("module", "name", "unused"),
    [
        (
            "cogency_rs",
            "parse_tokens",
            {"execution.batch", "storage.sqlite", "tools.function_tool"},
        ),
        ("cogency_rs", "SQLite", {"execution.batch", "turn.accumulator", "hooks"}),
        ("cogency_rs", "tool", {"execution.batch", "storage.sqlite"}),
        ("cogency_rs.context", "to_messages", {"execution.batch", "tools.function_tool"}),
        (
            "cogency_rs",
            "MCPServer",
            {"execution.batch", "tools.function_tool", "servers.connection", "servers.serve"},
        ),
        ("cogency_rs", "__version__", {"agent", "turn.accumulator", "execution.batch", "storage"}),
        ("cogency_rs", "Accumulator", {"agent", "context.history"}),
        (
            "cogency_rs",
            "Agent",
            {"tools.function_tool", "agent.drivers.native", "agent.drivers.react"},
        ),
        (
            "cogency_rs.models",
            "ModelRequest",
            {"models.openai", "models.anthropic", "models.served_model"},
        ),
    ],
)
def test_a_part_loads_only_what_it_needs(module: str, name: str, unused: set[str]):
    assert all(find_spec(f"cogency_rs.{part}") for part in unused)
    code = f"import sys; from {module} import {name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {f"cogency_rs.{part}" for part in unused} & set(done.stdout.split()) == set()


def test_a_name_of_a_room_says_where_it_is_imported_from():
    with pytest.raises(ImportError, match=r"^TextDriver is imported from cogency_rs\.agent$"):
        exec("from cogency_rs import TextDriver")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Agency'"):
        _ = cogency_rs.Agency  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
