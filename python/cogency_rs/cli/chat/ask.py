"""`cogency-rs ask`: one question, one answer; for scripts."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..answer import Answer
from ..exits import (
    FAILED,
    NOT_WHOLE,
    TerminatedError,
    UnusableError,
    complain,
    complaints,
    terminable,
)
from ..text import decoded, signature
from .events import Warned, is_event
from .options import (
    AgentOptions,
    BaseUrl,
    Db,
    DialectName,
    Files,
    Gguf,
    Instructions,
    Mcp,
    ModelFrom,
    ModelName,
    Native,
    ProviderName,
    StepLimit,
    Tools,
    User,
    Yes,
)

if TYPE_CHECKING:
    from ...runs.result import RunResult
    from .background import Watched
    from .view import View

__all__ = ["ask"]


def ask(
    question: Annotated[
        list[str],
        typer.Argument(
            metavar="QUESTION...",
            parser=decoded,
            help="What to ask; - reads standard input.",
        ),
    ],
    model: ModelName = None,
    base_url: BaseUrl = None,
    gguf: Gguf = None,
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
            parser=decoded,
            help="Go on with this conversation of the log, or begin it.",
        ),
    ] = None,
    user: User = "",
    yes: Yes = False,
    instructions: Instructions = "",
    steps: StepLimit = 20,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print each event as a line of JSON; the last is the result."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not show calls.")] = False,
) -> None:
    """Ask a model that can use tools, and print its answer while it arrives.

    The answer goes to standard output, and the calls that ran to standard error. An incomplete answer
    is printed as far as it goes, and the exit code is not 0.
    """
    if conversation is not None and db is None:
        raise UnusableError("--conversation names one of a log; name that with --db FILE")
    options = AgentOptions(
        model=model,
        base_url=base_url,
        gguf=gguf,
        provider=provider,
        model_from=model_from,
        dialect=dialect,
        native=native,
        tools=tuple(tools or ()),
        mcp=mcp,
        files=files,
        db=db,
        user=user,
        yes=yes,
        instructions=instructions,
        steps=steps,
    )
    with terminable():
        result = _answered(options, _text_of(question), conversation, json=json, quiet=quiet)
    if json:
        print(json_.dumps(_as_json(result)), flush=True)
    _exit(result, options)


def _text_of(words: Iterable[str]) -> str:
    """The question, with standard input in place of a `-`."""
    parts: list[str] = []
    for word in words:
        if word == "-":
            if sys.stdin is None:
                raise UnusableError("standard input is closed; give the text in place of -")
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
    """The result of the run, whose answer is on standard output by then."""
    from ...errors import CogencyError
    from .assembly import assembled
    from .background import Background, Watched

    background = Background()
    with complaints(background.warn), background:
        assembly = background.enter(assembled(options))
        agent = assembly.agent(hooks=[background.watch])
        # A program is given the answer alone; a person may read what the model writes before its calls, too.
        answer = Answer(holds=bool(assembly.tools) and not sys.stdout.isatty())
        run = Watched(
            background,
            lambda: agent.run(text, conversation_id=conversation, user_id=options.user),
            "event" if json else "token",
        )
        try:
            if json:
                _watch(run, _print_event)
                return run.result()
            with _showing(answer, quiet=quiet) as show:
                _watch(run, show)
            result = run.result()
            answer.finish(result.text if answer.holds or _is_from_a_tool(result) else None)
            return result
        except BaseException as error:
            answer.finish()
            if isinstance(error, CogencyError | OSError) or not isinstance(error, Exception):
                raise
            # The caller's own model may raise anything.
            complain(f"{type(error).__name__}: {error}")
            sys.exit(FAILED)


def _watch(run: Watched, show: Callable[[Any], None]) -> None:
    """Show a run. If the program must end, the run is stopped, and the log has the answer up to now."""
    try:
        for item in run:
            show(item)
    except BaseException as left:
        is_asked = isinstance(left, KeyboardInterrupt | TerminatedError)
        for item in run.stop():
            if is_asked:
                show(item)
        raise


def _is_from_a_tool(result: RunResult[str]) -> bool:
    """Whether the answer is the result of a tool that ended the run."""
    return result.has_output and result.steps[-1].kind == "tool_execution"


@contextmanager
def _showing(answer: Answer, *, quiet: bool) -> Generator[Callable[[Any], None], None, None]:
    """Enter a context with the function that shows the events of a run."""
    if quiet:
        yield partial(_show, answer, None)
        return
    from ..screen import Screen
    from .view import View

    with View(Screen(stderr=True)) as view:
        view.begin()
        yield partial(_show, answer, view)


def _show(answer: Answer, view: View | None, item: Any) -> None:
    """Show an event: text as the answer, anything else on standard error."""
    kind = item["type"] if is_event(item) else ""
    if kind == "respond":
        if view is not None:
            view.pause()
        answer.take(item["content"])
        return
    if kind in ("call", "execute"):
        answer.calls_follow()
    if item is not None and kind != "metric" and sys.stdout.isatty() and sys.stderr.isatty():
        answer.break_line()
    if view is not None:
        view.happened(item)
    else:
        _complain_of(item)


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


def _exit(result: RunResult[str], options: AgentOptions) -> None:
    """End with the exit code for the result."""
    if result.status == "completed":
        return
    if result.status == "waiting":
        calls = ", ".join(signature(call.name, call.args) for call in result.waiting)
        later = (
            f"`cogency-rs chat {options.resuming(result.conversation_id)}` asks"
            if options.db is not None
            else "with --db FILE, `cogency-rs chat --resume` can ask later"
        )
        complain(f"not run without approval: {calls}; --yes runs such calls, and {later}")
    else:
        complain(f"stopped: {result.stop.message if result.stop else result.status}")
    sys.exit(FAILED if result.status == "failed" else NOT_WHOLE)
