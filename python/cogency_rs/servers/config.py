"""Reads the servers of a file `mcp.json`, in the form that many programs have."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import EllipsisType
from typing import Any, cast

from ..errors import ConfigError
from ..guards.json_text import read_json
from .approval import ApproveCalls
from .mcp import MCPServer

__all__ = ["load_mcp_config"]

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
