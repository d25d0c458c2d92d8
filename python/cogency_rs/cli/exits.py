"""How a command ends: with an exit code, and where something is wrong, one line that says what to do."""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from ..errors import CogencyError
from .text import one_line

__all__ = [
    "EXIT_CODES",
    "FAILED",
    "INTERRUPTED",
    "PIPE_CLOSED",
    "STOPPED",
    "UNUSABLE",
    "UnusableError",
    "complain",
    "complaints",
    "discard_closed_outputs",
    "ends",
    "exit_codes",
    "words_of",
]

FAILED, UNUSABLE, STOPPED, INTERRUPTED, PIPE_CLOSED = (
    1,
    2,
    3,
    130,
    141,
)  # 128 + the number of the signal

_OF_CALLS = "cogency_rs.batch"
"""The logger of calls that fail."""

EXIT_CODES = (
    "Exit codes: 0 done; 1 it could not be done; 2 what was given cannot be used; "
    "3 ask has no answer, because it reached a limit or a call waits for approval; "
    "130 interrupted; 141 nobody reads the output any more."
)


def words_of(error: BaseException) -> str:
    """What an error says, without what only a program can do."""
    return str(error).removesuffix(", or give api_key=")


class UnusableError(CogencyError):
    """What a command was given cannot be used; says what is wrong with it and what to give instead."""


def ends(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command end as `EXIT_CODES` says, with its output written."""

    @functools.wraps(command)
    def ending(*args: object, **options: object) -> None:
        with exit_codes():
            _print_what_the_encoding_has()
            try:
                command(*args, **options)
            finally:
                sys.stdout.flush()

    return ending


def discard_closed_outputs() -> None:
    """Let what is written to a standard output that was closed before the program began go nowhere."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123


def complain(message: str) -> None:
    """Print one line on standard error, whatever is in the message."""
    with suppress(OSError):
        print(f"cogency-rs: {one_line(message)}", file=sys.stderr, flush=True)


@contextmanager
def exit_codes() -> Generator[None, None, None]:
    """End the program as `EXIT_CODES` says when the block raises what is no fault of the program."""
    try:
        yield
    except UnusableError as error:
        complain(str(error))
        sys.exit(UNUSABLE)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # behind the ^C
        complain("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _drop_what_is_buffered()
        sys.exit(PIPE_CLOSED)
    except (CogencyError, OSError) as error:
        complain(words_of(error))
        _drop_what_is_buffered()
        sys.exit(FAILED)


@contextmanager
def complaints(tell: Callable[[str], None] = complain) -> Generator[None, None, None]:
    """While the block lasts, tell the warnings that the package logs, a line each; from any thread.

    That a tool failed is not among them: what shows the calls shows that.
    """
    logger, handler = logging.getLogger(__name__.partition(".")[0]), _Complaints(tell)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Complaints(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != _OF_CALLS:
            self._tell(record.getMessage())


def _drop_what_is_buffered() -> None:
    """Keep what could not be written from being tried again, and complained of, when the program ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_what_the_encoding_has() -> None:
    """Print a mark for a character that an output's encoding has not."""
    for output in (sys.stdout, sys.stderr):
        reconfigure = getattr(output, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
