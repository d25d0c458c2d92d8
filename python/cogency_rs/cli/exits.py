"""How a command ends: with an exit code and, if something is wrong, one line that says what to do."""

from __future__ import annotations

import functools
import logging
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType

from ..errors import CogencyError, OwnerError
from .output import say
from .text import one_line, quoted

__all__ = [
    "DONE",
    "EXIT_CODES",
    "FAILED",
    "HUNG_UP",
    "INTERRUPTED",
    "NOT_WHOLE",
    "PIPE_CLOSED",
    "TERMINATED",
    "UNUSABLE",
    "TerminatedError",
    "UnusableError",
    "complain",
    "complaints",
    "discard_closed_outputs",
    "ends",
    "exit_codes",
    "terminable",
    "terminal_restored",
    "told_to_end",
    "words_of",
]

DONE, FAILED, UNUSABLE, NOT_WHOLE = range(4)
# 128 + the number of the signal.
HUNG_UP, INTERRUPTED, PIPE_CLOSED, TERMINATED = 129, 130, 141, 143

_OF_CALLS = "cogency_rs.execution.batch"
"""The logger of calls that fail."""

_MEANINGS = {
    DONE: "done",
    FAILED: "failed",
    UNUSABLE: "unusable arguments or input",
    NOT_WHOLE: "ask has no answer, or only part of one",
    HUNG_UP: "the terminal was closed",
    INTERRUPTED: "interrupted",
    PIPE_CLOSED: "the output is no longer read",
    TERMINATED: "asked to end",
}
"""What each exit code means; docs/command-line.md has the same table."""

EXIT_CODES = f"Exit codes: {'; '.join(f'{code} {meaning}' for code, meaning in _MEANINGS.items())}."


def words_of(error: BaseException) -> str:
    """The message of an error, with advice for a person in place of advice for a program."""
    if isinstance(error, OwnerError):
        whose = (
            f"does not belong to the user {quoted(error.user_id)}"
            if error.user_id
            else "belongs to a user"
        )
        return (
            f"the conversation {quoted(error.conversation_id)} {whose}; "
            "say with --user NAME who began it (`cogency-rs show` lists that), or name another conversation"
        )
    return str(error).removesuffix(", or give api_key=")


class UnusableError(CogencyError):
    """An argument of a command cannot be used; the message says what is wrong and what to give instead."""


class TerminatedError(SystemExit):
    """The program was asked to end. Of other exceptions than `SystemExit`, asyncio would only tell.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = signal.Signals(number)


_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Those that ask a program to end."""


@contextmanager
def terminable() -> Generator[None, None, None]:
    """While the block lasts, a signal that asks the program to end raises `TerminatedError` in it.

    So what is begun can be settled first. A signal that is ignored, as by `nohup`, stays ignored.
    """

    def end(number: int, _: FrameType | None) -> None:
        raise TerminatedError(number)

    known = {each: signal.getsignal(each) for each in _SIGNALS}
    try:
        for each, handler in known.items():
            if handler is signal.SIG_DFL:
                signal.signal(each, end)
        yield
    finally:
        for each, handler in known.items():
            if handler is signal.SIG_DFL:
                signal.signal(each, handler)


@contextmanager
def told_to_end(tell: Callable[[], None]) -> Generator[None, None, None]:
    """While the block lasts, such a signal calls `tell`, and raises `TerminatedError` only when the block is over.

    For code that an exception at any of its lines would leave half done, as an event loop.
    """
    numbers: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        numbers.append(number)
        tell()

    known = {each: signal.getsignal(each) for each in _SIGNALS}
    raising = {each: handler for each, handler in known.items() if callable(handler)}
    try:
        for each in raising:
            signal.signal(each, note)
        yield
    finally:
        for each, handler in raising.items():
            signal.signal(each, handler)
        if numbers:
            raise TerminatedError(numbers[0])


@contextmanager
def terminal_restored() -> Generator[None, None, None]:
    """Give the terminal its settings back when the block ends.

    What reads its keys does so too; but a signal may end the program just when it has changed them.
    """
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, OSError, TypeError, ValueError):  # it is not a terminal
        yield
        return
    try:
        yield
    finally:
        with suppress(termios.error, OSError, ValueError):  # it was closed
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


def ends(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command end as `EXIT_CODES` says, with its output written."""

    @functools.wraps(command)
    def ending(*args: object, **options: object) -> None:
        with exit_codes():
            _bear_other_encodings()
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
        say(f"cogency-rs: {one_line(message)}", to=sys.stderr)


@contextmanager
def exit_codes() -> Generator[None, None, None]:
    """End the program as `EXIT_CODES` says if the block raises an error that is not a fault of the program."""
    try:
        yield
    except (UnusableError, OwnerError) as error:
        complain(words_of(error))
        sys.exit(UNUSABLE)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # after the ^C
        complain("interrupted")
        sys.exit(INTERRUPTED)
    except TerminatedError as ended:
        complain(f"ended by {ended.signal.name}")
        sys.exit(ended.code)
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


def _bear_other_encodings() -> None:
    """Put a mark for input that is not in its encoding, and for characters that the output's cannot represent."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
