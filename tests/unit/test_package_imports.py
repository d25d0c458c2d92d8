"""The package is a house: its rooms are on floors, and a room imports only from floors below its own.

Files import from each other without circles, so that each can be read after those it builds on.

What is imported only for types counts as well, and so does what a function imports when it is called.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import cogency_rs
from cogency_rs import _core

PACKAGE = Path(cogency_rs.__file__).parent


def module(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


FILES = {module(path): path for path in PACKAGE.rglob("*.py")}


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """The files of the package that a file imports, itself left out."""
    own = module(path)
    folder = own if path.name == "__init__.py" else own[:-1]
    for names in named(path.read_text(encoding="utf-8"), folder):
        for name in names:
            found = name if name in FILES else name[:-1]
            if found != own and found in FILES:
                yield found


def named(source: str, folder: tuple[str, ...]) -> Iterator[list[tuple[str, ...]]]:
    """What each import of the package names, relative or absolute, in a file of this folder."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            paths = [name.name.split(".") for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            start = [PACKAGE.name, *folder[: len(folder) - node.level + 1]] if node.level else []
            paths = [[*start, *module, name.name] for name in node.names]
        else:
            continue
        yield [tuple(path[1:]) for path in paths if path[0] == PACKAGE.name]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import cogency_rs", [()]),
        ("import json, cogency_rs.tools.options", [("tools", "options")]),
        ("from cogency_rs.tools import options", [("tools", "options")]),
        ("def f():\n    from cogency_rs import errors as e", [("errors",)]),
        ("from . import run, stepping", [("agent", "run"), ("agent", "stepping")]),
        ("from ..tools.options import ToolOptions", [("tools", "options", "ToolOptions")]),
        ("from json import loads", []),
    ],
)
def test_relative_and_absolute_imports_are_both_seen(source, names):
    assert [*named(source, ("agent",))] == [names]


def test_no_file_imports_itself_by_way_of_others():
    imports = {file: {*imported(path)} for file, path in FILES.items()}
    assert len(imports) > 100
    assert sum(map(len, imports.values())) > 500

    order = [*TopologicalSorter(imports).static_order()]  # raises CycleError, which names a circle

    assert order.index(("errors",)) < order.index(("agent", "agent"))


FLOORS = (
    {"_core", "loading"},
    {"types", "errors", "outside"},
    {"guards"},
    {"calls"},
    {"models"},
    {"runs"},
    {"tools"},
    {"hooks", "protocol"},
    {"telemetry", "reader"},
    {"execution"},
    {"executors", "servers", "storage"},
    {"context", "turn"},
    {"agent"},
    {"compat", "plugins"},
    {"cli", "testing"},
    {"__main__"},
)
"""The rooms, and the files of the hall, from the ground up. `CONTRIBUTING.md` says what each is for."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def test_a_room_imports_only_from_floors_below_its_own():
    upward = {
        f"{'.'.join(file)} imports {'.'.join(found)}"
        for file, path in FILES.items()
        if file  # the package itself only names what is in it
        for found in imported(path)
        if found and found[0] != file[0] and FLOOR[found[0]] >= FLOOR[file[0]]
    }
    assert upward == set()


def test_every_room_is_on_a_floor_and_the_hall_holds_ten_files():
    rooms = {file[0] for file in FILES if file}
    assert rooms | {"_core"} == FLOOR.keys()
    hall = [path.name for path in PACKAGE.iterdir() if path.suffix in (".py", ".pyi", ".typed")]
    assert len(hall) <= 10, hall


BOTH_WAYS = {
    ("agent", "drivers"): {"agent", "settings"},
}
"""Folders in a room that import from the room's own files, and the files of the room that import from them.

An agent's options choose a driver, so they name the drivers; and a driver asks through the run's `runtime`, which knows
no driver. So files of `agent` are above and below `drivers`, but none is both. A room's `__init__` names what is in it,
and does not count.
"""


def arrows_in_rooms() -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Which file of a room, or folder in it, imports from which other of the same room."""
    return {
        (file[:2], found[:2])
        for file, path in FILES.items()
        for found in imported(path)
        if len(file) > 1 and len(found) > 1 and file[0] == found[0] and file[:2] != found[:2]
    }


def test_a_folder_in_a_room_is_above_the_files_of_the_room_or_below_them():
    folders = {file[:2] for file in FILES if len(file) > 2}
    above: dict[tuple[str, ...], set[str]] = {}
    for file, found in arrows_in_rooms():
        if found in folders and file not in folders:
            above.setdefault(found, set()).add(file[-1])
    builds = {file for file, found in arrows_in_rooms() if file in folders and found not in folders}
    assert len(folders) >= 3
    assert builds
    assert {folder: above[folder] for folder in above.keys() & builds} == BOTH_WAYS


def test_a_folder_in_a_room_is_in_no_circle_with_the_files_of_the_room():
    imports: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for file, found in arrows_in_rooms():
        imports.setdefault(file, set()).add(found)
    order = [*TopologicalSorter(imports).static_order()]  # raises CycleError, which names a circle
    assert order.index(("agent", "runtime")) < order.index(("agent", "drivers"))


ALONE = """
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

sys.modules["cogency_rs"] = ModuleType("cogency_rs")  # without a path, so that nothing in it can be imported
loader = ExtensionFileLoader("cogency_rs._core", sys.argv[1])
spec = spec_from_file_location("cogency_rs._core", sys.argv[1], loader=loader)
core = module_from_spec(spec)
loader.exec_module(core)
print(core.Parser.__name__, *(name for name in sys.modules if name.startswith("cogency_rs.")))
"""


def test_the_core_is_imported_without_the_package():
    ran = subprocess.run(
        [sys.executable, "-c", ALONE, _core.__file__], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() in (["Parser"], ["Parser", "cogency_rs._core"]), ran.stdout
