"""`cogency-rs demo`: the options."""

from pathlib import Path
from typing import Annotated

import typer

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
    """Watch a recorded session, as `cogency-rs chat` shows one.

    The model's answers are recorded; everything else is real: the parser, the tools, which work in a temporary folder,
    and the log in a temporary SQLite file.
    """
    from .recording import read_recording, shipped_recording

    turns = shipped_recording() if session is None else read_recording(session)
    from .model import FAST, REALISTIC
    from .player import play, print_events

    pace = FAST if fast else REALISTIC
    if json:
        print_events(turns, pace)
        return
    from ..chat.view import View

    view = View()
    play(turns, view, pace)
    if session is None:
        view.page.line()
        view.page.line(
            "  Your own: cogency-rs chat --base-url http://localhost:11434/v1 --model NAME --files ."
        )
