"""The demo's tools: they really read, write, list, search and check the files of one folder.

They are quick with a few small files. So that a batch can be watched, each waits as long as its
like would take on a large project; the waits of a batch overlap.
"""

from __future__ import annotations

import asyncio
import tomllib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import ToolError
from ..types import ToolResult
from .workspace import inside

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["FolderTool", "folder_tools"]


@dataclass(frozen=True)
class FolderTool:
    """A tool on one folder.

    Attributes:
        work: takes the arguments that the schema names and does the work.
        seconds: how long it takes.
    """

    name: str
    description: str
    schema: dict[str, Any]
    work: Callable[..., ToolResult]
    seconds: float

    async def execute(self, **given: Any) -> ToolResult:
        """Run once; arguments that the schema does not name are left aside."""
        args = {name: given[name] for name in self.schema if name in given}
        await asyncio.sleep(self.seconds)
        try:
            return self.work(**args)
        except OSError as error:
            return ToolResult(error.strerror or "the file system refused", error=True)
        except Exception as error:  # the model's arguments may be anything
            return ToolResult(str(error), error=True)


def folder_tools(folder: Path, *, slowness: float) -> list[FolderTool]:
    """Make the tools.

    Args:
        folder: all they can reach.
        slowness: 1 for the time their like would take, less for less.
    """
    make = partial(_tool, folder, slowness)
    return [
        make(_list, 0.10, "list the files of a folder", path="the folder"),
        make(_read, 0.15, "read a text file", path="the file"),
        make(
            _write,
            0.25,
            "write a text file, replacing what it held",
            path="the file",
            content="its new text",
        ),
        make(
            _search,
            2.40,
            "find the lines of a file that hold a text",
            path="the file",
            text="what to find",
        ),
        make(_check, 1.20, "check that a folder's TOML files are valid", path="the folder"),
    ]


def _tool(
    folder: Path,
    slowness: float,
    work: Callable[..., ToolResult],
    seconds: float,
    description: str,
    **parameters: str,
) -> FolderTool:
    schema = {
        name: {"type": "string", "description": meaning, "required": True}
        for name, meaning in parameters.items()
    }
    name = work.__name__.removeprefix("_")
    return FolderTool(name, description, schema, partial(work, folder), seconds * slowness)


def _list(folder: Path, path: str) -> ToolResult:
    entries = sorted(_folder(folder, path).iterdir())
    names = [entry.name + "/" * entry.is_dir() for entry in entries]
    return ToolResult(f"{_count(len(names), 'entry', 'entries')} in {path}", "\n".join(names))


def _read(folder: Path, path: str) -> ToolResult:
    text = _file(folder, path).read_text(encoding="utf-8")
    return ToolResult(f"{path}, {_count(len(text.splitlines()), 'line', 'lines')}", text)


def _write(folder: Path, path: str, content: str) -> ToolResult:
    file = inside(folder, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8", newline="\n")
    return ToolResult(f"wrote {path}, {_count(len(content.splitlines()), 'line', 'lines')}")


def _search(folder: Path, path: str, text: str) -> ToolResult:
    lines = _file(folder, path).read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if text in line]
    return ToolResult(f'{len(found)} of {len(lines)} lines hold "{text}"', "\n".join(found))


def _check(folder: Path, path: str) -> ToolResult:
    files = sorted(_folder(folder, path).glob("*.toml"))
    wrong: list[str] = []
    for file in files:
        try:
            tomllib.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            wrong.append(f"{file.name}: {error}")
    if wrong:
        raise ToolError("not valid TOML: " + "; ".join(wrong))
    return ToolResult(f"{_count(len(files), 'TOML file', 'TOML files')} in {path}, all valid")


def _folder(folder: Path, path: str) -> Path:
    found = inside(folder, path)
    if not found.is_dir():
        raise ToolError(f"{path} is not a folder" if found.exists() else f"{path} does not exist")
    return found


def _file(folder: Path, path: str) -> Path:
    found = inside(folder, path)
    if not found.is_file():
        raise ToolError(f"{path} is not a file" if found.exists() else f"{path} does not exist")
    return found


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"
