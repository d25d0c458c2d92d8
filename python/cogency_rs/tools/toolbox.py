"""Finds the tool that a call means, once, and gives the call that tool's one name.

A tool whose `server` is a text is on that server, under the name `remote_name`; any other is the agent's own. A tool's
one name is the name that a prompt lists: of a tool of a server, its plain name if no other tool has it, else
`server__tool`, in either case in letters that every provider and dialect takes.

A model may write a name in other ways too. Everything that decides about a call takes the `ResolvedCall` that
`Toolbox.resolve` makes, so it decides the same however the name was written.

An odd tool of the program itself raises where it is made. What a server lists is not the program's to mend: one odd
tool must not cost a run, or the server's other tools.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from .._core import Dialect
from ..errors import ConfigError
from ..types import ToolCall
from .options import ToolOptions, all_options, options_of
from .registry import (
    check_name,
    compiled,
    is_object,
    is_usable_name,
    json_schema_of,
    listed_tools,
    name_of,
    parameters_of,
    signature,
    tools_by_name,
)

logger: logging.Logger = logging.getLogger(__name__)

_MOST_SHOWN = 300


def leave_out(name: str, server: str, why: str) -> None:
    """Warn that a tool of a server is left out."""
    shown = why if len(why) <= _MOST_SHOWN else f"{why[:_MOST_SHOWN]}..."
    logger.warning("tool %r of server %r is left out: %s", name[:_MOST_SHOWN], server, shown)


def problem_of(tool: Any) -> str | None:
    """Why a tool cannot be offered to a model; `None` if it can.

    Its description is text, arguments can be checked against its schema, and a prompt can be written of both.
    """
    name_of(tool)  # what is not a tool at all raises
    try:
        if not isinstance(getattr(tool, "description", ""), str | None):
            return "its description is not text"
        schema = getattr(tool, "schema", None)
        if not is_object(schema):
            return "its schema is not an object"
        if problem := compiled(tool, schema).problem:
            return problem
        json.dumps(schema, allow_nan=False, ensure_ascii=False).encode()
        Dialect("hermes").declare([tool])
        if (full := json_schema_of(tool)) is not None:
            signature(tool, full)
    except RecursionError:
        return "its schema is nested too deep"
    except UnicodeEncodeError as error:
        return f"its schema holds {error.object[error.start]!r}, which is not a character"
    except Exception as error:
        return f"a prompt cannot be written of it: {type(error).__name__}: {error}"
    return None


LOCAL = "local"
"""What a call may name as its server to mean one of the agent's own tools."""

AGENT = frozenset({None, "", LOCAL})


class ResolvedCall(NamedTuple):
    """A call with the tool that it means.

    Attributes:
        call: the call under its tool's one name and server; if it means no tool, as the model wrote it.
        tool: the tool; `None` if the call means none, so that it cannot run.
    """

    call: ToolCall
    tool: Any

    @property
    def options(self) -> ToolOptions:
        """The options of its tool."""
        return options_of(self.tool)

    @property
    def identity(self) -> tuple[str, str | None]:
        """The one name and the server of its tool: which tool it is, in another process too."""
        return self.call.name, getattr(self.call, "server", None)  # cogency's own calls lack it


