"""The conversations of `web_agent.py`: one run at a time in each, and any number of pages that watch it.

A page that begins to watch gets the conversation so far, `log`, and then what happens: `begin` when a run begins, the
events of the run, and `over` when it is over. A page that has missed something gets the whole conversation again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress
from time import monotonic
from typing import Any
from weakref import WeakValueDictionary

from cogency_rs import Agent, ToolResult
from cogency_rs.agent import RunHandle
from cogency_rs.errors import OwnerError
from cogency_rs.hooks import Invocation, Next
from cogency_rs.protocol import format_results_array

logger = logging.getLogger(__name__)

Message = dict[str, Any]

MOST_BEHIND = 10_000
"""How many messages may wait for one page. With more, the page is disconnected, and gets all when it is back."""


class Busy(Exception):  # noqa: N818
    """The conversation already has a run."""


async def progress(invocation: Invocation, next: Next) -> ToolResult:
    """Emits an event when a call begins, and one when it ends, before the whole batch is over; for `hooks=`."""
    emit, index, began = invocation.context.emit, invocation.index, monotonic()
    emit({"type": "started", "index": index})
    result = await next(invocation)
    with suppress(TypeError, ValueError):  # not JSON; the results of the batch will say so
        [item] = json.loads(format_results_array([invocation.call], [result]))
        emit({"type": "finished", "index": index, "seconds": monotonic() - began, "result": item})
    return result


class Conversation:
    """One conversation of one user.

    Args:
        id: its id.
        user: its owner; never empty, which would mean everybody.
        agent: the agent that answers; its storage is a `Log`.
        running: the set of conversations with a run.
    """

    def __init__(
        self, id: str, user: str, agent: Agent[Any, str], running: set[Conversation]
    ) -> None:
        self._id = id
        self._user = user
        self._agent = agent
        self._running = running
        self._turn = asyncio.Lock()  # held to read the log, and to begin or end a run
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._log: Message = {}  # the conversation before the run
        self._events: list[Message] = []  # the events of the run
        self._pages: set[asyncio.Queue[Message | None]] = set()

    async def ask(self, text: str) -> None:
        """Begin a run with a question.

        Raises:
            Busy: a run goes on.
        """
        await self._begin(self._agent.run(text, conversation_id=self._id, user_id=self._user))

    async def resume(self, decisions: dict[str, bool]) -> None:
        """Continue where the last run stopped, with decisions about its calls.

        Raises:
            Busy: a run goes on.
        """
        await self._begin(self._agent.resume(self._id, decisions, user_id=self._user))

    async def settle(self, call: str, result: Any) -> None:
        """Say what became of a call whose outcome is unknown: its result, or `NotHappened()`. Pages that watch show it.

        Raises:
            Busy: a run goes on.
            ConfigError: the outcome of the call is not unknown.
        """
        async with self._turn:
            if self._task is not None:
                raise Busy("this conversation has a run: stop it, or wait for its end")
            await self._agent.settle(self._id, call, result, user_id=self._user)
            self._tell(await self._read())

    async def stop(self) -> None:
        """Stop the run, if there is one. Its calls have their results when this returns."""
        task = self._task
        if task is not None:
            if not self._is_stopped:  # a second cancellation would disturb the first one
                self._is_stopped = True
                task.cancel()
            await asyncio.wait([task])

    async def delete(self) -> None:
        """Stop the run, if there is one, and remove the conversation. Pages that watch it show an empty one."""
        await self.stop()
        async with self._turn:
            await self._agent.storage.delete_conversation(self._id, self._user)
            self._tell(await self._read())

    async def watch(self) -> AsyncGenerator[str, None]:
        """The messages for a page, as server-sent events."""
        page: asyncio.Queue[Message | None] = asyncio.Queue(MOST_BEHIND)
        async with self._turn:
            log = await self._read() if self._task is None else self._log
            now = [log, *([{"type": "begin"}, *self._events] if self._task else [])]
            self._pages.add(page)
        try:
            yield "retry: 1000\n\n"
            for message in now:
                yield server_sent(message)
            while (message := await page.get()) is not None:
                yield server_sent(message)
        finally:
            self._pages.discard(page)

    async def _begin(self, run: RunHandle[str]) -> None:
        async with self._turn:
            if self._task is not None:
                run.close()  # it never begins
                raise Busy("this conversation has a run already: stop it, or wait for its end")
            self._log, self._events, self._is_stopped = await self._read(), [], False
            self._running.add(self)
            self._task = asyncio.create_task(self._carry_out(run))
            self._tell({"type": "begin"})

    async def _carry_out(self, run: RunHandle[str]) -> None:
        try:
            async with run:
                async for event in run.events(calls="stream"):
                    self._events.append(event)
                    self._tell(event)
        except Exception as error:
            logger.exception("A run of conversation %s failed", self._id)
            reason = f"{type(error).__name__}: {error}"
            self._tell({"type": "error", "kind": "failed", "content": reason})
        finally:
            async with self._turn:
                self._task = None
                self._running.discard(self)
                self._tell({"type": "over", "stopped": self._is_stopped, **await self._state()})

    def _tell(self, message: Message) -> None:
        for page in list(self._pages):
            try:
                page.put_nowait(message)
            except asyncio.QueueFull:
                self._pages.discard(page)
                with suppress(asyncio.QueueEmpty):
                    while True:
                        page.get_nowait()
                page.put_nowait(None)

    async def _read(self) -> Message:
        """The conversation, as it is in the log."""
        page = await self._agent.storage.read(self._id, user_id=self._user)
        return {"type": "log", "rows": page.rows, **await self._state()}

    async def _state(self) -> Message:
        """The state of its calls, in the order of their rows: which of them need approval, and which are unknown."""
        # A record has its tool's one name, however the model wrote it.
        free = {
            tool.name
            for tool in self._agent.tools
            if not getattr(getattr(tool, "options", None), "requires_approval", False)
        }
        calls = [
            {
                "id": record.id,
                "status": record.status,
                "asks": record.status == "waiting" and record.name not in free,
                "unsettled": record.status in ("open", "unknown"),
                "decided": record.decision and json.loads(record.decision)["approved"],
                "seconds": record.seconds,
            }
            for record in await self._agent.storage.calls(self._id, user_id=self._user)
            if record.status != "early" and not record.is_dropped  # others have no row
        ]
        return {"calls": calls}


class Conversations:
    """The conversations of all users, each as long as it has a run or a page that watches it."""

    def __init__(self, agent: Agent[Any, str]) -> None:
        self._agent = agent
        self._running: set[Conversation] = set()
        self._known: WeakValueDictionary[tuple[str, str], Conversation] = WeakValueDictionary()

    async def of(self, user: str, id: str) -> Conversation:
        """A conversation of a user: one that they began, or one that nobody has begun.

        If two users begin one at the same time, the run of the second fails with an `OwnerError`, and each has seen
        only what is theirs.

        Raises:
            OwnerError: it is another user's.
        """
        if await self._agent.storage.owner(id) not in (None, user):
            message = f"conversation {id!r} is another user's"
            raise OwnerError(message, conversation_id=id, user_id=user)
        new = Conversation(id, user, self._agent, self._running)
        return self._known.setdefault((user, id), new)

    async def stop(self) -> None:
        """Stop every run."""
        await asyncio.gather(*[conversation.stop() for conversation in [*self._running]])


def server_sent(message: Message) -> str:
    return f"data: {json.dumps(message)}\n\n"
