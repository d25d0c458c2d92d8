"""`cogency-rs ask`: one question, one answer; for scripts."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .chat.events import Warned, is_event
from .chat.options import (
    AgentOptions,
    BaseUrl,
    Db,
    DialectName,
    Files,
    Instructions,
    Mcp,
    ModelFrom,
    ModelName,
    Native,
    ProviderName,
    StepLimit,
    Tools,
    Yes,
)
from .exits import FAILED, STOPPED, UnusableError, complain, complaints
from .text import quoted, signature

if TYPE_CHECKING:
    from ..agent import RunResult
    from .chat.background import Watched

__all__ = ["ask"]


def ask(
    question: Annotated[
        list[str],
        typer.Argument(metavar="QUESTION...", help="What is asked; - stands for standard input."),
    ],
    model: ModelName = None,
    base_url: BaseUrl = None,
    provider: ProviderName = "openai",
    model_from: ModelFrom = None,
    dialect: DialectName = None,
    native: Native = False,
    tools: Tools = None,
    mcp: Mcp = None,
    files: Files = None,
    db: Db = None,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            help="Go on with this conversation of the log, or begin it.",
        ),
    ] = None,
    yes: Yes = False,
    instructions: Instructions = "",
    steps: StepLimit = 20,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print each event as a line of JSON; the last is the result."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing of calls.")] = False,
) -> None:
    """Ask a model that may use tools, and print its answer.

    The answer is on standard output, and which calls ran on standard error.
    """
    if conversation is not None and db is None:
        raise UnusableError("--conversation names one of a log; name that with --db FILE")
    options = AgentOptions(
        model=model,
        base_url=base_url,
        provider=provider,
        model_from=model_from,
        dialect=dialect,
        native=native,
        tools=tuple(tools or ()),
        mcp=mcp,
        files=files,
        db=db,
        yes=yes,
        instructions=instructions,
        steps=steps,
    )
    text = _text_of(question)
    result = _answered(options, text, conversation, json=json, quiet=quiet)
    if json:
        print(json_.dumps(_as_json(result)), flush=True)
    elif result.text:
        print(result.text, flush=True)
    _exit(result, db)


def _text_of(words: Iterable[str]) -> str:
    """The question, with standard input in place of a `-`."""
    parts: list[str] = []
    for word in words:
        if word == "-":
            given = sys.stdin.buffer.read().decode(errors="replace").strip()
            parts.append(f"\n\n{given}\n\n" if parts else f"{given}\n\n")
        else:
            parts.append(f"{word} ")
    text = "".join(parts).strip()
    if not text:
        raise UnusableError('there is no question; give one, such as "What is in this folder?"')
    return text


def _answered(
    options: AgentOptions, text: str, conversation: str | None, *, json: bool, quiet: bool
) -> RunResult[str]:
    from ..errors import CogencyError
    from .chat.assembly import assembled
    from .chat.background import Background, Watched

    background = Background()
    with complaints(background.warn), background:
        assembly = background.enter(assembled(options))
        agent = assembly.agent(middleware=[background.watch], calls="whole")
        run = Watched(
            background,
            lambda: agent.stream(
                text, conversation_id=conversation, mode="event" if json else "token"
            ),
        )
        _watch(run, _shown(json=json, quiet=quiet))
        try:
            return run.result()
        except (CogencyError, OSError):
            raise
        except Exception as error:  # the caller's own model may raise anything
            complain(f"{type(error).__name__}: {error}")
            sys.exit(FAILED)


def _watch(run: Watched, shown: Callable[[Any], None]) -> None:
    try:
        for item in run:
            shown(item)
    except BaseException:
        for _ in run.stop():  # so that the log has the answer up to now
            pass
        raise


def _shown(*, json: bool, quiet: bool) -> Callable[[Any], None]:
    """Return the function that shows the events of the run."""
    if json or quiet:
        return _print_event if json else _complain_of
    from rich.console import Console

    from .chat.view import View

    view = View(Console(stderr=True, highlight=False))
    view.begin()

    def show(item: Any) -> None:
        if not _is_answer(item):
            view.happened(item)

    return show


def _is_answer(item: Any) -> bool:
    return is_event(item) and item["type"] == "respond"


def _print_event(item: Any) -> None:
    if is_event(item):
        print(json_.dumps(item), flush=True)
    _complain_of(item)


def _complain_of(item: Any) -> None:
    if isinstance(item, Warned):
        complain(item.text)


def _as_json(result: RunResult[str]) -> dict[str, Any]:
    stop = result.stop
    return {
        "type": "run",
        "status": result.status,
        "output": result.text,
        "stop": None if stop is None else {"reason": str(stop.reason), "message": stop.message},
        "usage": asdict(result.usage) | {"total_tokens": result.usage.total_tokens},
        "steps": len(result.steps),
        "waiting": [
            {"id": call.id, "name": call.name, "args": call.args} for call in result.waiting
        ],
        "conversation_id": result.conversation_id,
    }


def _exit(result: RunResult[str], db: Path | None) -> None:
    """End with the exit code for the result."""
    if result.status == "completed":
        return
    if result.status == "waiting":
        calls = ", ".join(signature(call.name, call.args) for call in result.waiting)
        later = (
            f"`cogency-rs chat --db {quoted(db)} --resume {result.conversation_id}` asks"
            if db is not None
            else "with --db FILE, `cogency-rs chat --resume` can ask later"
        )
        complain(f"not run without approval: {calls}; --yes runs such calls, and {later}")
    else:
        complain(f"stopped: {result.stop.message if result.stop else result.status}")
    sys.exit(STOPPED)
