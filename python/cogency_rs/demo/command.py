"""`cogency-rs demo`: the options, and how it ends."""

import asyncio
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ..errors import CogencyError
from .player import FAST, REALISTIC, play
from .recording import RecordingError, read_recording, shipped_recording
from .screen import Screen
from .view import JsonLines

__all__ = ["demo"]

FAILED, UNUSABLE, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141  # 128 + the number of the signal


def demo(
    session: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Play this recording: JSON lines, one model turn a line, "
            '{"tokens": ["...", ...]} or {"text": "..."}; "user" is what the user wrote before it.',
        ),
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Leave the pacing out.")] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print every event as a line of JSON, when it happens, and nothing else."
        ),
    ] = False,
) -> None:
    """Watch a recorded session stream through the core.

    What the model says is recorded; all else is real: the parser, the tools, which work in a
    temporary folder, the log in a temporary SQLite file, and the messages for the next model call.
    """
    with _exit_codes():
        turns = shipped_recording() if session is None else read_recording(session)
        _print_what_the_encoding_has()
        view = JsonLines() if json else Screen()
        asyncio.run(play(turns, view, FAST if fast else REALISTIC))


@contextmanager
def _exit_codes() -> Generator[None, None, None]:
    try:
        yield
    except RecordingError as error:
        raise _exit(UNUSABLE, str(error)) from None
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # behind the ^C
        raise _exit(INTERRUPTED, "interrupted") from None
    except BrokenPipeError:
        # What is still buffered must not be written when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise _exit(PIPE_CLOSED) from None
    except (CogencyError, OSError) as error:
        raise _exit(FAILED, str(error)) from None


def _exit(code: int, message: str = "") -> typer.Exit:
    if message:
        print(f"cogency-rs: {message}", file=sys.stderr)
    return typer.Exit(code)


def _print_what_the_encoding_has() -> None:
    """Print a mark for a character that standard output's encoding has not."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
