"""A connection to one MCP server, in its own task.

The SDK's client must be entered and left in one task, so a task here does both and nothing else; calls are made in the
tasks of their callers. Whichever of them ends first, the other learns of it: a connection that is over says so, and
what waits for an answer gets an error.

This is the only module that knows the SDK's client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    CallToolResult,
    Implementation,
    Tool,
    ToolListChangedNotification,
)

from .._core import __version__
from ..errors import ConfigError, ToolError, UnknownOutcome
from .places import ErrorOutput, Place, ServerAddress, one_line
from .tool import EXECUTION_ID, OnProgress

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = ["ServerConnection"]

logger: logging.Logger = logging.getLogger(__name__)

MODES = ("auto", "legacy")
"""The protocol that the SDK tries first: some servers quit when asked for the newer one."""

LISTEN_AGAIN = 5.0
"""Seconds until a lost subscription is requested again."""

MOST_PAGES = 1000
"""Pages of a list of tools that are read, at most."""


class ServerConnection:
    """A connection, from its start in the background to its end.

    Args:
        name: of the server, for logs and errors.
        place: where the server is.
        start_timeout: seconds that the server may take for its first answer.

    Attributes:
        is_over: whether the connection has ended, so that nothing more can be asked.
        tools_may_have_changed: whether the list of tools must be read again.
        loop: the event loop that it runs on.
        task: the connection's own; when that task is done, everything is closed.
    """

    def __init__(self, name: str, place: Place, start_timeout: float) -> None:
        self.is_over = False
        self.tools_may_have_changed = True
        self._name, self._place = name, place
        self._errors = ErrorOutput(name, place.secrets)
        self._end = asyncio.Event()
        self._start_timeout = start_timeout
        loop = asyncio.get_running_loop()
        self._started: asyncio.Future[Client] = loop.create_future()
        self.loop = loop
        self.task = loop.create_task(self._run(), name=f"MCP server {name}")
        self.task.add_done_callback(self._over)

    async def started(self) -> Client:
        """Wait until the server has answered.

        Raises:
            ConfigError: it cannot be started; the message says why, and what to do.
        """
        return await asyncio.shield(self._started)  # others may wait for it too

    async def instructions(self) -> str:
        """The server's instructions on how to use it; empty if it gives none."""
        return (await self.started()).instructions or ""

    async def list_tools(self) -> list[Tool]:
        """All tools of the server, in its order.

        Raises:
            ToolError: it did not answer, or not with a list.
        """
        client = await self.started()
        self.tools_may_have_changed = False  # a change from here on is seen the next time
        tools: list[Tool] = []
        cursor: str | None = None
        try:
            for _ in range(MOST_PAGES):
                page = await client.list_tools(cursor=cursor, cache_mode="refresh")
                tools += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    break
        except Exception as error:
            self.tools_may_have_changed = True
            words = f"did not list its tools: {self._words_of(error)}"
            failed = ToolError(f"server {self._name!r} {words}", cause=self._clean(error))
        else:
            return tools
        raise failed from failed.cause  # out of its block, so that its context is not the error with its secrets

    async def call_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        on_progress: OnProgress | None,
        execution_id: str | None,
    ) -> CallToolResult:
        """Call a tool. If it is cancelled, the server is notified.

        Raises:
            UnknownOutcome: the server ended first.
            ToolError: the server refused the call, or its answer is not a result.
        """
        client = await self.started()
        try:
            meta: Any = None if execution_id is None else {EXECUTION_ID: execution_id}
            return await client.call_tool(name, {**args}, progress_callback=on_progress, meta=meta)
        except MCPError as error:
            failed = await self._refused(error, name)
        except (RuntimeError, ValueError) as error:  # the SDK's, if the answer is not a result
            failed = ToolError(
                f"what server {self._name!r} answered to '{name}' cannot be used: {self._words_of(error)}",
                cause=self._clean(error),
            )
        raise failed from failed.cause

    async def _refused(self, error: MCPError, name: str) -> ToolError:
        if error.code == CONNECTION_CLOSED:
            return UnknownOutcome(
                f"server {self._name!r} ended before it answered '{name}', "
                f"so whether the call had an effect is not known{await self._last_words()}",
                cause=self._clean(error),
            )
        if error.code == INVALID_REQUEST and isinstance(self._place, ServerAddress):
            self.is_over = (
                True  # the server may have lost the session, so the next call gets a new one
            )
        words = f"server {self._name!r} refused '{name}': {self._words_of(error)}"
        return ToolError(words, cause=self._clean(error))

    def _words_of(self, error: BaseException) -> str:
        return one_line(error, self._place.secrets)

    def _clean(self, error: Exception) -> Exception:
        return self._place.secrets.clean(error)

    async def _last_words(self) -> str:
        """What the program wrote last on its standard error, as the end of a sentence."""
        output = await asyncio.to_thread(self._errors.last)
        return f"; its last output: {output}" if output else ""

    def end(self) -> None:
        """Begin to close the connection, from any task. A program gets a few seconds to end on its own."""
        self._end.set()
        if not self._started.done():
            # Cancelled once. A scope of anyio would cancel again while asyncio stops a program that has just been
            # started.
            self.task.cancel()

    # What follows runs in the connection's own task.

    async def _run(self) -> None:
        limit = asyncio.timeout(self._start_timeout)
        try:
            async with limit:
                await self._hold(limit)
        except Exception as error:
            late = TimeoutError(f"{self._start_timeout:g} s")
            await self._say(late if limit.expired() else _innermost(error))

    def _over(self, _: object) -> None:
        self._ended()
        if not self._started.done():
            self._started.set_exception(ConfigError(f"server {self._name!r} was closed"))
        self._started.exception()  # perhaps nobody waits for it

    async def _hold(self, limit: asyncio.Timeout) -> None:
        """Connect, and stay connected until either side ends it."""
        for mode in MODES:
            try:
                async with self._client(mode) as client:
                    limit.reschedule(None)
                    self._started.set_result(client)
                    async with anyio.create_task_group() as group:
                        group.start_soon(self._listen, client)
                        await self._end.wait()
                        group.cancel_scope.cancel()
                return
            except Exception as error:
                is_last = mode == MODES[-1] or self._started.done() or self._end.is_set()
                if is_last or getattr(_innermost(error), "code", None) != CONNECTION_CLOSED:
                    raise

    def _client(self, mode: str) -> Client:
        return Client(
            self._transport(),
            mode=mode,
            message_handler=self._hear,
            client_info=Implementation(name="cogency-rs", version=__version__),
        )

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator[Any, None]:
        async with self._place.open(self._errors) as (reading, writing):
            yield _Watched(reading, self._lost), writing

    def _lost(self) -> None:
        """Note that the server sends nothing more."""
        if self._started.done():
            self._ended()

    def _ended(self) -> None:
        self.is_over = True
        self._end.set()

    async def _hear(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.tools_may_have_changed = True

    async def _listen(self, client: Client) -> None:
        """Follow changes of the list of tools, if the server announces them only on request."""
        capabilities = client.server_capabilities.tools
        if not (capabilities and capabilities.list_changed):
            return
        while True:
            with suppress(SubscriptionLost, TimeoutError):
                try:
                    async with client.listen(tools_list_changed=True) as changes:
                        self.tools_may_have_changed = True  # it may have changed before we listened
                        async for _ in changes:
                            self.tools_may_have_changed = True
                except ListenNotSupportedError:
                    return  # the older protocol: the server announces changes without being asked
                except MCPError as error:
                    logger.debug("server %r: %s", self._name, self._words_of(error))
            await anyio.sleep(LISTEN_AGAIN)

    async def _say(self, error: BaseException) -> None:
        """Report why there is no connection: to those who wait for its start, or to the log if it broke later."""
        if self._started.done():
            words = f"{self._words_of(error)}{await self._last_words()}"
            logger.warning("server %r ended: %s", self._name, words)
            return
        last = await self._last_words()
        if not last and getattr(error, "code", None) == CONNECTION_CLOSED:
            last = "; run it by hand to see why"
        message = f"server {self._name!r} could not be started: {self._place.failure(error)}{last}"
        cause = self._clean(error) if isinstance(error, Exception) else None
        self._started.set_exception(ConfigError(message, cause=cause))


class _Watched:
    """A stream that reports its end before those who wait for an answer learn of it."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        return await self._stream.__anext__()

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        self._on_end()
        return await self._stream.__aexit__(*raised)


def _innermost(error: BaseException) -> BaseException:
    """The first error inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error
