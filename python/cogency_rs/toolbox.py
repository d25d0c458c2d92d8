"""Finds the tool that a call means, among the agent's own and those of its servers.

A tool whose `server` is a text is on that server, under the name `remote_name`; any other is the agent's own. In a
prompt, a tool of a server has its plain name if no other tool has it, else `server__tool`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import ConfigError
from .registry import listed_tools, name_of, tools_by_name

__all__ = ["LOCAL", "Toolbox", "qualified", "remote_name_of", "server_of", "told_apart"]

LOCAL = "local"
"""What a call may name as its server to mean one of the agent's own tools."""

AGENT = frozenset({None, "", LOCAL})


class Toolbox:
    """The tools that calls may mean.

    Args:
        names: the tools by the names that a prompt lists, in its order. Only `Toolbox.of` looks for servers.

    Attributes:
        names: the tools by the names that a prompt lists, in its order.
    """

    __slots__ = ("_by_name", "_by_server", "names")

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        self._by_name = names
        self._by_server: dict[str, dict[str, Any]] = {}

    @classmethod
    def of(cls, tools: Iterable[Any]) -> Toolbox:
        """Sort tools by name and server, at a cost that is linear in them.

        Raises:
            ConfigError: an object cannot be a tool; or two of the agent's own tools, or two tools of one server, have
                one name.
        """
        listed = tools if isinstance(tools, tuple) else listed_tools(tools)
        remote = [tool for tool in listed if server_of(tool) is not None]
        if not remote:
            return cls(tools_by_name(listed))
        own = tools_by_name(tool for tool in listed if server_of(tool) is None)
        by_server: dict[str, dict[str, Any]] = {}
        for tool in remote:
            name_of(tool)  # refuses what is not a tool
            there = by_server.setdefault(str(server_of(tool)), {})
            if there.setdefault(remote_name_of(tool), tool) is not tool:
                raise ConfigError(
                    f"server {server_of(tool)!r} has two tools named {remote_name_of(tool)!r}: leave one out"
                )
        count = Counter(name for there in by_server.values() for name in there)
        names: dict[str, Any] = {}
        for tool in listed:
            name, server = remote_name_of(tool), server_of(tool)
            if server is not None and (count[name] > 1 or name in own):
                name = qualified(server, name)
            if names.setdefault(name, tool) is not tool:
                raise ConfigError(
                    f"two tools are asked for as {name!r}: rename the tool or the server"
                )
        toolbox = cls(names)
        long_names = {
            qualified(server, name): tool
            for server, there in by_server.items()
            for name, tool in there.items()
        }
        toolbox._by_name = long_names | names
        toolbox._by_server = by_server
        return toolbox

    def find(self, call: Any) -> Any:
        """The tool that a call means; `None` if there is none.

        A call that names no server, or `local`, means the agent's own tool of that name; else the tool of that name
        that only one server has; else the tool whose long name, `server__tool`, that is.
        """
        name = call.name
        if not isinstance(name, str):
            return None
        if getattr(call, "server", None) is None or (server := _server_asked_for(call)) is None:
            return self._by_name.get(name)
        there = self._by_server.get(server, {})
        if name in there:
            return there[name]
        tool = self._by_name.get(name)
        return tool if server_of(tool) == server else None

    def missing(self, call: Any) -> str:
        """Write the message for a call that means no tool: which tools there are."""
        name, server = str(call.name), _server_asked_for(call)
        if server is not None:
            if server not in self._by_server:
                servers = ", ".join([LOCAL, *self._by_server])
                return f"Server '{server}' of tool '{name}' is not known. Known servers: {servers}"
            known = ", ".join(self._by_server[server])
            return f"Tool '{name}' not registered on server '{server}'. Known tools: {known}"
        if choices := [
            qualified(server, name) for server, there in self._by_server.items() if name in there
        ]:
            return f"Tool '{name}' is on {len(choices)} servers; ask for {' or '.join(choices)}"
        known = f". Known tools: {', '.join(map(str, self.names))}" if self.names else ""
        return f"Tool '{name}' not registered{known}"


def told_apart(tools: Iterable[Any]) -> list[Any]:
    """The tools, those of servers under the names that a prompt lists, so that no two have the same name.

    A tool of a server is renamed by its method `named`; without such a method it keeps its name.

    Raises:
        ConfigError: as `Toolbox.of`.
    """
    listed = listed_tools(tools)
    if all(server_of(tool) is None for tool in listed):
        return listed
    return [
        tool if tool.name == name or getattr(tool, "named", None) is None else tool.named(name)
        for name, tool in Toolbox.of(listed).names.items()
    ]


def _server_asked_for(call: Any) -> str | None:
    server: object = getattr(call, "server", None)  # cogency's own calls have none
    return server if isinstance(server, str) and server not in AGENT else None


def server_of(tool: Any) -> str | None:
    """The name of the server that a tool is on; `None` for one of the agent's own."""
    server = getattr(tool, "server", None)  # checked for its type, since a mock has every attribute
    return server if type(server) is str and server not in AGENT else None


def remote_name_of(tool: Any) -> str:
    """The name of a tool on its server; for one of the agent's own, its name."""
    if server_of(tool) is not None:
        name = getattr(tool, "remote_name", None)
        if type(name) is str:
            return name
    name = tool.name
    return name if type(name) is str else str(name)


def qualified(server: str, name: str) -> str:
    """The long name of a tool: `server__tool`, with `_` for what providers do not accept in the server's name."""
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', server)}__{name}"
