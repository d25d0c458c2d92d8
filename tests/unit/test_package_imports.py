"""The package is a house: its rooms are on floors, and a room imports only from floors below its own.

Files import from each other without circles, so that each can be read after those it builds on.

What is imported only for types counts as well, and so does what a function imports when it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import cogency_rs

PACKAGE = Path(cogency_rs.__file__).parent


def module(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


FILES = {module(path): path for path in PACKAGE.rglob("*.py")}


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """The files of the package that a file imports, itself left out."""
    own = module(path)
    folder = own if path.name == "__init__.py" else own[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        start = folder[: len(folder) - node.level + 1]
        of = (*start, *(node.module.split(".") if node.module else ()))
        for name in node.names:
            found = (*of, name.name) if (*of, name.name) in FILES else of
            if found != own and found in FILES:
                yield found


def test_no_file_imports_itself_by_way_of_others():
    imports = {file: {*imported(path)} for file, path in FILES.items()}
    assert len(imports) > 100
    assert sum(map(len, imports.values())) > 500

    order = [*TopologicalSorter(imports).static_order()]  # raises CycleError, which names a circle

    assert order.index(("errors",)) < order.index(("agent", "agent"))


FLOORS = (
    {"_core", "loading", "shapes"},
    {"types", "errors", "ids"},
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


def test_every_room_is_on_a_floor_and_the_hall_holds_nine_files():
    rooms = {file[0] for file in FILES if file}
    assert rooms | {"_core"} == FLOOR.keys()
    hall = [path.name for path in PACKAGE.iterdir() if path.suffix in (".py", ".pyi", ".typed")]
    assert len(hall) <= 9, hall
