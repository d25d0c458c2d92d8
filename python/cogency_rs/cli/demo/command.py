"""`cogency-rs demo`: the options."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

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
    fast: Annotated[bool, typer.Option("--fast", help="Play without pauses.")] = False,
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
        page, program = view.page, _program()
        page.line()
        page.hanging(
            Text("  "),
            "This was the agent itself; only the model was recorded. With one of your own:",
        )
        page.line()
        page.line(f"  {program} chat --gguf model.gguf --files .")
        page.line(f"  {program} chat --base-url http://localhost:11434/v1 --model NAME --files .")


def _program() -> str:
    """What to type for this program: in a clone it is in no folder of the shell's."""
    is_found = shutil.which("cogency-rs") is not None
    return sys.argv[0] if Path(sys.argv[0]).name == "cogency-rs" and not is_found else "cogency-rs"