class Toolbox:
    """The tools that calls may mean.

    Args:
        names: the tools by their one names, in the order of a prompt. Only `Toolbox.of` looks for servers.

    Attributes:
        names: the tools by their one names, in the order of a prompt.
    """

    __slots__ = ("_by_server", "_offered", "_options", "_spelled", "_unclear", "names")

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        # The one name that each spelling means, without a server and with one. Own tools alone have one spelling each.
        self._spelled: dict[str, str] = {}
        self._by_server: dict[str, dict[str, str]] = {}
        self._unclear: dict[str, list[str]] = {}  # the one names that a spelling could mean
        self._offered: dict[str, list[str]] = {}  # the names of each server's tools there
        self._options: list[ToolOptions] | None = None

    @classmethod
    def of(cls, tools: Iterable[Any]) -> Toolbox:
        """Sort tools by name and server, at a cost that is linear in them; `SortedTools` are sorted already.

        Raises:
            ConfigError: an object cannot be a tool; or two of the agent's own tools, or two tools of one server, have
                one name.
        """
        if isinstance(tools, SortedTools):
            return tools.toolbox
        listed = tools if isinstance(tools, tuple) else listed_tools(tools)
        served = [tool for tool in listed if getattr(tool, "server", None)]  # few are
        remote = [(tool, server) for tool in served if (server := server_of(tool)) is not None]
        if not remote:
            return cls(tools_by_name(listed))
        own = tools_by_name(tool for tool in listed if server_of(tool) is None)
        offered: dict[str, dict[str, Any]] = {}
        for tool, server in remote:
            name_of(tool)  # refuses what is not a tool
            there = offered.setdefault(server, {})
            if there.setdefault(remote_name_of(tool), tool) is not tool:
                raise ConfigError(
                    f"server {server!r} has two tools named {remote_name_of(tool)!r}: leave one out"
                )
        plain = Counter(name for there in offered.values() for name in there)
        long = Counter(
            qualified(server, name) for server, there in offered.items() for name in there
        )
        names: dict[str, Any] = {}
        for tool in listed:
            name, server = remote_name_of(tool), server_of(tool)
            if server is not None:
                of = (server, name)
                if plain[name] > 1 or name in own:
                    name = qualified(server, name)
                    is_taken = long[name] > 1 or name in plain or name in own
                    name = _marked(name, of) if is_taken else name
                name = safe_name(name, of)
            if names.setdefault(name, tool) is not tool:
                raise ConfigError(
                    f"two tools are asked for as {name!r}: rename the tool or the server"
                )
        toolbox = cls(names)
        toolbox._offered = {server: [*there] for server, there in offered.items()}
        toolbox._spell()
        return toolbox

    @property
    def options(self) -> list[ToolOptions]:
        """The options of every tool that has options; those of `@tool` without any are left out."""
        if self._options is None:
            self._options = all_options(self.names.values())
        return self._options

    @property
    def has_servers(self) -> bool:
        """Whether any of the tools is on a server."""
        return bool(self._offered)

    def _spell(self) -> None:
        """Collect the ways to write each name. One names go before others, and names on a server before long ones."""
        ways: dict[str, list[str]] = {}
        self._by_server = {server: {} for server in self._offered}
        for one, tool in self.names.items():
            server, name = server_of(tool), remote_name_of(tool)
            if server is None:
                continue
            long, of = qualified(server, name), (server, name)
            spellings = {name, long, safe_name(name, of), safe_name(long, of)}
            for spelling in spellings:
                ways.setdefault(spelling, []).append(one)
            self._by_server[server] |= dict.fromkeys({one, *spellings}, one)
        for one, tool in self.names.items():
            if (server := server_of(tool)) is not None:
                self._by_server[server][remote_name_of(tool)] = one
        for spelling, meant in ways.items():
            if len(meant) == 1:
                self._spelled[spelling] = meant[0]
            else:
                self._unclear[spelling] = meant
        self._spelled |= {one: one for one in self.names}

    def resolve(self, call: Any) -> ResolvedCall:
        """Find the tool that a call means.

        A call that names no server, or `local`, means the tool of that one name; else the tool of that name that only
        one server has; else the tool whose long name, `server__tool`, that is. A spelling that could mean two tools
        means none.
        """
        name = call.name
        if not isinstance(name, str):
            return ResolvedCall(call, None)
        server = None if getattr(call, "server", None) is None else _server_asked_for(call)
        if not self._by_server:
            return ResolvedCall(call, self.names.get(name) if server is None else None)
        spelled = self._spelled if server is None else self._by_server.get(server, {})
        one = spelled.get(name)
        if one is None:
            return ResolvedCall(call, None)
        tool = self.names[one]
        return ResolvedCall(_under(call, one, server_of(tool)), tool)

    def resolve_all(self, calls: Iterable[Any]) -> list[ResolvedCall]:
        """Find the tools that calls mean; see `resolve`."""
        if self._by_server:
            return [self.resolve(call) for call in calls]
        find = self.names.get
        return [
            ResolvedCall(call, find(call.name))
            if isinstance(call.name, str) and getattr(call, "server", None) is None
            else self.resolve(call)
            for call in calls
        ]

    def resolve_instead(self, call: Any, before: ResolvedCall) -> ResolvedCall:
        """Find the tool of a call that takes the place of another, whose id it gets.

        If it has the other's server and another name, only the name was changed, and the tool may be anywhere.
        """
        name, server = before.identity
        id = getattr(before.call, "id", None)
        if isinstance(call, ToolCall) and call.id != id:
            call = replace(call, id=id)
        if server is not None and isinstance(call, ToolCall) and call.name != name:
            call = replace(call, server=None) if call.server == server else call
        return self.resolve(call)

    def recall(self, call: ToolCall, name: str, server: str | None) -> ResolvedCall:
        """Find the tool that a call of the log means: the one that it meant when it was recorded.

        Args:
            call: the call as the model wrote it.
            name: the name in its record.
            server: the server in its record.
        """
        return self.resolve(replace(call, name=name, server=server))

    def spellings(self) -> dict[str, Any]:
        """The tools by every way to write their names. A name on a server is `server`, NUL and the name."""
        if not self._by_server:
            return dict(self.names)
        return {way: self.names[one] for way, one in self._ways().items()}

    def other_names(self) -> dict[str, str]:
        """The one names by every other way to write them; see `spellings`."""
        return {way: one for way, one in self._ways().items() if way != one}

    def _ways(self) -> dict[str, str]:
        ways = dict(self._spelled)
        for server, there in self._by_server.items():
            ways |= {f"{server}\0{spelling}": one for spelling, one in there.items()}
        return ways

    def missing(self, call: Any) -> str:
        """Write the message for a call that means no tool: which tools there are."""
        name, server = str(call.name), _server_asked_for(call)
        if server is not None:
            if server not in self._offered:
                servers = ", ".join([LOCAL, *self._offered])
                return f"Server '{server}' of tool '{name}' is not known. Known servers: {servers}"
            known = ", ".join(self._offered[server])
            return f"Tool '{name}' not registered on server '{server}'. Known tools: {known}"
        if choices := self._unclear.get(name):
            return f"Tool '{name}' is on {len(choices)} servers; ask for {' or '.join(choices)}"
        known = f". Known tools: {', '.join(map(str, self.names))}" if self.names else ""
        return f"Tool '{name}' not registered{known}"


