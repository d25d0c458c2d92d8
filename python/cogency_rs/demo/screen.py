"""The view for people: text as it streams, the tools' clock, results in call order; nothing is redrawn."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..cli.page import KINDS, STATES, TEXTS, Page, cut
from ..cli.text import count, first_lines, one_line, shown, signature, visible
from ..cli.wrap import Wrapper
from .view import View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from ..types import Event, ToolCall, ToolResult
    from .view import UserEvent

__all__ = ["Screen"]

MARGIN = 11
CALL_LINES, CONTENT_LINES = 4, 8


class Screen(View):
    """Shows a session on a console.

    Args:
        console: where to; standard output when not given.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._page = Page(console)
        self._turns = 0
        self._run: _Run | None = None  # the text that is being written
        self._calls = 0  # in this turn's batch
        self._began = 0.0  # when the batch did
        self._seconds: list[float] = []  # what each of its tools took

    def session_begins(self, turns: int) -> None:
        """Say what is played."""
        self._turns = turns
        what = f"{count(turns, 'recorded turn')}, real tools, the log in SQLite"
        self._page.line(Text.assemble(("cogency-rs demo", "bold"), "   ", (what, "dim")))

    def turn_begins(self, number: int) -> None:
        """Write a heading."""
        self._end_run()
        self._calls, self._seconds = 0, []
        self._page.heading(f"turn {number} of {self._turns}")

    def event(self, event: Event | UserEvent) -> None:
        """Show an event: text where the last left off, all else on lines of its own."""
        if event["type"] == "think" or event["type"] == "respond":
            self._stream(event["type"], event["content"])
            return
        self._end_run()
        if event["type"] == "user":
            self._page.line()
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
        self._page.heading("what the next model call would receive")
        for message in messages:
            role, content = message["role"], message["content"]
            self._text(role, _beginning(content) if role == "system" else content)
            self._page.line()
        size = sum(len(message["content"]) for message in messages)
        total = f"{count(len(messages), 'message')}, {count(size, 'character')}"
        self._page.line(Text(f"{total}, from {count(rows, 'row')} of the log", "dim"))

    # Text.

    def _text(self, kind: str, content: str) -> None:
        self._stream(kind, content)
        self._end_run()

    def _stream(self, kind: str, piece: str) -> None:
        if self._run is None or self._run.kind != kind:
            self._end_run()
            self._run = _Run(kind, Wrapper(self._page.width, MARGIN))
        self._flow(self._run, self._run.wrapper.feed(visible(piece)))

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            self._flow(run, run.wrapper.finish())
            if run.labelled:
                self._page.write("\n")

    def _flow(self, run: _Run, text: str) -> None:
        if not text:
            return
        if not run.labelled:
            run.labelled = True
            self._page.begin(Text(f"{run.kind:<{MARGIN}}", KINDS.get(run.kind, "")))
        self._page.write(text, TEXTS.get(run.kind))

    # Calls and results.

    def _call(self, content: str) -> None:
        self._calls += 1
        room = self._page.width - MARGIN - 3
        prefix = self._numbered("call", self._calls)
        self._page.hanging(prefix, cut(_as_written(content), CALL_LINES * room))

    def _execute(self) -> None:
        self._began = time.perf_counter()
        self._text("execute", f"{count(self._calls, 'call')}{' at once' * (self._calls > 1)}")

    def _clock(self, state: str, call: ToolCall) -> None:
        now = f"{time.perf_counter() - self._began:5.2f} s  "
        line = Text.assemble(" " * MARGIN, (now, "dim"), (f"{state:<9}", STATES[state]))
        line.append(cut(signature(call.name, call.args), self._page.width - line.cell_len))
        self._page.line(line)

    def _results(self, results: Sequence[dict[str, Any]]) -> None:
        if len(self._seconds) > 1:
            together, apart = time.perf_counter() - self._began, sum(self._seconds)
            line = f"{together:5.2f} s  all over; one by one it would take {apart:.2f} s"
            self._page.line(Text(" " * MARGIN + line, "dim"))
        names = [cut(one_line(result["tool"]), 20) for result in results]
        widest = max(map(len, names), default=0)
        for number, (name, result) in enumerate(zip(names, results, strict=True), start=1):
            self._result(number, f"{name:<{widest}}  ", result)

    def _result(self, number: int, name: str, result: dict[str, Any]) -> None:
        status, content = result["status"], result.get("content")
        prefix = self._numbered("result", number)
        prefix.append(name).append(f"{status}  ", STATES[status])
        if status == "failure":
            self._page.hanging(prefix, shown(content), "red")
            return
        outcome, lines = result.get("outcome"), first_lines(shown(content), CONTENT_LINES)
        if outcome is None and len(lines) <= 1:
            outcome, lines = content, []
        self._page.hanging(prefix, shown(outcome))
        for line in lines:
            margin = " " * (MARGIN + 3)
            line = cut(margin + line, self._page.width).rstrip()
            self._page.write(line + "\n", "dim")

    def _numbered(self, label: str, number: int) -> Text:
        """The margin of the `number`th item under a label that stands at the first."""
        label_once = label if number == 1 else ""
        return Text.assemble((f"{label_once:<{MARGIN}}", KINDS[label]), (f"{number:<3}", "dim"))


class _Run:
    """Text of one kind while it comes."""

    def __init__(self, kind: str, wrapper: Wrapper) -> None:
        self.kind = kind
        self.wrapper = wrapper
        self.labelled = False


def _as_written(content: str) -> str:
    try:
        call = json.loads(content)
    except ValueError:  # an integer of more digits than Python reads
        return one_line(content)
    return signature(call["name"], call["args"])


def _beginning(text: str) -> str:
    """The first paragraph, and how long the whole is."""
    first, gap, _ = text.partition("\n\n")
    return f"{first}\n… {count(len(text), 'character')} in all" if gap else text
