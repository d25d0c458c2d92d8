"""Shows a run: text as it streams, thoughts folded, a line for each call.

On a terminal answers are shown as Markdown, and the last lines are live: they say what is awaited and for how long, and
disappear when it has arrived. Anywhere else there are no live lines, and text is written as the model wrote it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Self

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ...calls.tool_result import status_of
from ...models import Usage
from ...runs.result import RunResult
from ...types import ToolCall, ToolResult
from ..page import Page, cut
from ..text import count, duration, exact, first_lines, one_line, shown, signature, visible, written
from ..wrap import Wrapper
from .events import CallBegan, CallEnded, Warned, is_event
from .markdown import GrowingMarkdown

__all__ = ["MARGIN", "View"]

MARGIN = 2
_FAILURE_LINES = 4
_CHANGE_LINES = 30
_REDRAW = 0.08  # seconds between two drawings of the live lines
_SHARE = 4  # the pause is at least as many times as long as a drawing takes
_SECONDS = 0.3  # shorter waits are not shown
_TAIL = 2000  # characters of an argument that is being written, of which the last lines are shown
_LINES = 6


class View:
    """Shows runs on a console, one after the other; `with View() as view:`.

    Args:
        console: where to write; standard output by default.
        unfolds: whether thoughts are shown.

    Attributes:
        page: writes everything else.
        unfolds: whether thoughts are shown, from the next one on.
        thoughts: the thoughts of the last answer.
    """

    def __init__(self, console: Console | None = None, *, unfolds: bool = False) -> None:
        self.page = Page(console)
        self.unfolds = unfolds
        self.thoughts: list[str] = []
        self._console = self.page.console
        self._marks = _UNICODE if self._console.encoding.lower().startswith("utf") else _ASCII
        self._live: Live | None = None
        self._next_drawing = 0.0
        self._run: _Text | None = None  # the text that is being written as it is
        self._answer: GrowingMarkdown | None = None  # that which is being written as Markdown
        self._last = ""  # the kind of the last written line
        self._running: dict[str, _Running] = {}
        self._waiting: tuple[str, float] | None = None  # what is awaited, and since when
        self._written = 0  # characters of the call that is being written
        self._argument = _Argument()
        self._is_paused = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._settle()

    # A run

    def begin(self) -> None:
        """A question was asked."""
        self.thoughts = []
        self._last = "user"
        self._wait("waiting for the model")

    def happened(self, item: Any) -> None:
        """Show an event of a run; `None` means that nothing happened for a moment."""
        if item is not None and not (is_event(item) and item["type"] == "metric"):
            self._is_paused = False
        with self._console:  # what it writes and what it redraws reach the terminal together
            self._show(item)

    def _show(self, item: Any) -> None:
        match item:
            case None:
                self._draw()
            case CallBegan(id, call):
                self._waiting = None
                self._running[id] = _Running(call, monotonic())
                self._draw(now=True)
            case CallEnded():
                self._running.pop(item.id, None)
                self._call_ended(item)
            case Warned(text):
                self._settle_text()
                self._note(text, "yellow")
                self._draw(now=True)
            case _:
                self._event(item)

    def pause(self) -> None:
        """Draw no live lines until something else happens: a text is written elsewhere, perhaps to this terminal."""
        if not self._is_paused:
            self._settle_text()
            self._waiting, self._is_paused = None, True

    def end(self, result: RunResult[str], usage: Usage, steps: int, seconds: float) -> None:
        """Show how an answer ended: what stopped it, and what it used."""
        self._settle()
        stop = result.stop
        if result.status == "stopped" and stop is not None:
            self.note(f"stopped: {stop.message or stop.reason}", "yellow")
        elif stop is not None and stop.source == "model":  # it names the limit that cut the answer
            self.note(stop.message, "yellow")
        about = "about " if usage.is_estimate else ""
        facts = [
            f"{about}{usage.read_tokens:,} tokens in, {usage.written_tokens:,} out",
            count(steps, "step"),
            duration(seconds),
        ]
        self._gap("usage")
        self.page.hanging(Text(" " * MARGIN), ", ".join(facts), "dim")

    def note(self, text: str, style: str = "dim") -> None:
        """Write a note of the program, on its own lines."""
        self._settle()
        self._note(text, style)

    def _note(self, text: str, style: str) -> None:
        self._gap("note")
        self.page.hanging(Text(" " * MARGIN), one_line(text), style)

    def error(self, text: str) -> None:
        """Write an error."""
        self._settle()
        self._gap("error")
        prefix = Text.assemble(" " * MARGIN, (self._marks["failed"] + " ", "bold red"))
        self.page.hanging(prefix, one_line(text), "red")

    def call(self, call: ToolCall, preview: str | None) -> Iterator[int]:
        """Write a call that a person is asked about: all of its preview if there is one, else all of its arguments.

        A terminal is given one screen at a time.

        Yields:
            Before each further screen, the number of lines that are left.
        """
        self._settle()
        self.page.line()
        self._last = "asked"
        prefix = Text.assemble(" " * MARGIN, (self._marks["asked"] + " ", "bold yellow"))
        lines: list[Text] = []
        if preview is None:
            lines = self._exact(written(call.name, call.args), prefix, "")
        else:
            shown_call = cut(signature(call.name, call.args), self.page.width - prefix.cell_len)
            lines.append(prefix.append(shown_call))
            for text in preview.split("\n"):
                margin = Text(" " * (MARGIN + 2))
                lines += self._exact(text, margin, _DIFF_STYLES.get(text[:1], "dim"))
        screen = max(self._console.height - 2, 1) if self._console.is_terminal else len(lines)
        for number, line in enumerate(lines):
            if number and number % screen == 0:
                yield len(lines) - number
            self.page.line(line)

    def _exact(self, line: str, prefix: Text, style: str) -> list[Text]:
        """A line of a text in which nothing is hidden or cut; where it is wrapped, a mark is in the margin."""
        columns = max(self.page.width - prefix.cell_len, 2)
        margin = f"{self._marks['wrapped']} ".rjust(prefix.cell_len)
        lines, used = [prefix], 0
        for piece, is_mark in exact(line, ascii=self._marks is _ASCII):
            look = f"{style} reverse" if is_mark else style
            first, *others = chop_cells("x" * used + piece, columns)
            lines[-1].append(first[used:], look)
            lines += [Text.assemble((margin, "dim"), (other, look)) for other in others]
            used = cell_len(others[-1]) if others else cell_len(first)
        lines[-1].rstrip()  # the sign of an empty line of a difference
        return lines

    def asked(self) -> None:
        """Note that the person has answered; the next output is a separate block."""
        self._last = "asked"
        self._wait("waiting for the model")

    def stopping(self) -> None:
        """Show that the run is being stopped."""
        self._end_text()
        self._wait("stopping")

    # Events

    def _event(self, event: Mapping[str, Any]) -> None:
        match event["type"]:
            case "think":
                self._think(event["content"])
            case "respond":
                self._respond(event["content"])
            case "tool_call_start":
                self._settle_text()
                self._argument = _Argument()
                self._wait(f"writing a call of {event['name']}")
            case "tool_call_delta":
                self._written += len(event["content"])
                self._argument.take(event.get("path") or [], event["content"])
                self._draw()
            case "error":
                self._settle_text()
                self._gap("tools")
                first = one_line(event["content"]).partition(". ")[0]
                prefix = Text.assemble(" " * MARGIN, (self._marks["failed"] + " ", "yellow"))
                if first.startswith("Your "):  # it is written for the model
                    first = f"The model's {first[5:]}"
                # Such an answer may be the last: at a limit of the user's own, or if the model refuses.
                goes_on = event.get("kind") not in ("truncated", "refused")
                told = f"{first}; the model sees this" if goes_on else first
                self.page.hanging(prefix, told, "yellow")
            case "metric":
                self._settle_text()
                self._written = 0
                self._argument = _Argument()
                self._wait("waiting for the model")
            case _:  # of whatever type, if a tool emitted it
                running = self._running.get(event.get("execution_id", ""))
                if running is not None:
                    running.progress = _progress(event)
                    self._draw()

    def _think(self, piece: str) -> None:
        run = self._text("think", "dim italic")
        run.take(piece)
        if self.unfolds:
            self._waiting = None
            self._flow(run, run.wrapper.feed(visible(piece)))
        else:
            self._waiting = f"thinking, {count(run.words, 'word')}", run.began
            self._draw()

    def _respond(self, piece: str) -> None:
        self._waiting = None
        if not self._console.is_terminal:
            run = self._text("respond")
            self._flow(run, run.wrapper.feed(visible(piece)))
            return
        if self._answer is None:
            self._end_text()
            self._answer = GrowingMarkdown(self._console, self.page.width, MARGIN)
        self._answer.feed(visible(piece))
        self._draw()

    def _text(self, kind: str, style: str = "") -> _Text:
        """The text of a kind that is being written; another one is ended."""
        if self._run is None or self._run.kind != kind:
            self._end_text()
            self._run = _Text(kind, Wrapper(self.page.width, MARGIN), style)
        return self._run

    def _flow(self, run: _Text, text: str) -> None:
        if not text:
            return
        if not run.begun:
            run.begun = True
            self._clear()
            self._gap(run.kind)
            self.page.write(" " * MARGIN)
        self.page.write(text, run.style)

    def _end_text(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            lines, _ = answer.lines()
            with self._console:
                self._clear()
                self._write(lines)
        run, self._run = self._run, None
        if run is None:
            return
        self._flow(run, run.wrapper.finish())
        if run.begun:
            self.page.write("\n")
        if run.kind == "think":
            self.thoughts.append("".join(run.taken).strip())
            if not self.unfolds and run.words:
                self._clear()
                self._waiting = None
                self._gap("think")
                took = duration(monotonic() - run.began)
                line = f"thought for {took}, {count(run.words, 'word')}"
                self.page.hanging(Text(" " * MARGIN), line, "dim italic")

    # Calls

    def _call_ended(self, ended: CallEnded) -> None:
        self._settle_text()
        result = ended.result
        state = _state(result)
        self._clear()
        self._gap("tools")
        mark = Text.assemble(" " * MARGIN, (self._marks[state] + " ", _STYLES[state]))
        took = duration(ended.seconds)
        width = self.page.width
        call = cut(
            signature(ended.call.name, ended.call.args), width - mark.cell_len - 2 - len(took)
        )
        line = Text.assemble(mark, call, ("  " + took, "dim"))
        summary = "stopped" if result is None else _summary(result)
        room = width - line.cell_len - 2
        if state == "failed" or len(summary) > room:
            self.page.line(line)
            margin = Text(" " * (MARGIN + 2))
            if state in ("failed", "denied"):
                style = "red" if state == "failed" else "yellow"
                self.page.hanging(margin, cut(summary, _FAILURE_LINES * width), style)
            else:
                self.page.line(margin.append(cut(summary, width - margin.cell_len), "dim"))
        else:
            self.page.line(line.append("  " + summary, "dim") if summary else line)
        if state == "done" and ended.preview is not None:
            self._change(ended.preview)
        self._draw(now=True)

    def _change(self, preview: str) -> None:
        """Show what a call has done, as a difference in colours; of a long one, its beginning."""
        margin = " " * (MARGIN + 2)
        for text in first_lines(preview, _CHANGE_LINES):
            style = _DIFF_STYLES.get(text[:1], "dim")
            self.page.line(Text(margin).append(cut(text, self.page.width - len(margin)), style))

    # The live lines

    def _wait(self, what: str) -> None:
        self._waiting = one_line(what), monotonic()
        self._draw()

    def _draw(self, *, now: bool = False) -> None:
        is_writing = self._is_paused or (self._run is not None and self._run.begun)
        if not self._console.is_terminal or is_writing:
            return
        moment = monotonic()
        if not now and moment < self._next_drawing:
            return
        settled: list[Text] = []
        lines = self._live_lines(moment)
        if self._answer is not None:
            settled, growing = self._answer.lines(max(self._console.height - len(lines) - 3, 1))
            if settled or growing:
                self._gap("respond")
            lines = growing + lines
        if not lines and not settled:
            self._clear()
            return
        took = monotonic() - moment
        self._next_drawing = moment + max(_REDRAW, _SHARE * took)
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        text = Text("\n").join(lines)
        if settled or text != self._live.get_renderable():
            self._live.update(text, refresh=True)
            self._write(settled)

    def _write(self, answer: list[Text]) -> None:
        """Write lines of an answer for good, before the live ones."""
        if answer:
            self._gap("respond")
            with self.page.together():
                for line in answer:
                    self.page.line(line)

    def _live_lines(self, now: float) -> list[Text]:
        spinner = self._marks["spinner"][int(now * 10) % len(self._marks["spinner"])]
        width = min(self.page.width, self._console.width - 1)
        lines: list[Text] = []
        for running in itertools.islice(self._running.values(), self._console.height // 2):
            call, took = running.call, f"  {now - running.began:.1f} s"
            facts = running.progress and f"  {running.progress}"
            room = width - MARGIN - 2 - len(took)
            text = cut(signature(call.name, call.args), max(room // 2, room - cell_len(facts)))
            facts = cut(facts, room - cell_len(text)) if room > cell_len(text) else ""
            line = Text.assemble(" " * MARGIN, (spinner + " ", "cyan"), text, (took, "dim"))
            lines.append(line.append(facts, "dim"))
        if self._waiting is not None and not self._running:
            what, since = self._waiting
            if self._written and what.startswith("writing"):
                what += f", {count(self._written, 'character')}"
            if now - since >= _SECONDS or what.startswith(("thinking", "writing", "stopping")):
                shown = cut(f"{what}  {now - since:.0f} s", width - MARGIN - 2)
                lines.append(Text.assemble(" " * MARGIN, (f"{spinner} {shown}", "dim")))
            if what.startswith("writing"):
                lines += self._argument.lines(width)
        if lines and not (self._running and self._last == "tools"):
            lines.insert(0, Text())  # as there will be before the next block
        return lines

    def _clear(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.update(Text(""), refresh=False)
            live.stop()

    def _settle_text(self) -> None:
        self._end_text()
        self._clear()

    def _settle(self) -> None:
        """Remove output that is not complete."""
        self._end_text()
        self._waiting = None
        self._running.clear()
        self._clear()

    def _gap(self, kind: str) -> None:
        """An empty line between blocks of different kinds."""
        if self._last != kind and (self._last, kind) != ("asked", "tools"):
            self.page.line()
        self._last = kind


@dataclass
class _Argument:
    """The argument that the model is writing, and its last lines so far."""

    path: list[str | int] = field(default_factory=list[str | int])
    end: str = ""

    def take(self, path: list[str | int], piece: str) -> None:
        """Take the next piece of the value at a path."""
        if path != self.path:
            self.path, self.end = path, ""
        self.end = (self.end + visible(piece))[-_TAIL:]

    def lines(self, width: int) -> list[Text]:
        """The last lines of the argument, if it has more than one."""
        whole = self.end.splitlines()
        if len(whole) < 2:
            return []
        margin = " " * (MARGIN + 2)
        shown = [cut(line, width - len(margin)) for line in whole[-_LINES:]]
        return [Text.assemble(margin, (line, "dim")) for line in shown]


@dataclass
class _Running:
    """A call that is carried out now, and what it says of its progress."""

    call: ToolCall
    began: float
    progress: str = ""


def _progress(event: Mapping[str, Any]) -> str:
    """What a call says of its progress: "2/3 compiling"; of other events, their type, keys and values."""
    facts = {key: _fact(value) for key, value in event.items() if value is not None}
    done, total, message = (facts.get(key, "") for key in ("progress", "total", "message"))
    if not done and not message:
        kind = "" if event["type"] == "progress" else f"{event['type']} "
        named = (f"{key} {value}" for key, value in facts.items() if key not in _EVERY_EVENT)
        return one_line(kind + ", ".join(named)).strip()
    return one_line(f"{done}/{total} {message}" if done and total else f"{done} {message}").strip()


def _fact(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else shown(value)


class _Text:
    """Text of one kind while it comes."""

    def __init__(self, kind: str, wrapper: Wrapper, style: str) -> None:
        self.kind = kind
        self.wrapper = wrapper
        self.style = style
        self.begun = False  # whether a part of it is written
        self.began = monotonic()
        self.taken: list[str] = []
        self.words = 0
        self._in_word = False

    def take(self, piece: str) -> None:
        """Keep a piece of a thought, and count its words."""
        self.taken.append(piece)
        goes_on = self._in_word and not piece[:1].isspace()
        self.words += max(len(piece.split()) - goes_on, 0)
        self._in_word = not piece[-1:].isspace() if piece else self._in_word


_EVERY_EVENT = frozenset({"type", "execution_id", "timestamp", "tool"})

_UNICODE = {
    "done": "✓",
    "failed": "✗",
    "stopped": "■",
    "denied": "■",
    "asked": "?",
    "wrapped": "…",
    "spinner": "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏",
}
_ASCII = {
    "done": "+",
    "failed": "x",
    "stopped": "-",
    "denied": "-",
    "asked": "?",
    "wrapped": ".",
    "spinner": "|/-\\",
}
_STYLES = {"done": "green", "failed": "red", "stopped": "yellow", "denied": "yellow"}
_RAISED = "Tool execution failed: "
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def _state(result: ToolResult | None) -> str:
    if result is None:
        return "stopped"
    if status_of(result) == "denied":
        return "denied"
    return "failed" if result.error else "done"


def _summary(result: ToolResult) -> str:
    """A result on one line: its outcome, if that says more than `Success`, else the beginning of its content."""
    content = shown(result.content)
    if result.error or (result.outcome and result.outcome != "Success"):
        return one_line(result.outcome.removeprefix(_RAISED))
    lines = first_lines(content, 2)
    if not lines:
        return ""
    more = content.strip().count("\n")
    return lines[0].strip() + (f"  … {count(more, 'more line')}" if more else "")
