"""Several servers at once, given or read from a file `mcp.json`, and their tools under names that differ."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any, Literal, cast

from ..errors import CogencyError, ConfigError
from ..execution.shielded_wait import all_done, outlast
from ..guards.json import read_json
from ..tools.toolbox import LOCAL, told_apart
from ..tools.workers import in_thread
from .mcp import ApproveCalls, MCPServer
from .tool import MCPTool

VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")

HTTP_TYPES = ("http", "streamable-http", "streamableHttp", "streamable_http")


def load_mcp_config(
    path: str | os.PathLike[str],
    *,
    timeout: float | EllipsisType | None = ...,
    start_timeout: float = 30.0,
    approve: ApproveCalls = "always",
    environment: Mapping[str, str] | None = None,
) -> dict[str, MCPServer]:
    """Read servers from a file: `{"mcpServers": {"name": {"command": ..., "args": [...]}, "other": {"url": ...}}}`.

    A server has a `command`, and may have `args`, `env` and `cwd`; or it has a `url`, and may have `headers`. In all of
    these `${NAME}` stands for an environment variable, and `${NAME:-text}` for `text` if that variable is not set. It
    may have `approve`, as in `MCPServer.stdio`. A server with `"disabled": true` is left out. Keys that only other
    programs know are ignored.

    Args:
        path: of the file.
        timeout: for every server, as in `MCPServer.stdio`.
        start_timeout: seconds each may take until its first answer.
        approve: whether a person is asked before a call, as in `MCPServer.stdio`; for servers that do not say it in
            the file.
        environment: the variables; by default this program's.

    Returns:
        The servers by name, in their order; none is started.

    Raises:
        ConfigError: the file cannot be read or has another form, or a variable is missing; says where, and what to do.
    """
    path = Path(path)
    variables = os.environ if environment is None else environment
    options: dict[str, Any] = {
        "timeout": timeout,
        "start_timeout": start_timeout,
        "approve": approve,
    }
    servers: dict[str, MCPServer] = {}
    for name, entry in _entries(path).items():
        where = f"{path}: server {name!r}"
        fields = _object(entry)
        if fields is None:
            raise ConfigError(
                f"{where} must be an object with a command or a url, not {_kind(entry)}"
            )
        if fields.get("disabled") is True:
            continue
        servers[name] = _Entry(where, fields, variables).server(name, options)
    return servers


def _entries(path: Path) -> dict[str, Any]:
    try:
        read: Any = read_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", cause=error) from error
    except UnicodeDecodeError as error:
        problem = f"is not text in UTF-8: {error.reason}"
    except ValueError as error:
        problem = f"is not JSON: {error}"
    else:
        return _entries_of(read, path)
    raise ConfigError(
        f"{path} {problem}"
    )  # out of the block, since such an error has all of the file


def _entries_of(read: Any, path: Path) -> dict[str, Any]:
    entries = _object((_object(read) or {}).get("mcpServers"))
    if entries is None:
        raise ConfigError(
            f"{path} names no servers: it must be an object like "
            '{"mcpServers": {"name": {"command": "..."}}}'
        )
    return entries


def _object(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _kind(value: Any) -> str:
    """What kind of JSON a value is. The value itself is not shown, since it may be secret."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"


class _Entry:
    """What a file says of one server."""

    def __init__(self, where: str, fields: dict[str, Any], variables: Mapping[str, str]) -> None:
        self._where = where
        self._fields = fields
        self._variables = variables

    def server(self, name: str, options: dict[str, Any]) -> MCPServer:
        kind, has_command, has_url = (
            self._fields.get("type", self._fields.get("transport")),
            "command" in self._fields,
            "url" in self._fields,
        )
        if has_command == has_url:
            raise ConfigError(f"{self._where} must have either a command or a url")
        if has_url and kind not in (None, *HTTP_TYPES):
            raise ConfigError(
                f"{self._where} is of type {kind!r}; only servers over HTTP (type 'http') can be reached by a url"
            )
        make: Callable[..., MCPServer]
        try:
            if has_url:
                make, args = MCPServer.http, [self._text("url")]
                options = {**options, "headers": self._texts_by_name("headers")}
            else:
                make, args = MCPServer.stdio, [self._text("command"), *self._texts("args")]
                cwd = self._text("cwd") if self._fields.get("cwd") is not None else None
                options = {**options, "env": self._texts_by_name("env"), "cwd": cwd}
            if "approve" in self._fields:
                options = {**options, "approve": self._fields["approve"]}
            return make(*args, name=name, **options)
        except ConfigError as error:
            if str(error).startswith(self._where):
                raise
            raise ConfigError(f"{self._where}: {error}", cause=error) from error

    def _text(self, key: str) -> str:
        return self._expanded(key, self._fields[key])

    def _texts(self, key: str) -> list[str]:
        match self._fields.get(key):
            case None:
                return []
            case [*texts]:
                return [self._expanded(key, text) for text in texts]
            case other:
                raise ConfigError(
                    f"{self._where}: {key} must be a list of texts, not {_kind(other)}"
                )

    def _texts_by_name(self, key: str) -> dict[str, str]:
        given = self._fields.get(key)
        texts = {} if given is None else _object(given)
        if texts is None:
            raise ConfigError(
                f"{self._where}: {key} must be an object of texts, not {_kind(given)}"
            )
        return {name: self._expanded(key, text) for name, text in texts.items()}

    def _expanded(self, key: str, text: object) -> str:
        """A text with the variables in it."""
        if not isinstance(text, str):
            raise ConfigError(f"{self._where}: {key} must be text, not {_kind(text)}")

        def value_of(match: re.Match[str]) -> str:
            name = match["name"]
            value = self._variables.get(name)
            if not value and match["default"] is not None:
                value = match["default"]
            if value is None:
                raise ConfigError(
                    f"{self._where}: {key} needs the environment variable {name}, which is not set"
                )
            return value

        return VARIABLE.sub(value_of, text)


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
