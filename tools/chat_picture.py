"""Draws what `cogency-rs demo` shows in a terminal into docs/chat.svg, for the README.

    python tools/chat_picture.py

It needs a terminal of the system (`pty`), so it runs where there is one: not on Windows.
"""

from __future__ import annotations

import os
import pty
import re
import struct
import sys
from fcntl import ioctl
from io import StringIO
from pathlib import Path
from termios import TIOCSWINSZ

from rich.console import Console
from rich.text import Text

CHECKOUT = Path(__file__).resolve().parents[1]
PICTURE = CHECKOUT / "docs" / "chat.svg"
WIDTH, LINES = 92, 39

CONTROL = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])")

STYLE = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>A conversation with a model that has tools for files, in a terminal</title>
<style>
.{unique_id}-matrix {{
font-family: "Fira Code", Menlo, Consolas, monospace; font-size: {char_height}px; line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""As rich draws a terminal, without the fonts that it would fetch from another server."""


def recorded(program: list[str]) -> str:
    """What a program writes to a terminal of this size."""
    child, terminal = pty.fork()
    if child == 0:
        found = f"{Path(program[0]).parent}{os.pathsep}{os.environ['PATH']}"
        os.environ.update(TERM="xterm-256color", COLUMNS=str(WIDTH), LINES="200", PATH=found)
        os.execv(program[0], program)
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 200, WIDTH, 0, 0))
    written = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux says that the program has ended
            piece = b""
        if not piece:
            break
        written += piece
    os.waitpid(child, 0)
    return written.decode()


def screen(written: str) -> list[str]:
    """The lines that are left at the end, each with its colours."""
    lines, row, place = [""], 0, 0
    while place < len(written):
        if (control := CONTROL.match(written, place)) is not None:
            place = control.end()
            count, kind = control.groups()
            if kind == "m":
                lines[row] += control.group()
            elif kind == "A":
                row = max(0, row - int(count or 1))
            elif kind == "K":
                lines[row] = ""
            continue
        character = written[place]
        place += 1
        if character == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif character != "\r":
            lines[row] += character
    return lines


def main() -> None:
    program = str(Path(sys.executable).with_name("cogency-rs"))
    lines = screen(recorded([program, "demo"]))
    shown = [line.replace("\xa0", " ") for line in lines]
    while shown and not Text.from_ansi(shown[-1]).plain.strip():
        shown.pop()
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    for line in shown[-LINES:]:
        console.print(Text.from_ansi(line), overflow="crop", no_wrap=True)
    picture = console.export_svg(title="cogency-rs chat", code_format=STYLE, unique_id="chat")
    PICTURE.write_text(picture, encoding="utf-8")
    print(f"{PICTURE.relative_to(CHECKOUT)} has the last {len(shown[-LINES:])} lines of the demo")


if __name__ == "__main__":
    main()
