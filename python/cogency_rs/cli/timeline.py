"""`cogency-rs timeline`: a picture of what happened when."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from . import logs
from .exits import UnusableError
from .picture import draw
from .text import count, one_line
from .turns import turns_of

__all__ = ["timeline", "write_whole"]


def timeline(
    db: Annotated[str, typer.Argument(metavar="DB", help=logs.DB)],
    conversation: Annotated[str, typer.Argument(metavar="CONVERSATION", help="Its id.")],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The SVG to write; - for standard output."
        ),
    ],
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
    """Draw a turn of a conversation.

    The SVG shows when text came, which tools ran together and for how long, and which failed. A turn begins with what
    the user wrote and ends before the user writes again. The picture needs nothing beside it, and is light or dark like
    the page it is on.
    """
    if turn is not None and all:
        raise UnusableError("--turn and --all exclude each other; give one of them")
    turns = turns_of(logs.rows(db, conversation, user))
    if turn is not None and turn > len(turns):
        raise UnusableError(
            f"there is no turn {turn}: the conversation has {count(len(turns), 'turn')}"
        )
    drawn = turns if all else [turns[(turn or len(turns)) - 1]]
    picture = draw(conversation, drawn, of=len(turns))
    if output == "-":
        # By lines: of one large write that a closed pipe cuts short, an unbuffered output says nothing.
        sys.stdout.writelines(picture.splitlines(keepends=True))
        return
    file = Path(output)
    if any(_same(file, part) for part in (db, f"{db}-wal", f"{db}-shm")):
        raise UnusableError(f"{output} is the log itself; name another file with -o")
    write_whole(file, picture)
    calls = [call for turn in drawn for call in turn.calls]
    what = "all turns" if all else f"turn {drawn[0].number} of {len(turns)}"
    failed = sum(call.failed for call in calls)
    print(one_line(f"{output}: {what}, {count(len(calls), 'call')}, {failed} failed"))


def _same(file: Path, other: Path | str) -> bool:
    with contextlib.suppress(OSError):
        return file.samefile(other)
    return False


def write_whole(path: Path, text: str) -> None:
    """Write a file, or leave everything as it was.

    Raises:
        UnusableError: it cannot be written there.
    """
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
        raise UnusableError(
            f"{path} cannot be written ({error.strerror}); name another file with -o"
        ) from error


def _mode(target: Path) -> int:
    """The permissions that the file has, or would have been given."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
