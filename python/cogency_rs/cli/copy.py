"""`cogency-rs copy`: a log from one place to another."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from ..errors import CogencyError, ConfigError
from ..storage.copying import Archive, CopyResult, copy as copy_log
from ..storage.postgres.archive import TableArchive
from ..storage.postgres.connection import is_dsn, read_dsn
from ..storage.sqlite.archive import FileArchive
from . import log, logs
from .exits import UnusableError
from .output import say
from .progress import Progress
from .text import count, one_line, quoted

__all__ = ["copy"]


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help=logs.DB)],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TO", help="Where to copy it: a file or an address, too. Created if missing."
        ),
    ],
) -> None:
    """Copy a log between files and databases, in any combination.

    Each conversation is written in one transaction, read back and compared. After an interruption, the same command
    continues where it stopped. A conversation that TO already has with different rows is left alone, and the command
    exits with 1.
    """
    if _same(source, target):
        raise UnusableError(f"{logs.named(source)} is both FROM and TO; name two logs")
    try:
        copied = asyncio.run(_copy(source, target))
    except ConfigError as error:
        raise UnusableError(str(error)) from error
    say(
        one_line(
            f"{logs.named(target)}: {count(copied.conversations, 'conversation')} and {count(copied.rows, 'row')} "
            f"copied, {copied.skipped:,} there already, {count(copied.profiles, 'version')} of profiles"
        )
    )
    if copied.different:
        shown = ", ".join(map(quoted, copied.different[:5])) + " …" * (len(copied.different) > 5)
        raise CogencyError(
            f"{len(copied.different):,} of them are in {logs.named(target)} with different rows and were left alone: "
            f"{shown}; delete them there, or name another log"
        )


async def _copy(source: str, target: str) -> CopyResult:
    async with AsyncExitStack() as stack:
        archives: list[Archive] = []
        for name, is_target in ((source, False), (target, True)):
            archives.append(_archive(name, is_target=is_target))
            stack.push_async_callback(archives[-1].close)
        total = await archives[0].count()
        with Progress(f"copying {logs.named(source)}", total=total) as progress:
            return await copy_log(*archives, tell=progress.at)


def _archive(name: str, *, is_target: bool) -> Archive:
    if is_dsn(name):
        return TableArchive(name, makes_tables=is_target)
    if not is_target or Path(name).exists():
        log.conversations(Path(name))  # raises if it is not a log
    return FileArchive(name)


def _same(source: str, target: str) -> bool:
    if is_dsn(source) and is_dsn(target):
        try:
            one, two = read_dsn(source), read_dsn(target)
        except ConfigError as error:
            raise UnusableError(str(error)) from error
        return (one.place, one.schema) == (two.place, two.schema)
    if is_dsn(source) or is_dsn(target):
        return False
    return Path(source).resolve() == Path(target).resolve()
