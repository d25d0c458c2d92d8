"""`cogency-rs parse`: a model's text in, events out, while it arrives."""

import codecs
import errno
import json
import os
import stat
import sys
from collections.abc import Generator
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from .._core import Parser, ToolSchemas
from ..guards.json import read_json
from ..types import Event
from .dialects import named
from .exits import UnusableError, complain
from .progress import Progress

__all__ = ["Utf8", "parse"]

_AT_ONCE = 1 << 16


class Stream(StrEnum):
    """When text is handed out; see `StreamMode`."""

    EVENT = "event"
    TOKEN = "token"


class Calls(StrEnum):
    """When a call is shown; see `CallMode`."""

    WHOLE = "whole"
    STREAM = "stream"


class Errors(StrEnum):
    """Where errors in the output are reported; see `ErrorMode`."""

    RESPOND = "respond"
    EVENT = "event"


def parse(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The text; - or nothing for standard input.", show_default=False
        ),
    ] = "-",
    dialect: Annotated[
        str,
        typer.Option(
            metavar="NAME[,NAME…]",
            help="How the model writes its calls; `cogency-rs dialects` lists the names. Given several, all are read.",
        ),
    ] = "cogency",
    tools: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The tools as a JSON list of declarations: their schemas give the types of raw values.",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        Stream,
        typer.Option(
            help="event: complete units; token: think and respond text as it arrives.",
        ),
    ] = Stream.EVENT,
    calls: Annotated[
        Calls,
        typer.Option(
            help="whole: calls when they count; stream: before that too, while they are written."
        ),
    ] = Calls.WHOLE,
    errors: Annotated[
        Errors,
        typer.Option(
            help="respond: report what cannot be read in the answer; event: in a separate event.",
        ),
    ] = Errors.RESPOND,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Also read calls as small models write them.")
    ] = False,
    begins_in_think: Annotated[
        bool, typer.Option("--begins-in-think", help="The text begins inside reasoning.")
    ] = False,
    finish_reason: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="Why the model stopped: stop, length, …; after length, calls that were cut do not run.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Turn a model's text into events.

    Each event is printed as a line of JSON as soon as it is known, even while text is still arriving.

    The text ends where the protocol says: after a complete execute block, nothing more is read. Most other dialects
    are read to the end. The text is UTF-8; other bytes are replaced by U+FFFD, and a line on standard error says
    where the first one is.
    """
    parser = Parser(
        dialect=tuple(named(dialect)),
        tools=None if tools is None else _schemas(tools),
        stream=stream.value,
        calls=calls.value,
        errors=errors.value,
        lenient=lenient,
        begins_in_think=begins_in_think or None,
    )
    text = Utf8()
    with closing(_standard_input() if file == "-" else _file(Path(file))) as chunks:
        for chunk in chunks:
            _print(parser.feed(text.feed(chunk)))
            if parser.done:
                break
    _print([*parser.feed(text.finish()), *parser.finish(finish_reason)])
    if text.first_replaced is not None:
        name = "standard input" if file == "-" else file
        more = f" and {text.replaced - 1:,} more" if text.replaced > 1 else ""
        complain(f"{name} is not UTF-8 at byte {text.first_replaced:,}{more}; replaced by U+FFFD")


def _schemas(path: Path) -> ToolSchemas:
    """The schemas of the tools that a file declares."""
    do = "name a file with a JSON list of tools"
    try:
        declared: object = read_json(path.read_bytes())
    except OSError as error:
        raise UnusableError(f"{path} cannot be read ({error.strerror}); {do}") from error
    except ValueError as error:
        raise UnusableError(f"{path} is not JSON ({error}); {do}") from error
    if not isinstance(declared, list):
        raise UnusableError(f"{path} does not hold a list; {do}")
    try:
        return ToolSchemas(cast("list[object]", declared))
    except TypeError as error:
        raise UnusableError(f"{path} holds an item that is not a tool: {error}; {do}") from error


def _print(events: list[Event]) -> None:
    for event in events:
        print(json.dumps(event))
    if events:
        sys.stdout.flush()


class Utf8:
    """Decodes UTF-8 that arrives in pieces, cut anywhere, and notes invalid bytes.

    A byte order mark at the start is left out.

    Attributes:
        replaced: how many invalid sequences were replaced by U+FFFD.
        first_replaced: where the first one began, in bytes, or `None`.
    """

    def __init__(self) -> None:
        self.replaced = 0
        self.first_replaced: int | None = None
        self._rest = b""  # the beginning of a character
        self._read = 0  # bytes before it
        self._began = False

    def feed(self, chunk: bytes) -> str:
        """Decode the next bytes; the beginning of a character waits for its end."""
        return self._decode(chunk, final=False)

    def finish(self) -> str:
        """End the bytes; returns the text that still waited."""
        return self._decode(b"", final=True)

    def _decode(self, chunk: bytes, *, final: bool) -> str:
        rest = memoryview(self._rest + chunk)
        parts: list[str] = []
        while True:
            try:
                part, used = codecs.utf_8_decode(rest, "strict", final)
                break
            except UnicodeDecodeError as error:
                parts += [str(rest[: error.start], "utf-8"), "\ufffd"]
                self.replaced += 1
                if self.first_replaced is None:
                    self.first_replaced = self._read + error.start
                self._read += error.end
                rest = rest[error.end :]
        self._read += used
        self._rest = bytes(rest[used:])
        text = "".join([*parts, part])
        if text and not self._began:
            self._began = True
            text = text.removeprefix("\ufeff")
        return text


def _standard_input() -> Generator[bytes, None, None]:
    if sys.stdin is None:
        raise UnusableError("standard input is closed; name a FILE")
    if sys.stdin.isatty():
        complain("reading what is typed; end it with Ctrl-D")
    while chunk := _read(sys.stdin.fileno(), "standard input"):
        yield chunk


def _file(path: Path) -> Generator[bytes, None, None]:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise UnusableError(
            f"{path} cannot be read ({error.strerror}); name a file of text, or - for standard input"
        ) from error
    try:
        status = os.fstat(descriptor)
        # Among events on the same terminal, a line that is written over would be in the way.
        alone = not sys.stdout.isatty() and sys.stderr.isatty() and stat.S_ISREG(status.st_mode)
        with Progress(f"parsing {path}", total=status.st_size, visible=alone) as progress:
            done = 0
            while chunk := _read(descriptor, str(path)):
                yield chunk
                progress.at(done := done + len(chunk))
    finally:
        os.close(descriptor)


def _read(descriptor: int, name: str) -> bytes:
    try:
        return os.read(descriptor, _AT_ONCE)
    except OSError as error:
        what = (
            "is a folder" if error.errno == errno.EISDIR else f"cannot be read ({error.strerror})"
        )
        raise UnusableError(
            f"{name} {what}; name a file of text, or - for standard input"
        ) from error
