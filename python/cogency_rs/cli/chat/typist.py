"""Somebody who types at a terminal: `prompt_toolkit` edits what is typed, and recalls what was typed before.

Enter sends a question, unless a backslash is before it; Alt-Enter begins another line. What is pasted stays together,
however many lines it has. Ctrl-X Ctrl-E opens the editor of `VISUAL` or `EDITOR`, and Ctrl-R searches what was asked
before.
"""

from __future__ import annotations

import sys
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout

from ..exits import told_to_end

__all__ = ["Typist"]


class Typist:
    """Reads from the terminal; see `Keyboard`.

    Args:
        prompt: what is before a question.
        history: the file that keeps the questions; without it they are forgotten.
    """

    def __init__(self, prompt: str, history: Path | None) -> None:
        kept: History = InMemoryHistory() if history is None else FileHistory(str(history))
        output = _output()
        self._prompt = FormattedText([("bold ansicyan", prompt)])
        self._questions = PromptSession[str](
            history=kept,
            output=output,
            multiline=True,
            key_bindings=_bindings(),
            prompt_continuation=FormattedText([("class:continuation", "… ")]),
            enable_open_in_editor=True,
            enable_suspend=True,
        )
        self._answers = PromptSession[str](history=InMemoryHistory(), output=output)

    def question(self) -> str | None:
        """Read a question; see `Keyboard.question`."""
        print()
        text = _typed(self._questions, self._prompt)
        return None if text is None else text.strip()

    def answer(self, asked: str, text: str = "") -> str | None:
        """Read an answer; see `Keyboard.answer`."""
        return _typed(self._answers, FormattedText([("bold ansiyellow", f"  {asked} ")]), text)

    def more(self, asked: str) -> str | None:
        """Ask before it goes on; see `Keyboard.more`."""
        return self.answer(asked)

    def offered(self, asked: str) -> str | None:
        """Offer something; see `Keyboard.offered`."""
        return self.answer(asked)


def _typed(session: PromptSession[str], asked: FormattedText, text: str = "") -> str | None:
    app, is_over = session.app, False

    def leave() -> None:
        if is_over and app.future is not None and not app.future.done():
            app.exit(exception=EOFError)

    def end() -> None:
        nonlocal is_over
        is_over = True
        if app.loop is not None:
            app.loop.call_soon_threadsafe(leave)

    try:
        # A warning that comes meanwhile is written above the prompt.
        with told_to_end(end), patch_stdout(raw=True):
            typed = session.prompt(asked, default=text, pre_run=leave)
    except EOFError:
        return None
    return typed.encode(errors="replace").decode()


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def alt_enter(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    return bindings


def _output() -> Output:
    """The terminal, which is not asked where its cursor is: one that does not answer would be warned about."""
    output = create_output(sys.stdout)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output
