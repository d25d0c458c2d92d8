"""A chat from its beginning to its end: the header, the conversation, and how to go on with it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from ...guards.secrets import shown_url
from ...storage.log import not_the_owner
from .. import log
from ..exits import UnusableError, complain, complaints, terminable, terminal_restored
from ..show import ConversationPrinter
from ..text import count, one_line, quoted
from .assembly import Assembly, assembled
from .background import Background
from .commands import COMMANDS
from .kept import Kept
from .keyboard import keyboard
from .options import AgentOptions
from .session import ChatSession
from .view import View

__all__ = ["run_chat"]


def run_chat(
    options: AgentOptions,
    kept: Kept,
    resumed: Path | None,
    conversation: str | None,
    *,
    unfolds: bool,
) -> None:
    """Hold a conversation.

    Args:
        options: the options of the agent.
        kept: what is kept, and where.
        resumed: the log whose conversation goes on.
        conversation: its id; by default the last conversation.
        unfolds: whether thoughts are shown.

    Raises:
        UnusableError: something that was named does not exist, or cannot be used.
        OwnerError: the conversation that was named is another user's.
    """
    user = options.user
    conversation_id = None if resumed is None else _conversation_of(resumed, conversation, user)
    is_first = kept.is_own and kept.log is not None and not kept.log.exists()
    view = View(unfolds=unfolds)
    background = Background()
    with terminal_restored(), terminable(), complaints(background.warn), background:
        assembly = background.enter(assembled(options, complain))
        session = ChatSession(
            assembly,
            background,
            keyboard(view.page, kept.typed),
            view,
            conversation_id=conversation_id,
            commands=COMMANDS,
        )
        _header(view, assembly)
        if is_first:
            view.note(f"conversations are kept in {kept.log}; --no-save keeps none")
        if resumed is not None:
            _show_last(view, session)
            with suppress(KeyboardInterrupt):
                session.offer_to_go_on()
        session.talk()
        _farewell(view, session, kept)


def _conversation_of(db: Path, conversation: str | None, user: str) -> str:
    """The id of the conversation that goes on."""
    listed = log.conversations(db)
    if not listed:
        raise UnusableError(
            f"{db} has no conversation; without --resume or --continue one is begun"
        )
    lists = f"`cogency-rs show {quoted(db)}` lists what there is"
    if conversation is None:
        own = [entry.conversation_id for entry in listed if entry.user_id == user]
        if not own:
            whose = f"of the user {quoted(user)}" if user else "without a user"
            raise UnusableError(f"{db} has no conversation {whose}; {lists}, and --user says whose")
        return own[-1]
    users = [entry.user_id for entry in listed if entry.conversation_id == conversation]
    if not users:
        raise UnusableError(f"{db} has no conversation {quoted(conversation)}; {lists}")
    if user not in users:
        raise not_the_owner(conversation, user)
    return conversation


def _header(view: View, assembly: Assembly) -> None:
    options = assembly.options
    where = f" at {one_line(shown_url(options.base_url))}" if options.base_url else ""
    kept = "" if options.db else ", not kept"
    facts = (
        f"{one_line(assembly.model_name)}{where}, {count(len(assembly.tools), 'tool')}{kept}; /help"
    )
    view.page.hanging(Text.assemble(("cogency-rs chat", "bold"), "   "), facts, "dim")


def _show_last(view: View, session: ChatSession) -> None:
    """Show the last turn of a conversation that goes on."""
    turns = session.turns()
    ConversationPrinter(view.page).show(session.conversation_id, turns[-1:], of=len(turns))


def _farewell(view: View, session: ChatSession, kept: Kept) -> None:
    if kept.log is not None and session.is_logged:
        options = replace(session.assembly.options, db=None if kept.is_own else kept.log)
        view.page.line()
        view.page.line(Text(f"  goes on with: {options.resuming(session.conversation_id)}", "dim"))
