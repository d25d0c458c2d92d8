"""A connection to one MCP server, in its own task.

The SDK's client must be entered and left in one task, so a task here does both and nothing else; calls are made in the
tasks of their callers. Whichever of them ends first, the other learns of it: a connection that is over says so, and
what waits for an answer gets an error.

This is the only module that knows the SDK's client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    PARSE_ERROR,
    Implementation,
    Tool,
)

from .._core import __version__
from ..errors import ConfigError, ToolError
from .answers import Answers, Reading, SentCall, Writing
from .places import ErrorOutput, Place, ServerAddress, one_line
from .tool import EXECUTION_ID, Answer, LostAnswer, OnProgress

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


logger: logging.Logger = logging.getLogger(__name__)

MODES = ("auto", "legacy")
"""The protocol that the SDK tries first: some servers quit when asked for the newer one."""

LISTEN_AGAIN = 5.0
"""Seconds until a lost subscription is requested again."""

_NO_WORDS = "Server returned an error response"
"""What the SDK says of a status without a message of the server's."""

_ANSWERS = frozenset({"content", "structuredContent", "isError"})
"""What makes an object the result of a call, whatever else is wrong with it."""

MOST_PAGES = 1000
"""Pages of a list of tools, at most."""

MOST_TOOLS = 2000
"""Tools of one server, at most."""

MOST_LIST_BYTES = 2**20
"""Bytes of a list of tools, at most."""


