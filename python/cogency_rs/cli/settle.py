"""`cogency-rs settle`: what a person found out about calls whose outcome is unknown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from ..agent.conversations import PendingCall
from ..calls.tool_result import NotHappened
from ..errors import ConfigError
from ..runs.context import RunLimits
from . import logs
from .exits import UnusableError
from .output import say
from .page import Page
from .text import count, one_line, quoted, signature

__all__ = ["settle"]


def settle(
    db: Annotated[str, typer.Argument(metavar="DB", help=logs.DB)],
    conversation: Annotated[
        str | None,
        typer.Argument(metavar="CONVERSATION", help="Its id; by default, all are searched."),
    ] = None,
    call: Annotated[
        str | None,
        typer.Argument(metavar="CALL", help="The call's id; by default, all are listed."),
    ] = None,
    result: Annotated[
        str | None,
        typer.Argument(metavar="RESULT", help="It happened, and this is what the tool returned."),
    ] = None,
    not_happened: Annotated[
        bool, typer.Option("--not-happened", help="It did not happen.")
    ] = False,
) -> None:
    """Say what became of a call whose outcome is unknown, or list such calls.

    The model reads it in the next run. A call that did not happen runs then, unless the model has already read that
    its outcome is unknown.
    """
    if call is not None and (result is None) is not not_happened:
        raise UnusableError("say what became of the call: RESULT if it happened, or --not-happened")
    if call is None and not_happened:
        raise UnusableError("say which call did not happen: DB CONVERSATION CALL --not-happened")
    logs.conversations(db)  # raises if it is not a log
    try:
        found = asyncio.run(
            _settled(db, conversation, call, NotHappened() if not_happened else result)
        )
    except ConfigError as error:
        raise UnusableError(str(error)) from error
    if conversation is None or call is None:
        _list(db, found)
    else:
        say(one_line(f"{logs.named(db)}: noted; the next run of {quoted(conversation)} has it"))


async def _settled(
    db: str, conversation: str | None, call: str | None, outcome: Any
) -> list[PendingCall]:
    """Settle a call, if one is named; returns those that are left."""
    from ..agent.agent import Agent  # here, since most commands need no agent

    agent = Agent(_never_asked, storage=db, limits=RunLimits(on_busy="error"))
    try:
        if conversation is not None and call is not None:
            owner = await agent.storage.owner(conversation)
            await agent.settle(conversation, call, outcome, user_id=owner or "")
        return [
            each
            for each in await agent.pending()
            if each.needs == "settling" and conversation in (None, each.conversation_id)
        ]
    finally:
        await agent.storage.close()


def _never_asked(_messages: object) -> AsyncIterator[str]:
    """In place of a model: what is done here asks none."""
    raise ConfigError("this command has no model")


def _list(db: str, calls: Sequence[PendingCall]) -> None:
    page = Page()
    number = count(len(calls), "call")
    page.line([(f"{number} whose outcome is unknown in {one_line(logs.named(db))}", "bold")])
    for call in calls:
        began = (
            "" if call.started_at is None else f", started {call.started_at:%Y-%m-%d %H:%M:%S} UTC"
        )
        by = "" if call.worker is None else f" by process {one_line(call.worker)}"
        page.hanging(Text("  "), f"{signature(call.name, call.args or {})}{began}{by}")
        page.hanging(Text("    "), f"execution_id {one_line(call.execution_id)}")
        if call.why:
            page.hanging(Text("    "), one_line(call.why))
        page.line(f"    {logs.settling(db, call.conversation_id, call.id)}")
