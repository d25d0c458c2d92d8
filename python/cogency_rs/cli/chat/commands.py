"""The commands that may be typed in a conversation in place of a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from ...calls.tool_result import NotHappened
from ...tools.options import options_of
from ..exits import UnusableError
from ..page import cut
from ..show import ConversationPrinter
from ..text import one_line, signature, visible
from ..turns import LoggedTurn
from .assembly import opened_model
from .chart import chart
from .session import ChatSession

__all__ = ["COMMANDS"]


def _help(session: ChatSession, _: str) -> None:
    """List the commands."""
    page = session.view.page
    page.line()
    for name, command in COMMANDS.items():
        what = (command.__doc__ or "").rstrip(".")
        page.hanging(Text(f"  /{name:<10}"), what[:1].lower() + what[1:], "dim")
    page.line()
    page.hanging(
        Text("  "),
        "Ctrl-C stops an answer; twice at the prompt, it leaves. A line that ends in \\ goes on in the next one.",
        "dim",
    )


def _tools(session: ChatSession, _: str) -> None:
    """List the tools that the model may call."""
    page = session.view.page
    page.line()
    tools = session.agent.tools
    if not tools:
        page.line("  none; --files DIR, --tools MODULE and --mcp FILE offer some")
    width = max((len(tool.name) for tool in tools), default=0)
    for tool in tools:
        asks = ", asks first" if options_of(tool).asks_when else ""
        what = one_line(str(tool.description)).partition(". ")[0].removesuffix(".")
        name = Text.assemble("  ", (f"{one_line(tool.name):<{width}}  ", "bold"))
        name.append(cut(what + asks, max(page.width - name.cell_len, 10)), "dim")
        page.line(name)


def _prompt(session: ChatSession, message: str) -> None:
    """Show the first request to the model; /prompt TEXT adds a question."""
    session.view.page.line()
    for line in visible(str(session.agent.prompt(message or None))).split("\n"):
        session.view.page.line([(line, "bold" if line.startswith("── ") else "")])


def _history(session: ChatSession, _: str) -> None:
    """Show the conversation, as it is in the log."""
    page = session.view.page
    turns = _turns(session)
    page.line()
    ConversationPrinter(page).show(session.conversation_id, turns)


def _timeline(session: ChatSession, file: str) -> None:
    """Draw the last turn: what ran when; with a FILE, as an SVG."""
    turns = _turns(session)
    if not file:
        session.view.page.line()
        chart(session.view.page, turns[-1])
        return
    from ..picture import draw
    from ..timeline import write_beside

    picture = draw(session.conversation_id, turns[-1:], of=len(turns))
    write_beside(session.assembly.db, Path(file), picture, advice="name another: /timeline FILE")
    session.view.page.line()
    session.view.page.line(f"  {one_line(file)}: turn {len(turns)}")


def _thoughts(session: ChatSession, _: str) -> None:
    """Show the last thoughts and all later ones; typed again, fold them."""
    view = session.view
    view.unfolds = not view.unfolds
    view.page.line()
    view.page.line(f"  thoughts are {'shown' if view.unfolds else 'folded'} from now on")
    if view.unfolds:
        for thought in view.thoughts:
            view.page.line()
            view.page.hanging(Text("  "), thought, "dim italic")


def _model(session: ChatSession, name: str) -> None:
    """Switch to another model: /model NAME, or a GGUF file."""
    assembly = session.assembly
    if not name:
        session.view.page.line(f"\n  {one_line(assembly.model_name)}")
        return
    options = replace(assembly.options, model=name, model_from=None, gguf=None)
    if name.lower().endswith(".gguf"):
        options = replace(options, model=None, gguf=Path(name))
    session.use(replace(assembly, options=options, model=session.entered(opened_model(options))))
    session.view.page.line(f"\n  {one_line(session.assembly.model_name)} answers from now on")


def _resume(session: ChatSession, _: str) -> None:
    """Continue an interrupted answer, and calls that wait."""
    if not session.go_on():
        raise UnusableError("there is nothing to go on with: the last question is answered")


def _settle(session: ChatSession, what: str) -> None:
    """Say what became of an unknown call: /settle N RESULT, or /settle N not."""
    number, _, result = what.partition(" ")
    unknown = session.unknown()
    page = session.view.page
    if not number:
        page.line()
        for place, call in enumerate(unknown, start=1):
            shown = signature(call.name, call.args or {})
            when = (
                ""
                if call.started_at is None
                else f", started {call.started_at:%Y-%m-%d %H:%M:%S} UTC"
            )
            page.hanging(Text(f"  {place:<4}"), f"{shown}{when}{call.why and f': {call.why}'}")
        page.line(
            "  /settle N RESULT if it happened, /settle N not if it did not"
            if unknown
            else "  no call has an unknown outcome"
        )
        return
    if not (number.isdecimal() and 0 < int(number) <= len(unknown) and result.strip()):
        raise UnusableError(
            "say which call, and what became of it: /settle N RESULT, or /settle N not"
        )
    call = unknown[int(number) - 1]
    session.settle(call, NotHappened() if result.strip() == "not" else result.strip())
    page.line("\n  noted; /resume goes on with it")


def _quit(session: ChatSession, _: str) -> None:
    """Leave."""
    session.leave()


COMMANDS: dict[str, Callable[[ChatSession, str], None]] = {
    "help": _help,
    "tools": _tools,
    "prompt": _prompt,
    "history": _history,
    "timeline": _timeline,
    "thoughts": _thoughts,
    "model": _model,
    "resume": _resume,
    "settle": _settle,
    "quit": _quit,
}


def _turns(session: ChatSession) -> Sequence[LoggedTurn]:
    if not session.is_logged:
        raise UnusableError("nothing has been said yet")
    return session.turns()