class ServerConnection:
    """A connection, from its start in the background to its end.

    Args:
        name: of the server, for logs and errors.
        place: where the server is.
        start_timeout: seconds that the server may take for its first answer, and for a list of its tools.

    Attributes:
        is_over: whether the connection has ended, so that nothing more can be asked.
        tools_may_have_changed: whether the list of tools must be read again.
        listing: held while the list of tools is read, so that however many want it, one request is open.
        lists: how often it was begun to be read.
        loop: the event loop that it runs on.
        task: the connection's own; when that task is done, everything is closed.
    """

    def __init__(self, name: str, place: Place, start_timeout: float) -> None:
        self.is_over = False
        self.tools_may_have_changed = True
        self.listing = asyncio.Lock()
        self.lists = 0
        self._name, self._place = name, place
        self._errors = ErrorOutput(name, place.secrets)
        self._answers = Answers(name, on_change=self._changed)
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
            ToolError: it did not answer, or not with a list; or its list takes too long, or is too long. Then the
                server is ended, and who needs it next starts it again.
        """
        client = await self.started()
        self.lists += 1
        self.tools_may_have_changed = False  # a change from here on is seen the next time
        limit = asyncio.timeout(self._start_timeout)
        try:
            async with limit:
                return await self._pages(client)
        except TimeoutError as error:
            words = f"did not list its tools within {self._start_timeout:g} s"
            failed = ToolError(f"server {self._name!r} {words}", timeout=True, cause=error)
            if limit.expired():
                self._answers.broken = words
        except _TooMuchError as error:
            failed = ToolError(f"server {self._name!r} lists {error}, so none of them is used")
            self._answers.broken = str(failed)
        except Exception as error:
            why = self._answers.broken or self._words_of(error)
            words = f"did not list its tools: {why}"
            failed = ToolError(f"server {self._name!r} {words}", cause=self._clean(error))
        self.tools_may_have_changed = True
        if self._answers.broken:
            self._ended()
        raise failed from failed.cause  # out of its block, so that its context is not the error with its secrets

    async def _pages(self, client: Client) -> list[Tool]:
        """The tools of all pages."""
        tools: list[Tool] = []
        cursor: str | None = None
        size = 0
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            tools += page.tools
            size += len(page.model_dump_json(by_alias=True, exclude_unset=True))
            if len(tools) > MOST_TOOLS:
                raise _TooMuchError(f"more than {MOST_TOOLS:,} tools")
            if size > MOST_LIST_BYTES:
                raise _TooMuchError(f"more than {MOST_LIST_BYTES // 2**20} MiB of tools")
            cursor = page.next_cursor
            if cursor is None:
                return tools
        raise _TooMuchError(f"its tools on more than {MOST_PAGES:,} pages")

    async def call_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        on_progress: OnProgress | None,
        execution_id: str | None,
        seconds: float | None,
    ) -> Answer:
        """Call a tool. If it is cancelled or runs out of time, the server is notified.

        Args:
            name: of the tool.
            args: the arguments.
            on_progress: called with the progress of the call.
            execution_id: identifies the call.
            seconds: how long the server may take, from its last report of progress on; `None` for no limit.

        Raises:
            LostAnswer: the server may have begun with the call, and there is no answer, or none that can be read.
            ToolError: the server was not reached, or refused the call.
        """
        client = await self.started()
        call = SentCall()
        clock = asyncio.timeout(seconds)
        is_over = False

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            if seconds is not None and not (is_over or clock.expired()):
                clock.reschedule(self.loop.time() + seconds)
            if on_progress is not None:
                await on_progress(progress, total, message)

        meta: Any = None if execution_id is None else {EXECUTION_ID: execution_id}
        try:
            with self._answers.of(call):
                async with clock:
                    result = await client.call_tool(
                        name, {**args}, progress_callback=progressed, meta=meta
                    )
            if call.answer is not None:
                return Answer(call.answer, self._answers.unkept(name, call.answer))
            return Answer(result.model_dump(by_alias=True, mode="json", exclude_unset=True))
        except TimeoutError as error:
            if not clock.expired():
                raise
            failed = self._late(call, name, seconds or 0.0, error)
        except MCPError as error:
            failed = await self._unanswered(error, call, name)
        except (RuntimeError, ValueError) as error:  # the SDK's, if the answer is not as it expects
            if call.answer is not None and not _ANSWERS.isdisjoint(call.answer):
                is_of_schema = isinstance(error, RuntimeError)
                why = self._words_of(error) if is_of_schema else "a part of it is not as MCP says"
                return Answer(call.answer, why)
            failed = LostAnswer(
                f"what server {self._name!r} answered to '{name}' cannot be used: {self._words_of(error)}",
                cause=self._clean(error),
            )
        finally:
            is_over = True
        raise failed from failed.cause

    def _late(self, call: SentCall, name: str, seconds: float, error: TimeoutError) -> ToolError:
        what = f"Tool '{name}' timed out after {seconds:g} s"
        if call.id is None:
            return ToolError(f"{what}, before it was called", timeout=True, cause=error)
        return LostAnswer(what, timeout=True, cause=error)

    async def _unanswered(self, error: MCPError, call: SentCall, name: str) -> ToolError:
        """The error for a call to which the server, the network or the SDK said no."""
        cause, fate, server = self._clean(error), call.fate, f"server {self._name!r}"
        is_remote = isinstance(self._place, ServerAddress)
        if is_remote and (error.code == INVALID_REQUEST or (fate is not None and fate.is_broken)):
            # The server may have lost the session, so the next call gets a new one.
            self.is_over = True
        said = self._words_of(error)
        if fate is not None:
            why = self._place.secrets.hide(fate.why)
            known = why if said in (why, _NO_WORDS) or said in why else f"{why}: {said}"
            if fate.arrived:
                return LostAnswer(f"{server} gave '{name}' no result: {known}", cause=cause)
            if fate.is_broken:
                return ToolError(
                    f"'{name}' was not called: {server} cannot be reached ({known})", cause=cause
                )
            return ToolError(f"{server} refused '{name}': {known}", cause=cause)
        if error.code == CONNECTION_CLOSED:
            broken = f": {self._answers.broken}" if self._answers.broken else ""
            what = f"{server} ended before it answered '{name}'{broken}"
            return LostAnswer(what, await self._last_words(), cause=cause)
        if error.code == PARSE_ERROR:
            return LostAnswer(f"what {server} answered to '{name}' cannot be read", cause=cause)
        return ToolError(f"{server} refused '{name}': {said}", cause=cause)

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
                    self._answers.is_polite = True
                    self._started.set_result(client)
                    async with anyio.create_task_group() as group:
                        group.start_soon(self._listen, client)
                        await self._end.wait()
                        group.cancel_scope.cancel()
                return
            except Exception as error:
                is_last = mode == MODES[-1] or self._started.done() or self._end.is_set()
                if (
                    is_last
                    or self._answers.broken
                    or getattr(_innermost(error), "code", None) != CONNECTION_CLOSED
                ):
                    raise

    def _client(self, mode: str) -> Client:
        return Client(
            self._transport(),
            mode=mode,
            client_info=Implementation(name="cogency-rs", version=__version__),
        )

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator[Any, None]:
        async with self._place.open(self._errors, self._answers) as (reading, writing):
            yield Reading(reading, self._answers, self._lost), Writing(writing, self._answers)

    def _lost(self) -> None:
        """Note that the server sends nothing more."""
        if self._started.done():
            self._ended()

    def _ended(self) -> None:
        self.is_over = True
        self._end.set()

    def _changed(self) -> None:
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
                        self._changed()  # it may have changed before we listened
                        async for _ in changes:
                            self._changed()
                except ListenNotSupportedError:
                    return  # the older protocol: the server announces changes without being asked
                except MCPError as error:
                    logger.debug("server %r: %s", self._name, self._words_of(error))
            await anyio.sleep(LISTEN_AGAIN)

    async def _say(self, error: BaseException) -> None:
        """Report why there is no connection: to those who wait for its start, or to the log if it broke later."""
        if self._started.done():
            words = f"{self._answers.broken or self._words_of(error)}{await self._last_words()}"
            logger.warning("server %r ended: %s", self._name, words)
            return
        last = await self._last_words()
        if not last and getattr(error, "code", None) == CONNECTION_CLOSED:
            last = "; run it by hand to see why"
        why = self._answers.broken or self._place.failure(error)
        message = f"server {self._name!r} could not be started: {why}{last}"
        cause = self._clean(error) if isinstance(error, Exception) else None
        self._started.set_exception(ConfigError(message, cause=cause))


class _TooMuchError(Exception):
    """A list of tools that goes beyond a bound; the text says which."""


def _innermost(error: BaseException) -> BaseException:
    """The first error inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error
