"""The files of a crate import from each other in layers, so that each can be read after those that it builds on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

Module = tuple[str, ...]

COMMENT = re.compile(r"//[^\n]*")
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
PATH = re.compile(r"(?<![\w:])[a-z_]\w*(?:::\w+)+")
MODULE = re.compile(r"`(\w+)`")
DEFINED = re.compile(r"\b(?:struct|enum|union|fn|trait|type|const|static|macro_rules!)\s+(\w+)")


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


def uses(source: str) -> Iterator[tuple[bool, str, list[str]]]:
    """For each name: whether it is re-exported, its name here, and its path."""
    for is_public, tree in USE.findall(source):
        for branch in branches(tree):
            path, _, name = branch.partition(" as ")
            steps = [step.strip() for step in path.split("::") if step.strip()]
            if steps[-1] == "self":
                steps.pop()
            yield bool(is_public), name.strip() or steps[-1], steps


class Crate:
    """The files of a crate, without comments and tests, by their modules; `lib.rs` is the module `()`."""

    def __init__(self, src: Path) -> None:
        self.sources: dict[Module, str] = {}
        for path in src.rglob("*.rs"):
            if "tests" in path.parts or path.name == "tests.rs":
                continue
            parts = path.relative_to(src).with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib") else parts
            self.sources[module] = TESTS.sub("", COMMENT.sub("", path.read_text(encoding="utf-8")))
        self.uses = {file: list(uses(source)) for file, source in self.sources.items()}
        self.defined = {file: set(DEFINED.findall(source)) for file, source in self.sources.items()}

    def start(self, file: Module, path: list[str]) -> tuple[Module, list[str]] | None:
        """The module where a path begins and the rest of the path; `None` for a path of another crate."""
        base, rest = file, list(path)
        if rest[0] == "crate":
            return (), rest[1:]
        while rest and rest[0] in ("self", "super"):
            base = base[:-1] if rest.pop(0) == "super" else base
        is_own = rest != path or (*file, rest[0]) in self.sources
        return (base, rest) if is_own else None

    def home(self, file: Module, path: Sequence[str]) -> Module | None:
        """The file that defines the item at this path; re-exports are followed."""
        if not path:
            return file
        first, *rest = path
        if (*file, first) in self.sources:
            return self.home((*file, first), rest)
        if first in self.defined[file]:
            return file
        for _, name, steps in self.uses[file]:
            if name == first:
                at = self.start(file, steps)
                return None if at is None else self.home(at[0], [*at[1], *rest])
        return file

    def imports(self, file: Module) -> set[Module]:
        """The files from which a file takes a name for its own use; names that it only re-exports do not count."""
        text = self.sources[file]
        named = [
            path
            for is_public, name, path in self.uses[file]
            if not is_public or len(re.findall(rf"\b{name}\b", text)) > 1
        ]
        inline = [match.split("::") for match in PATH.findall(USE.sub("", text))]
        starts = [at for path in (*named, *inline) if (at := self.start(file, path)) is not None]
        return {found for at in starts if (found := self.home(*at)) is not None} - {file}


CRATES = {
    "core": CHECKOUT / "core" / "src",
    "net": CHECKOUT / "net" / "src",
    "agent": CHECKOUT / "agent" / "src",
    "bindings": CHECKOUT / "src",
    "arguments": CHECKOUT / "arguments" / "src",
    "fuzz": CHECKOUT / "fuzz" / "src",
}
PROTOCOL = CRATES["core"] / "protocol" / "mod.rs"


@cache
def imports(crate: str) -> dict[Module, set[Module]]:
    read = Crate(CRATES[crate])
    return {file: read.imports(file) for file in read.sources}


@pytest.mark.parametrize("crate", CRATES)
def test_the_files_of_a_crate_do_not_import_each_other_in_a_cycle(crate):
    assert len(imports(crate)) > 1
    layers = TopologicalSorter(imports(crate))
    layers.prepare()  # raises CycleError, which names the files of a cycle


def test_each_module_of_the_protocol_builds_only_on_those_before_it_in_the_table_of_layers():
    table = [line for line in PROTOCOL.read_text(encoding="utf-8").splitlines() if "| " in line]
    order = [name for line in table for name in MODULE.findall(line)]
    inside = {file: taken for file, taken in imports("core").items() if is_of_protocol(file)}
    assert sorted(order) == sorted({file[1] for file in inside})
    upward = {
        f"{file[1]} imports from {other[1]}"
        for file, taken in inside.items()
        for other in filter(is_of_protocol, taken)
        if order.index(other[1]) > order.index(file[1])
    }
    assert upward == set()


def is_of_protocol(file: Module) -> bool:
    return file[:1] == ("protocol",) != file


LEVELS = {
    "core": [
        {"difference", "ids", "text"},
        {"json"},
        {"dialect", "wire"},
        {"protocol"},
        {"chat", "constrain", "context", "execution", "turn"},
        {"detect"},
    ],
    "agent": [
        {"execution", "log", "output"},
        {"answer", "fold", "outside", "python"},
        {"sqlite", "turn"},
    ],
    "fuzz": [
        {"changed", "memory", "quotes", "reading", "text", "wire"},
        {"described", "json"},
        {"conversation", "dialects", "parser"},
    ],
}
"""The rooms of a crate by level, the lowest first. A room imports only from rooms of lower levels."""


@pytest.mark.parametrize("crate", LEVELS)
def test_each_room_builds_only_on_rooms_of_a_lower_level(crate):
    taken = {file: others for file, others in imports(crate).items() if file}  # `lib.rs` has all
    levels = {name: number for number, names in enumerate(LEVELS[crate]) for name in names}
    assert levels.keys() == {file[0] for file in taken}
    upward = {
        f"{file[0]} imports from {other[0]}"
        for file, others in taken.items()
        for other in others
        if other and other[0] != file[0] and levels[other[0]] >= levels[file[0]]
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


LOOKED_UP = {
    ("dialect.rs", "context.assembly"): {"listed_tool"},
    ("dialect.rs", "guards.arguments"): {"unknown"},
    ("dialect.rs", "loading"): {"dialect_field"},
    ("dialect.rs", "tools.registry"): {"json_schema_of"},
    ("error.rs", "errors"): {"ArgumentError", "ConfigError", "ProtocolError", "ToolParseError"},
    ("error.rs", "guards.arguments"): {"refused"},
    ("folding.rs", "context.rows"): {"read_returned"},
    ("folding.rs", "tools.toolbox"): {"safe_name"},
    ("options.rs", "loading"): {"finish_field"},
    ("options.rs", "models.request"): {"ReasoningDelta"},
    ("rows.rs", "protocol"): {"parse_tool_call", "format_call_agent"},
    ("wire.rs", "models.request"): {"TextDelta", "ToolCallDelta", "Usage"},
}
"""What the core, on the lowest floor, looks up in the package while it works: by file of `src/python` and module."""

SRC = CHECKOUT / "src"
OWN_MODULE = re.compile(r'\bmodule = "cogency_rs[\w.]*"')
LOOKUP = re.compile(r'"cogency_rs\.?([\w.]*)|import_exception!\(\s*cogency_rs\.([\w.]+)')


def test_the_core_looks_up_what_the_table_says():
    found: dict[tuple[str, str], str] = {}
    for path in SRC.rglob("*.rs"):
        source = OWN_MODULE.sub("", COMMENT.sub("", path.read_text(encoding="utf-8")))
        for text, exceptions in LOOKUP.findall(source):
            file = path.relative_to(SRC).as_posix()
            found[file.removeprefix("python/"), text or exceptions] = source
    assert found.keys() == LOOKED_UP.keys()
    for (file, module), names in LOOKED_UP.items():
        for name in names:
            assert hasattr(import_module(f"cogency_rs.{module}"), name)
            assert re.search(rf'"{name}"|import_exception!\([^)]*\b{name}\)', found[file, module])
