"""The MCP servers of an agent: started when the first of its runs needs them, closed when the last is over."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from operator import is_not
from typing import TYPE_CHECKING, Any, Self, TypeGuard

if TYPE_CHECKING:
    from ..servers import ServerGroup
    from ..servers.mcp import MCPServer


def is_server(given: object) -> TypeGuard[MCPServer]:
    """Whether one of an agent's tools is a server of tools."""
    if not hasattr(given, "__aenter__"):
        return False  # without loading what servers need
    from ..servers.mcp import MCPServer

    return isinstance(given, MCPServer)


class Serving:
    """Servers that several runs share. Each run enters `async with`; so may the caller, to keep the servers longer.

    Raises:
        ConfigError: two of them have the same name, or one has a name that cannot be used.
    """

    def __init__(self, servers: Sequence[MCPServer]) -> None:
        from ..servers import ServerGroup

        self._servers = servers
        ServerGroup(servers)  # refuses names
        self._group: ServerGroup | None = None
        self._users = 0
        self._listed: tuple[Any, ...] = ()
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    async def __aenter__(self) -> Self:
        """Start the servers, unless they run already.

        Raises:
            ConfigError: one cannot be started; the message says which, why, and what to do.
        """
        from ..servers import ServerGroup

        async with self._alone():
            if self._group is None:
                group = ServerGroup(self._servers)
                await group.__aenter__()
                self._group = group
            self._users += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._alone():
            self._users -= 1
            if self._users == 0 and self._group is not None:
                group, self._group = self._group, None
                await group.__aexit__(None, None, None)

    async def tools(self, own: Sequence[Any]) -> tuple[Any, ...]:
        """The agent's own tools, and after them the servers' current tools."""
        if self._group is None:
            raise RuntimeError("servers are available only inside `async with`")
        listed = await self._group.tools(own)
        if len(listed) != len(self._listed) or any(map(is_not, listed, self._listed)):
            self._listed = tuple(listed)
        return (
            self._listed
        )  # the same tuple while nothing has changed, since values derived from it are kept

    @property
    def listed(self) -> tuple[Any, ...] | None:
        """What `tools` gave last; `None` while no server runs."""
        return None if self._group is None else self._listed

    def _alone(self) -> asyncio.Lock:
        """The lock of the running loop: an agent may be used in several loops in turn."""
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        return self._lock[1]
