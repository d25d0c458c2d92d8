"""How a command ends: with an exit code and, if something is wrong, one line that says what to do."""

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
    """The message of an error, without advice that is only for programs."""
    return str(error).removesuffix(", or give api_key=")


class UnusableError(CogencyError):
    """An argument of a command cannot be used; the message says what is wrong and what to give instead."""


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
    """Discard output to a standard output or error that was closed before the program began."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123


def complain(message: str) -> None:
    """Print a message as one line on standard error, whatever characters it has."""
    with suppress(OSError):
        print(f"cogency-rs: {one_line(message)}", file=sys.stderr, flush=True)


@contextmanager
def exit_codes() -> Generator[None, None, None]:
    """End the program as `EXIT_CODES` says if the block raises an error that is not a fault of the program."""
    try:
        yield
    except UnusableError as error:
        complain(str(error))
        sys.exit(UNUSABLE)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # after the ^C
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
    """While the block lasts, show the package's logged warnings, one line each; from any thread.

    Failures of tools are not among them, since they are shown with the calls.
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
    """Drop buffered output that could not be written, so that Python does not try and fail again at its exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_what_the_encoding_has() -> None:
    """Print a mark for a character that the output's encoding cannot represent."""
    for output in (sys.stdout, sys.stderr):
        reconfigure = getattr(output, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
