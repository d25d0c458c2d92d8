"""`cogency-rs demo`: the options."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from .player import FAST, REALISTIC, play
from .recording import read_recording, shipped_recording
from .screen import Screen
from .view import JsonLines

__all__ = ["demo"]


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
    turns = shipped_recording() if session is None else read_recording(session)
    view = JsonLines() if json else Screen()
    asyncio.run(play(turns, view, FAST if fast else REALISTIC))
