"""The view for people: text as it streams, the tools' clock, results in call order.

Everything is written once, from top to bottom, behind a margin that says what it is; nothing is
redrawn. On a terminal it is coloured and at most `WIDEST` columns wide; anywhere else it is the
same text without colour, `PLAIN` columns wide.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from rich.cells import set_cell_size
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from .view import View
from .wrap import Wrapper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Event, ToolCall, ToolResult
    from .view import UserEvent

__all__ = ["Screen"]

MARGIN = 11
NARROWEST, WIDEST, PLAIN = 40, 88, 80
CALL_LINES, CONTENT_LINES = 4, 8

LABELS = {
    "user": "bold cyan",
    "think": "dim",
    "respond": "bold green",
    "call": "bold magenta",
    "execute": "bold magenta",
    "result": "bold magenta",
    "end": "bold",
    "system": "bold",
    "assistant": "bold green",
}
TEXTS = {"think": "dim italic"}
STATES = {"started": "dim", "done": "green", "failed": "red", "success": "green", "failure": "red"}

# Text from elsewhere must not steer the terminal.
_CONTROLS: dict[int, int | None] = {
    **{code: 0x2400 + code for code in range(0x20)},
    **dict.fromkeys(range(0x7F, 0xA0), 0xFFFD),
    0x09: 0x09,
    0x0A: 0x0A,
    0x0D: None,
}


class Screen(View):
    """Shows a session on a console.

    Args:
        console: where to; standard output when not given.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or _StandardOutput()
        columns = self._console.width if self._console.is_terminal else PLAIN
        self._width = min(max(columns, NARROWEST), WIDEST)
        self._turns = 0
        self._run: _Run | None = None  # the text that is being written
        self._calls = 0  # in this turn's batch
        self._began = 0.0  # when the batch did
        self._seconds: list[float] = []  # what each of its tools took

    def session_begins(self, turns: int) -> None:
        """Say what is played."""
        self._turns = turns
        what = f"{_count(turns, 'recorded turn')}, real tools, the log in SQLite"
        self._line(Text.assemble(("cogency-rs demo", "bold"), "   ", (what, "dim")))

    def turn_begins(self, number: int) -> None:
        """Write a heading."""
        self._end_run()
        self._calls, self._seconds = 0, []
        self._heading(f"turn {number} of {self._turns}")

    def event(self, event: Event | UserEvent) -> None:
        """Show an event: text where the last left off, all else on lines of its own."""
        if event["type"] == "think" or event["type"] == "respond":
            self._stream(event["type"], event["content"])
            return
        self._end_run()
        if event["type"] == "user":
            self._line()
            self._text("user", event["content"])
        elif event["type"] == "call":
            self._call(event["content"])
        elif event["type"] == "execute":
            self._execute()
        elif event["type"] == "result":
            self._results(json.loads(event["content"]))
        else:
            self._text("end", "the model is done")

    def tool_started(self, call: ToolCall) -> None:
        """Write when which call began."""
        self._clock("started", call)

    def tool_ended(self, call: ToolCall, result: ToolResult, seconds: float) -> None:
        """Write when which call was over."""
        self._seconds.append(seconds)
        self._clock("failed" if result.error else "done", call)

    def session_ends(self, messages: Sequence[Mapping[str, Any]], rows: int) -> None:
        """Write the messages; of the system prompt only the beginning."""
        self._end_run()
        self._heading("what the next model call would receive")
        for message in messages:
            role, content = message["role"], message["content"]
            self._text(role, _beginning(content) if role == "system" else content)
            self._line()
        size = sum(len(message["content"]) for message in messages)
        total = f"{_count(len(messages), 'message')}, {_count(size, 'character')}"
        self._line(Text(f"{total}, from {_count(rows, 'row')} of the log", "dim"))

    # Text.

    def _text(self, kind: str, content: str) -> None:
        self._stream(kind, content)
        self._end_run()

    def _stream(self, kind: str, piece: str) -> None:
        if self._run is None or self._run.kind != kind:
            self._end_run()
            self._run = _Run(kind, Wrapper(self._width, MARGIN))
        self._flow(self._run, self._run.wrapper.feed(_visible(piece)))

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            self._flow(run, run.wrapper.finish())
            if run.labelled:
                self._write("\n")

    def _flow(self, run: _Run, text: str) -> None:
        if not text:
            return
        if not run.labelled:
            run.labelled = True
            self._label(run.kind)
        self._write(text, TEXTS.get(run.kind))

    # Calls and results.

    def _call(self, content: str) -> None:
        self._calls += 1
        room = self._width - MARGIN - 3
        prefix = self._numbered("call", self._calls)
        self._hanging(prefix, _cut(_signature(content), CALL_LINES * room))

    def _execute(self) -> None:
        self._began = time.perf_counter()
        self._text("execute", f"{_count(self._calls, 'call')}{' at once' * (self._calls > 1)}")

    def _clock(self, state: str, call: ToolCall) -> None:
        now = f"{time.perf_counter() - self._began:5.2f} s  "
        line = Text.assemble(" " * MARGIN, (now, "dim"), (f"{state:<9}", STATES[state]))
        content = json.dumps({"name": call.name, "args": call.args})
        line.append(_cut(_signature(content), self._width - line.cell_len))
        self._line(line)

    def _results(self, results: Sequence[dict[str, Any]]) -> None:
        if len(self._seconds) > 1:
            together, apart = time.perf_counter() - self._began, sum(self._seconds)
            line = f"{together:5.2f} s  all over; one by one it would take {apart:.2f} s"
            self._line(Text(" " * MARGIN + line, "dim"))
        names = [_cut(_one_line(result["tool"]), 20) for result in results]
        widest = max(map(len, names), default=0)
        for number, (name, result) in enumerate(zip(names, results, strict=True), start=1):
            self._result(number, f"{name:<{widest}}  ", result)

    def _result(self, number: int, name: str, result: dict[str, Any]) -> None:
        status, content = result["status"], result.get("content")
        prefix = self._numbered("result", number)
        prefix.append(name).append(f"{status}  ", STATES[status])
        if status == "failure":
            self._hanging(prefix, _shown(content), "red")
            return
        self._hanging(prefix, _shown(result["outcome"]))
        for line in _first_lines(_shown(content), CONTENT_LINES):
            margin = " " * (MARGIN + 3)
            line = _cut(margin + line, self._width).rstrip()
            self._write(line + "\n", "dim")

    def _numbered(self, label: str, number: int) -> Text:
        """The margin of the `number`th item under a label that stands at the first."""
        label_once = label if number == 1 else ""
        return Text.assemble((f"{label_once:<{MARGIN}}", LABELS[label]), (f"{number:<3}", "dim"))

    # Lines.

    def _heading(self, title: str) -> None:
        self._line()
        rule = Rule(Text(title, "bold"), align="left", style="dim")
        self._console.print(rule, width=self._width)

    def _label(self, kind: str) -> None:
        self._write(f"{kind:<{MARGIN}}", LABELS.get(kind))

    def _hanging(self, prefix: Text, text: str, style: str | None = None) -> None:
        margin = prefix.cell_len
        wrapper = Wrapper(max(self._width, margin + NARROWEST // 2), margin)
        self._console.print(prefix, end="", soft_wrap=True)
        self._write(wrapper.feed(_visible(text)) + wrapper.finish() + "\n", style)

    def _line(self, text: Text | None = None) -> None:
        self._console.print(text or Text(), soft_wrap=True)

    def _write(self, text: str, style: str | None = None) -> None:
        self._console.out(text, style=style, highlight=False, end="")


class _Run:
    """Text of one kind while it comes."""

    def __init__(self, kind: str, wrapper: Wrapper) -> None:
        self.kind = kind
        self.wrapper = wrapper
        self.labelled = False


class _StandardOutput(Console):
    """Standard output; that nobody reads it any more is an error like any other."""

    def __init__(self) -> None:
        super().__init__(highlight=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError("standard output is closed")


def _signature(content: str) -> str:
    """A call as one would write it in Python."""
    try:
        call = json.loads(content)
    except ValueError:  # an integer of more digits than Python reads
        return _one_line(content)
    arguments = [
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call["args"].items()
    ]
    return _one_line(f"{call['name']}({', '.join(arguments)})")


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _visible(text: str) -> str:
    return text.translate(_CONTROLS)


def _one_line(text: str) -> str:
    return " ".join(_visible(text).splitlines())


def _cut(text: str, columns: int) -> str:
    """The beginning of a text, as much as fits in so many columns."""
    line = Text(text)
    return text if line.cell_len <= columns else set_cell_size(text, columns - 1) + "…"


def _first_lines(text: str, most: int) -> list[str]:
    lines = _visible(text).expandtabs(4).splitlines()
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"… {len(lines) - most + 1} more lines"]


def _beginning(text: str) -> str:
    """The first paragraph, and how long the whole is."""
    first, gap, _ = text.partition("\n\n")
    return f"{first}\n… {_count(len(text), 'character')} in all" if gap else text


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
