"""The conversation: reads a question, shows the answer and asks about calls, until the person leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from time import monotonic
from typing import Any, TypeVar

from ...agent import RunHandle
from ...agent.agent import Agent
from ...agent.conversations import PendingCall
from ...agent.stored_state import StoredState
from ...errors import CallChangedError, CogencyError
from ...hooks import Decision, ToolApproved
from ...models import Usage
from ...outside import uuid7
from ...runs.result import RunResult
from ...tools.toolbox import Toolbox
from ..exits import UnusableError, words_of
from ..text import count, one_line, signature
from ..turns import LoggedTurn, turns_of
from .approvals import Approvals
from .assembly import Assembly
from .background import Background, Watched
from .keyboard import Keyboard
from .view import View

__all__ = ["ChatSession"]

T = TypeVar("T")

Command = Callable[["ChatSession", str], None]

_LEFT = {
    "cancelled": "the last answer was stopped",
    "error": "the last answer failed",
    "result": "the last calls have results that the model has not seen",
}
"""What is unfinished about a conversation, by the type of its last row."""

_OFFERED = "Go on with it? y, n, or another question:"


class ChatSession:
    """A conversation.

    Args:
        assembly: the parts of the agent.
        background: the event loop on which the agent runs.
        keyboard: reads the questions.
        view: shows the answers.
        conversation_id: the conversation to go on with; a new one by default.
        commands: the commands that may be typed in place of a question, by name.

    Attributes:
        agent: answers the questions.
        conversation_id: the conversation's id.
        assembly: see above; likewise `view` and `commands`.
    """

    def __init__(
        self,
        assembly: Assembly,
        background: Background,
        keyboard: Keyboard,
        view: View,
        *,
        conversation_id: str | None = None,
        commands: Mapping[str, Command],
    ) -> None:
        self.assembly = assembly
        self.view = view
        self.commands = commands
        self.conversation_id = conversation_id or uuid7()
        self._background = background
        self._keyboard = keyboard
        self._approvals = Approvals(keyboard, view, background)
        self._is_over = False
        background.watch.shown = frozenset[str]()
        self.agent: Agent[Any, str]
        self.use(assembly)

    def use(self, assembly: Assembly) -> None:
        """Go on with an agent that is made of other parts."""
        self.assembly = assembly
        self.agent = assembly.agent(hooks=[self._background.watch])

    def _list_tools(self) -> None:
        """Go on with the tools that servers offer now: what is agreed to is what will run."""
        assembly = self._background.run(self.assembly.listed())
        if assembly is not self.assembly:
            self.use(assembly)

    def entered(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter a context, which is left when the conversation is over."""
        return self._background.enter(manager)

    def talk(self) -> None:
        """Read and answer until the input ends. Ctrl-C pressed twice at the prompt leaves, too."""
        interrupted = False
        while not self._is_over:
            try:
                question = self._keyboard.question()
            except KeyboardInterrupt:
                self.view.page.line()
                if interrupted:
                    return
                interrupted = True
                self.view.page.line("  Ctrl-C again, or /quit, leaves")
                continue
            if question is None:
                return
            interrupted = False
            with suppress(KeyboardInterrupt):
                self._take(question)

    def _take(self, line: str) -> None:
        if line.startswith("/"):
            self._command(line)
        elif line:
            self.ask(line)

    @property
    def user(self) -> str:
        """Whose conversation it is; may be empty."""
        return self.assembly.options.user

    @property
    def is_logged(self) -> bool:
        """Whether the log has anything of the conversation."""
        return self.assembly.db.exists() and self.user == self._background.run(
            self.agent.storage.owner(self.conversation_id)
        )

    def turns(self) -> Sequence[LoggedTurn]:
        """The turns of the conversation in the log, oldest first."""
        return turns_of(self._background.run(self.assembly.rows(self.conversation_id)))

    def leave(self) -> None:
        """End the conversation after the current line."""
        self._is_over = True

    def ask(self, question: str) -> None:
        """Answer a question.

        Raises:
            KeyboardInterrupt: Ctrl-C; the answer was stopped, and what it left is settled in the log.
        """
        self._answer(
            lambda: self.agent.run(
                question, conversation_id=self.conversation_id, user_id=self.user
            )
        )

    def go_on(self) -> bool:
        """Go on where the conversation was interrupted: with calls that wait, or with a question that has no answer.

        Returns:
            Whether there was anything to go on with.
        """
        if self._unfinished() is None:
            return False
        self._answer(lambda: self.agent.resume(self.conversation_id, user_id=self.user))
        return True

    def unknown(self) -> list[PendingCall]:
        """The calls of the conversation whose outcome is unknown."""
        pending = self._background.run(self.agent.pending(self.user))
        return [
            call
            for call in pending
            if (call.conversation_id, call.user_id, call.needs)
            == (self.conversation_id, self.user, "settling")
        ]

    def settle(self, call: PendingCall, result: object) -> None:
        """Note in the log what the person found out about a call."""
        self._background.run(
            self.agent.settle(self.conversation_id, call.id, result, user_id=self.user)
        )

    def offer_to_go_on(self) -> None:
        """Say what is unfinished, if anything is, and go on with it if the person wants that."""
        state = self._unfinished()
        if state is None:
            return
        for line in _left(state):
            self.view.note(line)
        answer = ""
        while not answer:
            given = self._keyboard.offered(_OFFERED)
            answer = "n" if given is None else given.strip()
        match answer.lower():
            case "y" | "yes":
                self.go_on()
            case "n" | "no":
                self.view.note(
                    "not resumed; /resume continues it, and a new question goes on without it"
                )
            case _:
                self._take(answer)

    def _unfinished(self) -> StoredState | None:
        """The state of the conversation in the log; `None` if its last question is answered, or there is none."""
        state = self._background.run(
            StoredState.read(self.agent.storage, self.conversation_id, self.user)
        )
        return None if state.last is None or state.is_over else state

    # An answer

    def _answer(self, start: Callable[[], RunHandle[str]]) -> None:
        """Show an answer to its end; whatever goes wrong, the conversation goes on."""
        began, usage, steps, is_resumed = monotonic(), Usage(), 0, False
        try:
            with self.view:
                self.view.begin()
                self._list_tools()
                result: RunResult[str] | None = None
                while True:
                    try:
                        result = self._watched(start)
                    except CallChangedError as error:
                        if result is None:
                            raise
                        # Its calls still wait, and are shown as they are now.
                        self.view.error(words_of(error))
                    else:
                        if result is None:
                            return
                        usage += result.usage
                        # Calls that waited count as a step, too.
                        steps += len(result.steps) - is_resumed
                        is_resumed = True
                        if result.status != "waiting":
                            break
                    decisions = self._decided(result)
                    if decisions is None:
                        return
                    start = self._resumed(decisions)
                    self.view.asked()
                self.view.end(result, usage, steps, monotonic() - began)
                if unknown := _unknown_in(result):
                    self.view.note(f"{count(unknown, 'call')} may have happened: /settle", "yellow")
        except CogencyError as error:
            self.view.error(words_of(error))
        except Exception as error:  # the user's own model or tool may raise anything
            self.view.error(one_line(f"{type(error).__name__}: {error}"))

    def _watched(self, start: Callable[[], RunHandle[str]]) -> RunResult[str] | None:
        """Show a run; `None` if it was stopped from elsewhere."""
        run = Watched(self._background, start, calls="stream")
        try:
            for item in run:
                self.view.happened(item)
        except KeyboardInterrupt:
            self.view.stopping()
            for item in run.stop():
                self.view.happened(item)
            self.view.note("stopped", "yellow")
            raise
        try:
            return run.result()
        except asyncio.CancelledError:
            self.view.note("stopped", "yellow")
            return None

    def _decided(self, result: RunResult[str]) -> Mapping[str, Decision] | None:
        self._list_tools()
        tools = Toolbox.of(self.agent.tools)
        decisions = None
        try:
            decisions = self._approvals.decide([*map(tools.resolve, result.waiting)])
        finally:
            if decisions is None:
                self.view.note(
                    "not run; /resume asks again, and a new question goes on without them", "yellow"
                )
        return decisions

    def _resumed(self, decisions: Mapping[str, Decision]) -> Callable[[], RunHandle[str]]:
        approved = {
            id: decision for id, decision in decisions.items() if isinstance(decision, ToolApproved)
        }
        watch = self._background.watch
        watch.edited = {id: each.args for id, each in approved.items() if each.args is not None}
        watch.shown = {id for id, each in approved.items() if each.preview is not None}
        return lambda: self.agent.resume(self.conversation_id, decisions, user_id=self.user)

    # Commands

    def _command(self, line: str) -> None:
        name, _, rest = line[1:].partition(" ")
        command = self.commands.get(name)
        if command is None:
            known = ", ".join(f"/{known}" for known in self.commands)
            self.view.error(f"there is no /{name}; there are {known}")
            return
        try:
            command(self, rest.strip())
        except (UnusableError, CogencyError, OSError) as error:
            self.view.error(str(error))


def _unknown_in(result: RunResult[str]) -> int:
    """Of how many calls of a run it is not known whether they happened."""
    return sum(each.status == "unknown" for step in result.steps for each in step.executions)


def _left(state: StoredState) -> list[str]:
    """What is unfinished about a conversation, in lines."""
    if state.batch is None:
        return [_LEFT.get(state.last or "", "the last question has no answer yet")]
    return [
        f"{_OPEN.get(record.status, 'has not run yet')}: {signature(call.name, call.args)}"
        for call, record in zip(state.batch.calls, state.batch.records, strict=True)
    ]


_OPEN = {
    "waiting": "waits for approval",
    "open": "began, and may have run (use /settle to say what happened)",
    "ended": "has a result",
}
