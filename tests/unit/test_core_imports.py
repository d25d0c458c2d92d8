"""The files of the core import from each other in layers, so that each can be read after those that it builds on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
PROTOCOL = SRC / "protocol" / "mod.rs"

Module = tuple[str, ...]

COMMENT = re.compile(r"//[^\n]*")
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
PATH = re.compile(r"(?<![\w:])[a-z_]\w*(?:::\w+)+")
MODULE = re.compile(r"`(\w+)`")
DEFINED = re.compile(r"\b(?:struct|enum|union|fn|trait|type|const|static|macro_rules!)\s+(\w+)")


def module(path: Path) -> Module:
    parts = path.relative_to(SRC).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


FILES = {
    module(path): path
    for path in SRC.rglob("*.rs")
    if "tests" not in path.parts and path.name != "tests.rs"
}


@cache
def source(file: Module) -> str:
    return TESTS.sub("", COMMENT.sub("", FILES[file].read_text(encoding="utf-8")))


@cache
def defined(file: Module) -> frozenset[str]:
    return frozenset(DEFINED.findall(source(file)))


def branches(tree: str) -> Iterator[str]:
    """The paths of a `use`: `a::{b, c::{d, e}}` has three."""
    before, brace, rest = tree.partition("{")
    if not brace:
        yield tree.strip()
        return
    depth, part = 0, ""
    for character in rest.rpartition("}")[0] + ",":
        if character == "," and depth == 0:
            if part.strip():
                yield from branches(before.strip() + part.strip())
            part = ""
        else:
            depth += (character == "{") - (character == "}")
            part += character


@cache
def uses(file: Module) -> list[tuple[bool, str, list[str]]]:
    """For each name: whether it is re-exported, its name here, and its path."""
    found = []
    for is_public, tree in USE.findall(source(file)):
        for branch in branches(tree):
            path, _, name = branch.partition(" as ")
            steps = [step.strip() for step in path.split("::") if step.strip()]
            if steps[-1] == "self":
                steps.pop()
            found.append((bool(is_public), name.strip() or steps[-1], steps))
    return found


def start(file: Module, path: list[str]) -> tuple[Module, list[str]] | None:
    """The module where a path begins and the rest of the path; `None` for a path of another crate."""
    base, rest = file, list(path)
    if rest[0] == "crate":
        return (), rest[1:]
    while rest and rest[0] in ("self", "super"):
        base = base[:-1] if rest.pop(0) == "super" else base
    is_own = rest != path or (*file, rest[0]) in FILES
    return (base, rest) if is_own else None


def home(file: Module, path: Sequence[str]) -> Module | None:
    """The file that defines the item at this path; re-exports are followed."""
    if not path:
        return file
    first, *rest = path
    if (*file, first) in FILES:
        return home((*file, first), rest)
    if first in defined(file):
        return file
    for _, name, steps in uses(file):
        if name == first:
            at = start(file, steps)
            return None if at is None else home(at[0], [*at[1], *rest])
    return file


def imports(file: Module) -> set[Module]:
    """The files from which a file takes a name for its own use; names that it only re-exports do not count."""
    text = source(file)
    named = [
        path
        for is_public, name, path in uses(file)
        if not is_public or len(re.findall(rf"\b{name}\b", text)) > 1
    ]
    inline = [match.split("::") for match in PATH.findall(USE.sub("", text))]
    starts = [at for path in (*named, *inline) if (at := start(file, path)) is not None]
    return {found for at in starts if (found := home(*at)) is not None} - {file}


def test_the_files_of_the_core_do_not_import_each_other_in_a_cycle():
    layers = TopologicalSorter({file: imports(file) for file in FILES})
    layers.prepare()  # raises CycleError, which names the files of a cycle


def test_each_module_of_the_protocol_builds_only_on_those_before_it_in_the_table_of_layers():
    table = [line for line in PROTOCOL.read_text(encoding="utf-8").splitlines() if "| " in line]
    order = [name for line in table for name in MODULE.findall(line)]
    assert sorted(order) == sorted({file[1] for file in FILES if file[:1] == ("protocol",) != file})
    upward = {
        f"{file[1]} imports from {taken[1]}"
        for file in FILES
        if file[:1] == ("protocol",) != file
        for taken in imports(file)
        if taken[:1] == ("protocol",) != taken and order.index(taken[1]) > order.index(file[1])
    }
    assert upward == set()


LEVELS = [
    {"dialect", "ids", "wire"},
    {"net", "protocol"},
    {"context", "execution", "turn"},
    {"execution::tokio"},
    {"agent"},
    {"python"},
]
"""The rooms of the core by level, the lowest first. A room imports only from rooms of lower levels."""


def room(file: Module) -> str:
    on_tokio = file[:2] == ("execution", "tokio")
    return "::".join(file[:2] if on_tokio else file[:1])


def level(file: Module) -> int:
    [found] = [number for number, rooms in enumerate(LEVELS) if room(file) in rooms]
    return found


def test_each_room_builds_only_on_rooms_of_a_lower_level():
    files = [file for file in FILES if file]  # `lib.rs` has all of them
    upward = {
        f"{room(file)} imports from {room(taken)}"
        for file in files
        for taken in imports(file)
        if taken and room(taken) != room(file) and level(taken) >= level(file)
    }
    assert upward == set()


@pytest.mark.parametrize(
    ("tree", "paths"),
    [
        ("a", ["a"]),
        ("a::b as c", ["a::b as c"]),
        ("a::{b, c::{d, e}, f}", ["a::b", "a::c::d", "a::c::e", "a::f"]),
        ("a::{\n    self,\n    b,\n}", ["a::self", "a::b"]),
    ],
)
def test_every_path_of_a_use_is_read(tree, paths):
    assert list(branches(tree)) == paths
