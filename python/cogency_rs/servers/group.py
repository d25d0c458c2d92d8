"""Several servers at once, and all their tools under names that a model can tell apart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from ..errors import CogencyError, ConfigError
from ..execution.shielded_wait import all_done, outlast
from ..tools.toolbox import LOCAL, told_apart
from ..tools.workers import in_thread
from .mcp import MCPServer
from .tool import MCPTool

__all__ = ["ServerGroup"]

logger: logging.Logger = logging.getLogger(__name__)


class ServerGroup:
    """Servers that are started, used and closed together: `async with ServerGroup(servers) as group:`.

    Args:
        servers: a mapping from the names that the model uses; or a list, in which each server has its own name.
        on_failure: if a server cannot be started, `"raise"` closes the others and raises; `"skip"` goes on without it
            and keeps the error in `failures`.

    Attributes:
        servers: by name, in their order.
        failures: the errors of servers that could not be started, by name.

    Raises:
        ConfigError: two servers have the same name, or one is named `local`, which stands for the agent's own tools.
    """

    def __init__(
        self,
        servers: Mapping[str, MCPServer] | Iterable[MCPServer],
        *,
        on_failure: Literal["raise", "skip"] = "raise",
    ) -> None:
        if on_failure not in ("raise", "skip"):
            raise ConfigError(f'on_failure must be "raise" or "skip", got {on_failure!r}')
        self.servers = _by_name(servers)
        self.failures: dict[str, ConfigError] = {}
        self._on_failure = on_failure
        self._running: dict[str, MCPServer] = {}
        self._known: dict[str, list[MCPTool]] = {}
        self._given: list[Any] = []
        self._listed: list[Any] = []

    async def __aenter__(self) -> ServerGroup:
        """Start them all.

        Raises:
            ConfigError: one cannot be started; the message says which, why, and what to do.
        """
        starts = _tasks({name: each.__aenter__() for name, each in self.servers.items()})
        try:
            await all_done([*starts.values()])
        except BaseException:
            for start in starts.values():
                start.cancel()
            try:
                await outlast([*starts.values()])
            finally:
                await self._close(_done(starts))
            raise
        started, self.failures = _done(starts), _failures(starts)
        self._running = {name: self.servers[name] for name in started}
        if self.failures and self._on_failure == "raise":
            await self._close(self._running)
            [first, *_] = self.failures.values()
            raise (
                first
                if len(self.failures) == 1
                else ConfigError("; ".join(map(str, self.failures.values())), cause=first)
            )
        for error in self.failures.values():
            logger.warning("%s", error)
        return self

    async def __aexit__(self, *_: object) -> None:
        running, self._running = self._running, {}
        await self._close(running)

    async def tools(self, own: Sequence[Any] = ()) -> list[Any]:
        """The agent's own tools and those of all servers, as they are now.

        The agent's own come first, then the servers' in their order, so equal tools give an equal prompt. Two tools of
        one plain name are told apart: a server's is named `server__tool`. The tools of a server that has ended and
        cannot be started again stay listed: a call of one says what is wrong.

        Args:
            own: tools that are on no server.

        Returns:
            The tools for `Execution.tools` and `system_prompt`; the same objects as long as nothing has changed.

        Raises:
            ConfigError: a name could mean either of two tools.
        """
        asked = _tasks({name: server.tools() for name, server in self._running.items()})
        try:
            await all_done([*asked.values()])
        except BaseException:
            for each in asked.values():
                each.cancel()
            await outlast([*asked.values()])
            raise
        given: list[Any] = [*own]
        for name, each in asked.items():
            try:
                self._known[name] = each.result()
            except CogencyError as error:
                logger.warning(
                    "the tools of server %r could not be listed, so those known before are used: %s",
                    name,
                    error,
                )
            given += self._known.get(name, [])
        if len(given) != len(self._given) or any(map(_differ, given, self._given)):
            # Their schemas are read, which may be long.
            self._listed, self._given = await in_thread(lambda: self._named(own, given)), given
        return [*self._listed]

    def _named(self, own: Sequence[Any], given: list[Any]) -> list[Any]:
        here = [
            tool.named(tool.name, server)
            for server in self._running
            for tool in self._known.get(server, [])
        ]
        return told_apart([*own, *here])

    async def instructions(self) -> dict[str, str]:
        """The servers' instructions on how to use them, by name; servers that give none are left out."""
        texts = {name: await server.instructions() for name, server in self._running.items()}
        return {name: text for name, text in texts.items() if text}

    async def _close(self, servers: Iterable[str]) -> None:
        """Leave these servers. If cancelled, it goes on until they are closed."""
        leaving = _tasks({n: self.servers[n].__aexit__(None, None, None) for n in servers})
        await outlast([*leaving.values()])
        for task in leaving.values():
            task.result()


def _by_name(servers: Mapping[str, MCPServer] | Iterable[MCPServer]) -> dict[str, MCPServer]:
    named: dict[str, MCPServer] = {}
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(servers, Mapping):
        pairs = cast("Mapping[Any, Any]", servers).items()
    else:
        listed: list[Any] = [*servers]
        pairs = [(getattr(server, "name", None), server) for server in listed]
    for name, server in pairs:
        if not isinstance(server, MCPServer):
            raise ConfigError(f"{server!r} is not an MCPServer; MCPServer.stdio(...) makes one")
        if not isinstance(name, str) or name in ("", LOCAL):
            raise ConfigError(
                f"a server cannot be named {name!r}; {LOCAL!r} is where the agent's own tools are"
            )
        if named.setdefault(name, server) is not server:
            raise ConfigError(f"two servers are named {name!r}: give one another name=")
        if not server.has_own_name:
            server.name = name
    return named


def _tasks(work: Mapping[str, Coroutine[Any, Any, Any]]) -> dict[str, asyncio.Task[Any]]:
    return {name: asyncio.ensure_future(each) for name, each in work.items()}


def _done(tasks: Mapping[str, asyncio.Task[Any]]) -> list[str]:
    return [n for n, task in tasks.items() if not task.cancelled() and task.exception() is None]


def _failures(tasks: Mapping[str, asyncio.Task[Any]]) -> dict[str, ConfigError]:
    """The errors of servers that could not be started.

    Any other error is raised.
    """
    failures: dict[str, ConfigError] = {}
    for name, task in tasks.items():
        try:
            task.result()
        except ConfigError as error:
            failures[name] = error
    return failures


def _differ(one: Any, other: Any) -> bool:
    return one is not other
