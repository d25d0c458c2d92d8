"""Writes into `docs/api.md`, which only the site fills, what each of its names is: `python tools/reference.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGE", "reference_page"]

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = CHECKOUT / "python" / "cogency_rs"
PAGE = CHECKOUT / "docs" / "api.md"

BEGIN, END = "<!-- names: made by `python tools/reference.py` -->", "<!-- names: end -->"

OTHER_NAMES = {"outside": "handed_in"}
"""Names that are imported under another one."""


class Definition(NamedTuple):
    """What a module defines under a name. Types of the core are in its stub."""

    file: Path
    node: ast.stmt
    docstring: str


def definitions() -> Iterator[tuple[str, Definition]]:
    """The package's definitions, by name."""
    for file in sorted([*PACKAGE.rglob("*.py"), PACKAGE / "_core.pyi"]):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        for node, after in zip(body, [*body[1:], None], strict=True):
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    yield node.name, Definition(file, node, ast.get_docstring(node) or "")
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    yield name, Definition(file, node, text_of(after))
                case _:
                    pass


def text_of(node: ast.stmt | None) -> str:
    """The text of a statement that is only a text, as after a constant."""
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return ""


def defined(path: str, found: list[Definition]) -> Definition:
    """What a name means that is imported from here: if possible, one of its own room, with a docstring."""
    room = PACKAGE.joinpath(*path.split(".")[1:-1])
    return max(
        found,
        key=lambda each: (
            each.file.is_relative_to(room) or each.file == room.with_suffix(".py"),
            bool(each.docstring),
        ),
    )


def signature(node: ast.stmt) -> str:
    """The parameters of a function or class, without their types."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return parameters(node.args)
        case ast.ClassDef():
            made = {each.name: each for each in methods(node)}
            decorators = map(ast.unparse, node.decorator_list)
            if "__init__" not in made and any("dataclass" in each for each in decorators):
                return f"({', '.join(fields(node))})"
            maker = made.get("__init__") or made.get("__new__")
            return "" if maker is None else parameters(maker.args, first=1)
        case _:
            pass
    return ""


def methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]


def fields(node: ast.ClassDef) -> Iterator[str]:
    """The parameters of a dataclass."""
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if name[0] != "_":
                default = "" if value is None else ast.unparse(value)
                if "init=False" not in default:
                    made = "…" if default.startswith("field(") else default
                    yield f"{name}={made}" if made else name
            case _:
                pass


def parameters(given: ast.arguments, *, first: int = 0) -> str:
    """These parameters, from the first that a caller gives."""
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if each is not None:
            each.annotation = None
    del (given.posonlyargs or given.args)[:first]
    return f"({ast.unparse(given)})"


def reference_page(page: str) -> str:
    """The page, with what each name is at the beginning of its section."""
    by_name: dict[str, list[Definition]] = {}
    for name, definition in definitions():
        by_name.setdefault(name, []).append(definition)
    bare = re.sub(f"{BEGIN}.*?{END}\n\n", "", page, flags=re.DOTALL)
    head, *sections = re.split(r"^(?=## )", bare, flags=re.MULTILINE)
    return head + "".join(with_names(section, by_name) for section in sections)


def line(name: str, found: Definition) -> str:
    """What a name is, and which methods and properties it has."""
    told = " ".join(found.docstring.partition("\n\n")[0].split())
    names = (
        [each.name for each in methods(found.node)] if isinstance(found.node, ast.ClassDef) else []
    )
    offered = ", ".join(f"`{each}`" for each in dict.fromkeys(names) if each[0] != "_")
    told += f" Has {offered}." if offered else ""
    return f"- `{name}{signature(found.node)}`: {told}".removesuffix(": ")


def with_names(section: str, by_name: dict[str, list[Definition]]) -> str:
    heading, rest = section.split("\n\n", 1)
    lines = [BEGIN]
    for path in re.findall(r"^::: (\S+)$", rest, re.MULTILINE):
        name: str = path.rpartition(".")[2]
        lines.append(line(name, defined(path, by_name[OTHER_NAMES.get(name, name)])))
    return "\n".join([heading, "", *lines, END, "", rest])


if __name__ == "__main__":
    PAGE.write_text(reference_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