class SortedTools(tuple[Any, ...]):
    """Tools with their toolbox, so that turns with the same tools need not sort them each time.

    Attributes:
        toolbox: the tools by their names.

    Raises:
        ConfigError: as `Toolbox.of` does.
    """

    toolbox: Toolbox

    def __new__(cls, tools: Iterable[Any]) -> Self:
        """Sort the tools, at a cost that is linear in them."""
        listed = tuple(tools)
        made = super().__new__(cls, listed)
        made.toolbox = Toolbox.of(listed)
        return made


def _under(call: Any, name: str, server: str | None) -> ToolCall:
    """The call under this name and server; the same object if it has them."""
    if call.name == name and getattr(call, "server", None) == server:
        return call  # type: ignore[no-any-return]
    if isinstance(call, ToolCall):
        return replace(call, name=name, server=server)
    return ToolCall(name, call.args, getattr(call, "id", None), server)


@dataclass(frozen=True)
class SpelledTool:
    """A tool's schema under one of the ways to write the tool's name."""

    name: str
    schema: Any


def spelled(tools: Iterable[Any]) -> list[Any]:
    """What a parser needs of tools: their schemas, by every way to write their names."""
    listed = list(tools)
    if all(server_of(tool) is None for tool in listed) or any(
        isinstance(tool, Mapping)
        for tool in listed  # a declaration, which has no other names
    ):
        return listed
    ways = Toolbox.of(listed).spellings()
    return [SpelledTool(way, getattr(tool, "schema", None)) for way, tool in ways.items()]


def told_apart(tools: Iterable[Any]) -> list[Any]:
    """The tools, those of servers under the names that a prompt lists, so that no two have the same name.

    A tool of a server is renamed by its method `named`; without such a method it keeps its name. One that cannot be
    offered to a model is left out, with a warning; see `odd`.

    Raises:
        ConfigError: as `Toolbox.of`; or one of the agent's own tools has a name that not every model accepts.
    """
    listed = listed_tools(tools)
    for tool in listed:
        if server_of(tool) is None:
            check_name(name_of(tool))
    if all(server_of(tool) is None for tool in listed):
        return listed
    return [
        tool if tool.name == name or getattr(tool, "named", None) is None else tool.named(name)
        for name, tool in Toolbox.of([*filter(_can_be_offered, listed)]).names.items()
    ]


def _can_be_offered(tool: Any) -> bool:
    server = server_of(tool)
    if server is None:
        return True

    if (problem := problem_of(tool)) is not None:
        leave_out(remote_name_of(tool), server, problem)
    return problem is None


def names_of(resolved: ResolvedCall) -> tuple[str, ...]:
    """The names by which patterns find a call: its tool's one name, and `server__tool` of a tool of a server.

    The second stays the same whatever other tools there are.
    """
    call, tool = resolved
    server = server_of(tool)
    return (call.name,) if server is None else (call.name, qualified(server, remote_name_of(tool)))


def safe_name(name: str, of: tuple[str, str]) -> str:
    """A name in letters that every provider and dialect takes: the name itself, if it is in such letters.

    Args:
        name: the name.
        of: the server and the tool, which decide what keeps it apart from other names that become alike.
    """
    return name if is_usable_name(name) else _marked(name, of)


def _marked(name: str, of: tuple[str, str]) -> str:
    """A safe name that no other tool has: what can be kept of `name`, and a digest of the server and the tool."""
    import hashlib  # here, since only few names need it

    digest = hashlib.sha256("\0".join(of).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    kept = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return f"{kept if kept[:1].isalpha() else f'_{kept}'}"[:55] + f"_{digest}"


def _server_asked_for(call: Any) -> str | None:
    server: object = getattr(call, "server", None)  # cogency's own calls lack it
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


def fingerprint_of(resolved: ResolvedCall) -> str:
    """Digest all that says what the tool of a call is: its name, server, description, parameters and hints.

    It is the same in every process, and for every call of the tool. Two tools with one fingerprint tell a model and a
    person the same.

    Args:
        resolved: a call with its tool; not one that means no tool.
    """
    text = json.dumps([*resolved.identity, said_of(resolved.tool)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def said_of(tool: Any) -> str:
    """All that is said of a tool besides its name and its server, as one text."""
    options = options_of(tool)
    said: Any = {
        "description": getattr(tool, "description", None),
        "parameters": parameters_of(tool),
        "hints": getattr(tool, "hints", None),
        "may_run_twice": [options.idempotent is not False, options.read_only],
    }
    return json.dumps(said, sort_keys=True, default=_told)


def _told(value: Any) -> Any:
    """What is not JSON: a mapping as a dict, anything else by its type, since its text may have an address in it."""
    try:
        return dict(value)
    except (TypeError, ValueError):
        return type(value).__qualname__
