"""`cogency-rs show`: the content of a log, for people or as lines of JSON."""

from __future__ import annotations

import json as json_
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.cells import cell_len

from . import logs
from .page import KINDS, NARROWEST, STATES, TEXTS, Page, Piece, cut
from .stored import Doubtful
from .text import count, duration, first_lines, moment, one_line, shown, signature
from .turns import LoggedBatch, LoggedCall, LoggedText, LoggedTurn, turns_of

__all__ = ["ConversationPrinter", "show"]

LABEL = 10  # columns of the margin, with the kind of an entry
CLOCK = 12  # columns before it for the entry's time, on a page of at least `ROOMY` columns
NARROW, ROOMY = 40, 60
CALL_LINES, CONTENT_LINES = 4, 8
MOST_UNKNOWN = 10  # calls whose outcome is unknown that are shown


def show(
    db: Annotated[str, typer.Argument(metavar="DB", help=logs.DB)],
    conversation: Annotated[
        str | None,
        typer.Argument(metavar="CONVERSATION", help="Its id; by default, all are listed."),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(help="Whose conversation, if several users have one of that id."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show calls and their output to the end.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print lines of JSON.")] = False,
) -> None:
    """List the conversations of a log, or show one.

    The log may be cogency's or cogency-rs's, and another program may be writing it. It is only read.
    """
    if conversation is None:
        listed = logs.conversations(db)
        if user is not None:
            listed = [entry for entry in listed if entry.user_id == user]
        if json:
            _print_lines(map(vars, listed))
        else:
            _list(db, listed)
            _offer_to_settle(db, logs.state(db).unknown)
        return
    turns = turns_of(logs.rows(db, conversation, user))
    if json:
        _print_lines(_as_json(turns))
    else:
        ConversationPrinter(Page(), full=full).show(conversation, turns)
        unknown = logs.state(db).unknown
        _offer_to_settle(db, [call for call in unknown if call.conversation_id == conversation])


def _print_lines(values: Iterable[Any]) -> None:
    for value in values:
        print(json_.dumps(value))


def _as_json(turns: Iterable[LoggedTurn]) -> Iterator[dict[str, Any]]:
    for turn in turns:
        for entry in turn.entries:
            times = {"began": entry.began, "ended": entry.ended}
            if isinstance(entry, LoggedText):
                yield {"turn": turn.number, "type": entry.type, "content": entry.content} | times
            else:
                calls = [
                    {
                        "name": call.name,
                        "args": call.args,
                        "content": call.content,
                        "result": call.result,
                        "status": call.status,
                        "began": call.began,
                        "ended": call.ended,
                    }
                    for call in entry.calls
                ]
                yield {"turn": turn.number, "type": "calls", "calls": calls} | times


def _list(db: str, listed: list[logs.Conversation]) -> None:
    page = Page()
    with page.together():
        page.line([(f"{count(len(listed), 'conversation')} in {one_line(logs.named(db))}", "bold")])
        for entry in listed:
            first, last = moment(entry.first), moment(entry.last)
            span = first if last == first else f"{first} to {last.removeprefix(first[:11])}"
            user = f"user {one_line(entry.user_id)}, " if entry.user_id else ""
            page.line([(one_line(entry.conversation_id), KINDS["user"])])
            page.hanging([("    ", "")], f"{user}{count(entry.rows, 'row')}, {span}", "dim")
            if entry.question is not None:
                page.line("    " + cut(one_line(entry.question).strip(), page.width - 4))


def _offer_to_settle(db: str, unknown: Sequence[Doubtful]) -> None:
    """Say which calls are unknown, and the commands with which a person says what became of them."""
    if not unknown:
        return
    page = Page()
    page.line()
    page.line([(f"{count(len(unknown), 'call')} whose outcome is unknown", "yellow")])
    for call in unknown[:MOST_UNKNOWN]:
        command = logs.settling(db, call.conversation_id, call.call_id)
        page.line(f"    {one_line(call.name)}: {command}")  # not wrapped, so that it can be copied
    if len(unknown) > MOST_UNKNOWN:
        page.line(f"    all of them: {logs.settling(db)}")


class ConversationPrinter:
    """Writes a conversation for a person to read.

    Args:
        page: where to write.
        full: whether calls and their output are written to the end.
    """

    def __init__(self, page: Page, *, full: bool = False) -> None:
        self._page = page
        self._full = full
        self._clock = CLOCK if self._page.width >= ROOMY else 0
        self._margin = self._clock + LABEL

    def show(
        self, conversation_id: str, turns: Sequence[LoggedTurn], *, of: int | None = None
    ) -> None:
        """Write all turns, or only some last ones of them."""
        total = len(turns) if of is None else of
        facts = f"conversation {one_line(conversation_id)}, {count(total, 'turn')}"
        self._page.hanging((), facts, "bold")
        if turns and not turns[0].dated:
            self._page.hanging(
                (), "How long things took is not known: the ids of its rows do not give times."
            )
        with self._page.together():
            for turn in turns:
                self._turn(turn)

    def _turn(self, turn: LoggedTurn) -> None:
        title = f"turn {turn.number}  {moment(turn.began)}"
        if turn.ended > turn.began:
            title += f"  {duration(turn.ended - turn.began)}"
        self._page.heading(title)
        for entry in turn.entries:
            if isinstance(entry, LoggedText):
                self._text(turn, entry)
            else:
                self._batch(turn, entry)

    def _text(self, turn: LoggedTurn, entry: LoggedText) -> None:
        prefix = self._label(turn, entry.type, entry.began)
        if not entry.content.strip():
            prefix = _stripped(prefix)
        self._page.hanging(prefix, entry.content, TEXTS.get(entry.type))

    def _batch(self, turn: LoggedTurn, batch: LoggedBatch) -> None:
        took = None if batch.ended is None else duration(batch.ended - batch.began)
        if len(batch.calls) == 1:
            prefix = self._label(turn, "call", batch.began)
            [call] = batch.calls
            self._call(prefix, call, took if call.took is None else duration(call.took))
            return
        facts = f"{len(batch.calls)}{' together' * batch.answered}"
        if took is not None:
            facts += f", over after {took}"
        self._page.hanging(self._label(turn, "calls", batch.began), facts)
        for number, call in enumerate(batch.calls, start=1):
            prefix = [(" " * self._margin, ""), (f"{number:<3}", "dim")]
            self._call(prefix, call, None if call.took is None else duration(call.took))

    def _call(self, prefix: list[Piece], call: LoggedCall, took: str | None) -> None:
        margin = 2 if self._page.width < NARROW else _columns(prefix)
        asked = one_line(call.content) if call.name is None else signature(call.name, call.args)
        self._page.hanging(prefix, self._limited(asked, margin, CALL_LINES))
        if call.result is None:
            self._page.hanging([(" " * margin, "")], "no result in the log", "yellow")
            return
        status = call.status or one_line(shown(call.result.get("status")))
        outcome, content = call.result.get("outcome"), shown(call.result.get("content"))
        lines = first_lines(content, len(content) + 1 if self._full else CONTENT_LINES)
        if outcome is None and (call.failed or len(lines) <= 1):
            outcome, lines = "\n".join(lines), []
        facts = [(" " * margin, ""), (status, STATES.get(status, "")), ("  ", "")]
        if took is not None:
            facts.append((f"{took}  ", "dim"))
        if _columns(facts) > self._page.width - NARROWEST:
            self._page.line(_stripped(facts))
            facts = [(" " * (margin + 2), "")]
        limited = self._limited(shown(outcome), _columns(facts), CONTENT_LINES)
        self._page.hanging(
            facts if limited else _stripped(facts), limited, "red" if call.failed else None
        )
        for line in lines:
            indented = " " * (margin + 2) + line
            shown_line = indented if self._full else cut(indented, self._page.width)
            self._page.line([(shown_line.rstrip(), "dim")])

    def _limited(self, text: str, margin: int, lines: int) -> str:
        """The beginning of a text that fits in about `lines` lines."""
        return text if self._full else cut(text, lines * max(self._page.width - margin, 1))

    def _label(self, turn: LoggedTurn, label: str, began: float) -> list[Piece]:
        kind = "call" if label == "calls" else label
        clock = f"{duration(began - turn.began):>{CLOCK - 2}}  " if self._clock else ""
        name = cut(one_line(label), LABEL - 1)
        return [(clock, "dim"), (f"{name:<{LABEL}}", KINDS.get(kind, "bold"))]


def _columns(pieces: Iterable[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)


def _stripped(pieces: list[Piece]) -> list[Piece]:
    """Pieces without the spaces at their end."""
    kept = list(pieces)
    while kept and not kept[-1][0].strip():
        kept.pop()
    if kept:
        text, style = kept.pop()
        kept.append((text.rstrip(), style))
    return kept
