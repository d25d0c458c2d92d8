"""`cogency-rs timeline`: what happened when, as a picture or as a trace."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from . import logs
from .exits import UnusableError
from .output import say
from .picture import draw
from .text import count, one_line
from .trace import trace as as_trace
from .turns import turns_of

__all__ = ["timeline", "write_beside"]


def timeline(
    db: Annotated[str, typer.Argument(metavar="DB", help=logs.DB)],
    conversation: Annotated[str, typer.Argument(metavar="CONVERSATION", help="Its id.")],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The SVG to write; - for standard output."
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The trace to write, for Perfetto (ui.perfetto.dev) or a browser's viewer; - as above.",
        ),
    ] = None,
    turn: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Draw the Nth turn instead of the last one."),
    ] = None,
    all: Annotated[
        bool, typer.Option("--all", help="Draw all turns, one below the other.")
    ] = False,
    user: Annotated[
        str | None, typer.Option(help="Whose conversation, if several users have one of that id.")
    ] = None,
) -> None:
    """Draw a turn of a conversation, or write it as a trace.

    The SVG shows when text came, which tools ran together and for how long, and which failed. A turn begins with a
    user message and ends before the next one. The picture needs no other file, and is light or dark like
    the page it is on.
    """
    files = [file for file in (output, trace) if file is not None]
    if not files:
        raise UnusableError(
            "no file is named; give -o FILE for a picture, or --trace FILE for a trace"
        )
    if output == trace:
        raise UnusableError(
            f"{output} cannot be both; name one file with -o and another with --trace"
        )
    if turn is not None and all:
        raise UnusableError("--turn and --all exclude each other; give one of them")
    turns = turns_of(logs.rows(db, conversation, user))
    if turn is not None and turn > len(turns):
        raise UnusableError(
            f"there is no turn {turn}: the conversation has {count(len(turns), 'turn')}"
        )
    drawn = list(turns) if all else [turns[(turn or len(turns)) - 1]]
    if output is not None:
        _write("-o", output, draw(conversation, drawn, of=len(turns)), db)
    if trace is not None:
        _write("--trace", trace, as_trace(conversation, drawn), db)
    calls = [call for turn in drawn for call in turn.calls]
    what = "all turns" if all else f"turn {drawn[0].number} of {len(turns)}"
    failed = sum(call.failed for call in calls)
    for file in files:
        if file != "-":
            say(one_line(f"{file}: {what}, {count(len(calls), 'call')}, {failed} failed"))


def _write(option: str, file: str, text: str, db: str) -> None:
    if file == "-":
        # Line by line: an unbuffered output does not report that a closed pipe cut one large write short.
        sys.stdout.writelines(text.splitlines(keepends=True))
        return
    write_beside(db, Path(file), text, advice=f"name another file with {option}")


def _same(file: Path, other: Path | str) -> bool:
    with contextlib.suppress(OSError):
        return file.samefile(other)
    return False


def write_beside(db: Path | str, path: Path, text: str, *, advice: str) -> None:
    """Write a file that is not one of the log's, or leave everything as it was.

    Args:
        db: the log.
        path: the file.
        text: the whole text.
        advice: what to do if it cannot be written, for the message.

    Raises:
        UnusableError: the file cannot be written.
    """
    if any(_same(path, part) for part in (db, f"{db}-wal", f"{db}-shm")):
        raise UnusableError(f"{path} is the log itself; {advice}")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a device, a pipe
            path.write_text(text, encoding="utf-8")
            return
        target = Path(os.path.realpath(path))
        descriptor, name = tempfile.mkstemp(prefix=".cogency-rs-", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            temporary.chmod(_mode(target))
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UnusableError(f"{path} cannot be written ({error.strerror}); {advice}") from error


def _mode(target: Path) -> int:
    """The permissions that the file has, or would have been given."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
