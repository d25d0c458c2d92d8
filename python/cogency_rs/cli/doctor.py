"""`cogency-rs doctor`: what is installed, and whether it works."""

from __future__ import annotations

import asyncio
import json as json_
import os
import platform
import re
import sqlite3
import sys
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from .. import _core  # pyright: ignore[reportPrivateUsage]  (ours)
from ..compat.dropin import SUPPORTED
from ..context.assembly import assemble
from ..protocol import parse_tokens
from ..storage.sqlite import SQLite
from ..turn.accumulator import Accumulator
from ..types import Execution, ToolResult
from . import logs
from .doctor_log import examine_log, print_log
from .exits import FAILED
from .page import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["doctor", "examine"]

Fact = dict[str, Any]

_PACKAGE = "cogency-rs"


def doctor(
    db: Annotated[
        str | None,
        typer.Argument(metavar="[DB]", help=f"{logs.DB} Also show who works on it."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what is installed and whether it works.

    The test parses a block, runs two tools, writes a log in a temporary folder and reads it back. Exits with 0 if
    everything works, else with 1. For a log, it shows which process has a claim on which conversation, and which calls
    have no result there. The log is only read.
    """
    found = examine()
    if db is not None:
        found["log"] = examine_log(db)
    if json:
        print(json_.dumps(found))
    else:
        _print(found)
        if db is not None:
            print_log(found["log"])
    if not found["usable"]:
        raise typer.Exit(FAILED)


def examine() -> Fact:
    """Find out what is installed and whether it works.

    Returns:
        A JSON object: `usable`, `problems` and `remarks` (text), and the facts about each thing examined.
    """
    found: Fact = {"usable": True, "problems": [], "remarks": []}
    for name, look in _LOOKS.items():
        try:
            found[name] = look(found)
        except Exception as error:
            found[name] = None
            found["problems"].append(
                f"{name} could not be examined: {type(error).__name__}: {error}"
            )
    found["usable"] = not found["problems"]
    return found


def _package(found: Fact) -> Fact:
    installed = _version(_PACKAGE)
    if installed is None:
        found["remarks"].append("the package runs from a folder on the path; it is not installed")
    elif installed != _core.__version__:
        found["problems"].append(
            f"the package is of version {installed} and its core of {_core.__version__}; "
            "install it again: pip install --force-reinstall cogency-rs"
        )
    return {"version": installed, "path": str(Path(__file__).parent.parent)}


def _extension(found: Fact) -> Fact:
    if _core.BUILD == "debug":
        found["remarks"].append(
            "the core was built without optimisation and is slow; build it with `maturin develop --release`, or `make`"
        )
    file = Path(_core.__file__)
    # On Windows the name has a tag only if the extension is for one version of Python.
    abi3 = "abi3" in file.suffixes[0] or file.name == "_core.pyd"
    return {"version": _core.__version__, "build": _core.BUILD, "abi3": abi3, "file": file.name}


def _python(_: Fact) -> Fact:
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
    }


def _platform(_: Fact) -> Fact:
    return {
        "name": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
    }


def _sqlite(found: Fact) -> Fact:
    with TemporaryDirectory(prefix="cogency-rs-") as folder:
        journal, synchronous = asyncio.run(_settings(Path(folder, "log.db")))
    if not sqlite3.threadsafety:
        found["problems"].append(
            "this Python's SQLite was built for one thread only, and the log uses several; use another Python"
        )
    if journal != "wal":
        found["remarks"].append(
            f"SQLite's journal mode in {Path(folder).parent} is {journal}, not wal: "
            "readers wait for writers there"
        )
    return {
        "version": sqlite3.sqlite_version,
        "threadsafe": {0: "single-thread", 1: "multi-thread", 3: "serialized"}[
            sqlite3.threadsafety
        ],
        "journal_mode": journal,
        "synchronous": synchronous,
    }


async def _settings(path: Path) -> tuple[str, str]:
    """The journal mode and the level of synchronous that a log is written with."""

    def ask(connection: sqlite3.Connection) -> tuple[str, int]:
        [journal] = connection.execute("PRAGMA journal_mode").fetchone()
        [level] = connection.execute("PRAGMA synchronous").fetchone()
        return journal, level

    async with SQLite(path) as storage:
        # Only the storage's own connection has them.
        journal, level = await storage._database.write(ask)  # pyright: ignore[reportPrivateUsage]
    return journal, ("OFF", "NORMAL", "FULL", "EXTRA")[level]


def _cogency(found: Fact) -> Fact | None:
    version = _version("cogency")  # importing it takes seconds
    if version is None:
        return None
    supported = version.split(".")[:2] == SUPPORTED.split(".")
    if not supported:
        found["remarks"].append(
            f"cogency {version} is not known to cogency_rs.install(), which supports {SUPPORTED}.x"
        )
    return {"version": version, "supported": supported}


def _extras(_: Fact) -> Fact | None:
    """The distributions that each extra asks for, with the versions that are installed; also for other systems."""
    try:
        known = metadata.metadata(_PACKAGE).get_all("Provides-Extra") or []
        required = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    extras: dict[str, dict[str, str | None]] = {name: {} for name in known}
    for requirement in required:
        name = re.match(r"[\w.-]+", requirement)
        for extra in re.findall(r"""\bextra\s*==\s*["']([^"']+)""", requirement):
            if name is not None and extra in extras:
                extras[extra][name[0]] = _version(name[0])
    return extras


def _extra(name: str, versions: dict[str, str | None]) -> str:
    """How an extra is shown: complete, in part or not installed."""
    lacking = [distribution for distribution, version in versions.items() if version is None]
    if not versions:
        return name
    if not lacking:
        return f"{name} ({', '.join(f'{each} {version}' for each, version in versions.items())})"
    if len(lacking) == len(versions):
        return f"{name} not installed"
    return f"{name} ({', '.join(lacking)} not installed)"


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


# A turn.

_TURN = (
    '<think>Two at once.</think>Both:<execute>[{"name": "on_loop", "args": {"text": "</execute>"}}, '
    '{"name": "in_thread", "args": {"text": "b"}}]</execute>'
)


_SCHEMA = {"text": {"type": "string", "required": True}}


class _OnLoop:
    name, description, schema = "on_loop", "Say it again.", _SCHEMA

    async def execute(self, text: str, **_: Any) -> ToolResult:
        return ToolResult(outcome="said", content=text)


class _InThread:
    name, description, schema = "in_thread", "Say it again.", _SCHEMA

    def execute(self, text: str, **_: Any) -> ToolResult:
        return ToolResult(outcome="said", content=text)


_EMITTED = ["think", "respond", "call", "call", "execute", "result"]


def _turn(found: Fact) -> Fact:
    with TemporaryDirectory(prefix="cogency-rs-") as folder:
        emitted, last = asyncio.run(_run(Path(folder, "log.db")))
    works = emitted == _EMITTED and '"</execute>"' in last and '"b"' in last
    if not works:
        found["problems"].append(
            f"a turn of two calls gave the events {emitted} and the message {last!r}; "
            "install the package again: pip install --force-reinstall cogency-rs"
        )
    return {"works": works}


async def _run(path: Path) -> tuple[list[str], str]:
    tools = [_OnLoop(), _InThread()]
    async with SQLite(path) as storage:
        turn = Accumulator("user", "turn", execution=Execution(storage=storage, tools=tools))
        emitted: list[str] = [event["type"] async for event in turn.process(parse_tokens(_TURN))]
        messages = await assemble("user", "turn", tools=tools, storage=storage)
    return emitted, messages[-1]["content"]


_LOOKS: dict[str, Callable[[Fact], Fact | None]] = {
    "package": _package,
    "core": _extension,
    "python": _python,
    "platform": _platform,
    "sqlite": _sqlite,
    "cogency": _cogency,
    "extras": _extras,
    "turn": _turn,
}


# For a person.


def _print(found: Fact) -> None:
    page = Page()
    for name in _LOOKS:
        page.hanging(Text(f"{name:<10}", "bold"), ", ".join(_facts(name, found[name])))
    for kind, style in (("remarks", "yellow"), ("problems", "red")):
        for text in found[kind]:
            page.hanging(Text(f"{kind[:-1]:<10}", f"bold {style}"), text)
    usable = found["usable"]
    page.line(Text("everything works" if usable else "not usable", "green" if usable else "red"))


def _facts(name: str, fact: Fact | None) -> Iterator[str]:
    if fact is None:
        yield "not installed" if name == "cogency" else "not known"
        return
    for key, value in fact.items():
        match value:
            case True:
                yield key
            case False:
                yield f"not {key}"
            case None:
                yield f"{key} not known"
            case _ if name == "extras":
                yield _extra(key, value)
            case _ if key in _NAMED:
                yield f"{key} {value}"
            case _:
                yield str(value)


_NAMED = {"journal_mode", "synchronous", "processors"}
