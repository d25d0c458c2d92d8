"""Puts our core into an installed cogency, and takes it out again.

`REPLACED`, below, lists what is replaced. A replacement behaves as the original, except for what
`docs/differences.md` lists. The values and exceptions that it hands out are of cogency's own classes.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from .. import protocol, types
from .._core import CircuitBreaker, FoldOptions, to_messages
from ..context import assembly as context
from ..context.history import CogencyHistory
from ..errors import ConfigError, ProtocolError, StorageError, ToolParseError
from ..execution.batch import ToolBatch
from ..execution.host import BatchSettings
from ..execution.scheduling import CallOptions
from ..guards.arguments import check_choice, check_seconds, check_text
from ..storage.rows import check_content
from ..storage.sqlite import ParseError, SQLite
from ..tools import registry
from ..tools.registry import is_coroutine_function, listed_tools
from ..tools.toolbox import Toolbox
from ..turn.accumulator import Accumulator
from ..turn.settings import TurnRules
from ..types import Access


def in_sandbox(
    tools: Iterable[Any], *, sandbox_dir: str = ".cogency/sandbox", access: Access = "sandbox"
) -> list[Any]:
    """Give tools that are objects a different folder and access from the agent's.

    Args:
        tools: objects with `execute(**kwargs)`, such as cogency's own tools.
        sandbox_dir: the folder for files of the sandbox.
        access: how far they may reach.

    Returns:
        The tools for `Agent(tools=…)`, in their order.

    Raises:
        ConfigError: an argument has a wrong value.
    """
    check_text("sandbox_dir", sandbox_dir)
    check_choice("access", access, "sandbox", "project", "system")
    place = {"sandbox_dir": sandbox_dir, "access": access}
    return [
        (_Awaited if is_coroutine_function(tool.execute) else _Called)(tool, place)
        for tool in listed_tools(tools)
    ]


class _Placed:
    """A tool that is given its place."""

    def __init__(self, tool: Any, place: dict[str, str]) -> None:
        self._tool, self._place = tool, place

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)


class _Awaited(_Placed):
    async def execute(self, **given: Any) -> Any:
        return await self._tool.execute(**{**given, **self._place})


class _Called(_Placed):
    def execute(self, **given: Any) -> Any:
        return self._tool.execute(**{**given, **self._place})


SUPPORTED = "3.3"
"""The version of cogency whose internals are known, with any third number."""

REPLACED: dict[str, tuple[str, ...]] = {
    "cogency.core.parser": ("parse_tokens", "parse_execute_block"),
    "cogency.core.codec": (
        "format_call_agent",
        "format_result_agent",
        "format_results_array",
        "parse_tool_call",
        "parse_tool_result",
        "tool_instructions",
    ),
    "cogency.core.circuit": ("CircuitBreaker",),
    "cogency.core.executor": ("execute_tool", "execute_tools"),
    "cogency.core.accumulator": ("Accumulator",),
    "cogency.context.conversation": ("to_messages",),
    "cogency.context.assembly": ("assemble",),
    "cogency.lib.sqlite": ("SQLite",),
}
"""Every name that is replaced, by the module that defines it. Other modules that hold the object are rebound too."""

BLOCKING = ("Edit", "Find", "List", "Read", "Replace", "Scrape", "Search", "Shell", "Write")
"""cogency's own tools that block the event loop, since they run programs, read files or fetch pages without `await`."""


class Installation:
    """What `install` did. As a context manager, it undoes that at the end of the block.

    Attributes:
        version: the version of cogency.
        replacements: each original with its replacement, by the original's full name.
    """

    def __init__(self, version: str, limits: CallOptions) -> None:
        self.version = version
        self.limits = limits
        self.replacements: dict[str, tuple[Any, Any]] = {}

    def __enter__(self) -> Installation:
        return self

    def __exit__(self, *_: object) -> None:
        if _current is self:
            uninstall()

    def missing(self) -> list[str]:
        """The replaced names that no longer hold our objects, sorted."""
        return sorted(
            name
            for name, (_, ours) in self.replacements.items()
            if _resolve(*name.rsplit(".", 1)) is not ours
        )


_lock = threading.Lock()
_current: Installation | None = None


def install(
    *,
    tool_timeout: float | None = None,
    max_concurrency: int | None = None,
    force: bool = False,
) -> Installation:
    """Replace the internals of cogency by our core, in every module that holds them.

    Safe to call again: the same limits change nothing, and other limits replace the first ones. Running turns are not
    disturbed. cogency is imported if it is not yet.

    Args:
        tool_timeout: seconds that one tool call may take; `None` for no limit.
        max_concurrency: how many calls of a batch may run at once; `None` for all.
        force: whether to go ahead with a version of cogency whose internals are not known.

    Returns:
        What was done; `with cogency_rs.install(): ...` undoes it at the end.

    Raises:
        ConfigError: cogency is not installed, its version is not known, a name to replace is missing, or a limit is
            wrong. Then nothing is replaced.
    """
    global _current
    check_seconds("tool_timeout", tool_timeout)
    limits = CallOptions(timeout=tool_timeout, max_concurrency=max_concurrency, eager=False)
    with _lock:
        if _current is not None and _current.limits == limits:
            return _current
        version = _version(force)
        made = Installation(version, limits)
        for module, names in REPLACED.items():
            for name in names:
                original = _original(module, name)
                made.replacements[f"{module}.{name}"] = (original, None)
        ours = _build(limits)
        for full_name, (original, _) in made.replacements.items():
            made.replacements[full_name] = (original, ours[full_name.rsplit(".", 1)[1]])
        previous, _current = _current, made
        if previous is not None:
            _rebind({id(new): old for old, new in previous.replacements.values()})
        _rebind({id(old): new for old, new in made.replacements.values()})
        return made


def uninstall() -> None:
    """Put back what `install` replaced, in every module. Safe to call when nothing is installed."""
    global _current
    with _lock:
        made, _current = _current, None
        if made is not None:
            _rebind({id(ours): original for original, ours in made.replacements.values()})


def installation() -> Installation | None:
    """What is installed now; `None` if nothing is."""
    return _current


def _version(force: bool) -> str:
    try:
        cogency = importlib.import_module("cogency")
    except ImportError as error:
        raise ConfigError(
            f"cogency cannot be imported ({error}); install it with: pip install 'cogency=={SUPPORTED}.*' httpx",
            cause=error,
        ) from error
    version: str = getattr(cogency, "__version__", "unknown")
    if not force and version.split(".")[:2] != SUPPORTED.split("."):
        raise ConfigError(
            f"cogency {version} is not known to cogency-rs, which supports {SUPPORTED}.x; "
            "install(force=True) goes ahead anyway"
        )
    return version


def _original(module: str, name: str) -> Any:
    found = _resolve(module, name)
    if found is None:
        raise ConfigError(
            f"{module}.{name} was not found, so nothing was replaced; "
            f"cogency-rs knows the internals of cogency {SUPPORTED}.x"
        )
    if _current is not None:
        return _current.replacements[f"{module}.{name}"][0]
    return found


def _resolve(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _rebind(by_identity: dict[int, Any]) -> None:
    """Replace objects, given by their ids, in every imported module but our own."""
    for module in list(sys.modules.values()):
        if not isinstance(module, ModuleType) or module.__name__.partition(".")[0] == __package__:
            continue
        names = vars(module)
        for name, value in list(names.items()):
            if id(value) in by_identity:
                names[name] = by_identity[id(value)]


def _build(limits: CallOptions) -> dict[str, Any]:
    """Make our objects under cogency's names. Each installation has its own, so that they can be told apart."""
    protocols = importlib.import_module("cogency.core.protocols")
    errors = importlib.import_module("cogency.core.errors")
    codecs = importlib.import_module("cogency.core.codec")
    assembly = importlib.import_module("cogency.context.assembly")
    ToolCall, ToolResult = protocols.ToolCall, protocols.ToolResult  # noqa: N806

    tools = importlib.import_module("cogency.tools")
    blocking = {id(getattr(tools, name, None)) for name in BLOCKING}

    def is_blocking(tool: Any, execute: Any) -> bool:
        return id(tool) in blocking or registry.is_blocking(tool, execute)

    def is_result(value: object) -> bool:
        return hasattr(value, "outcome") and hasattr(value, "error")  # all that cogency reads

    def toolbox(tools: Iterable[Any]) -> Toolbox:
        names: dict[str, Any] = {}
        for tool in tools:
            names.setdefault(
                registry.name_of(tool), tool
            )  # of two tools with one name, the first counts
        return Toolbox(names)

    def call(ours: Any) -> Any:
        return ToolCall(name=ours.name, args=ours.args)

    def result(ours: Any) -> Any:
        if not isinstance(ours, types.ToolResult):
            return ours  # the tool returned cogency's own
        return ToolResult(outcome=ours.outcome, content=ours.content, error=ours.error)

    def parse_tokens(token_stream: Any) -> Any:
        return protocol.parse_tokens(token_stream)

    def parse_execute_block(xml_str: str) -> list[Any]:
        try:
            return [call(ours) for ours in protocol.parse_execute_block(xml_str)]
        except ProtocolError as error:
            raise errors.ProtocolError(
                str(error), cause=error.cause, original_input=error.original_input
            ) from error

    def parse_tool_call(json_str: str) -> Any:
        try:
            return call(protocol.parse_tool_call(json_str))
        except ToolParseError as error:
            raise codecs.ToolParseError(str(error), original_json=error.original_json) from error

    def parse_tool_result(content: str) -> list[Any]:
        try:
            return [result(ours) for ours in protocol.parse_tool_result(content)]
        except ValueError as error:
            raise protocols.ParseError(str(error)) from error

    async def execute_tools(
        calls: Sequence[Any], *, execution: Any, user_id: str, conversation_id: str
    ) -> list[Any]:
        if not calls:
            return []
        listed = list(calls)
        tools = Toolbox(registry.first_by_name(execution.tools, [call.name for call in listed]))
        settings = BatchSettings(
            tools=tools,
            execution=execution,
            user_id=user_id,
            conversation_id=conversation_id,
            options=limits,
            state={},
            is_blocking=is_blocking,
            is_result=is_result,
        )
        batch = ToolBatch(settings, tools.resolve_all(listed))
        await batch.join()
        return [result(ours) for ours in batch.results()]

    async def execute_tool(call: Any, *, execution: Any, user_id: str, conversation_id: str) -> Any:
        [only] = await execute_tools(
            [call], execution=execution, user_id=user_id, conversation_id=conversation_id
        )
        return only

    async def assemble(
        user_id: str,
        conversation_id: str,
        *,
        tools: Sequence[Any],
        storage: Any,
        history_window: int | None,
        history_transform: Any,
        profile_enabled: bool,
        identity: str | None = None,
        instructions: str | None = None,
    ) -> list[dict[str, Any]]:
        # cogency's own prompt and profile stay in use.
        try:
            return await context.assemble_after(
                context.placed(
                    assembly.system_prompt(
                        tools=list(tools), identity=identity, instructions=instructions
                    )
                ),
                partial(assembly.profile_format, user_id, storage) if profile_enabled else None,
                context.StoredRows(storage, user_id, conversation_id),
                history=CogencyHistory(history_window, history_transform),
                options=FoldOptions(rules="installed"),
            )
        except StorageError as error:
            raise translated(error) from error

    class InstalledAccumulator(Accumulator):
        _rules = TurnRules(
            parse_call=parse_tool_call,
            is_blocking=is_blocking,
            is_result=is_result,
            toolbox=toolbox,
            # cogency's agent makes a new accumulator for each answer of its model: batches in a row cannot be counted.
            breaker=partial(CircuitBreaker, counts="calls"),
            keeps_text=False,  # as in cogency 3.3.0
        )

        def __init__(
            self,
            user_id: str,
            conversation_id: str,
            *,
            execution: Any,
            stream: Any = "event",
            max_failures: int = 3,
        ) -> None:
            super().__init__(
                user_id,
                conversation_id,
                execution=execution,
                stream=stream,
                max_failures=max_failures,
                calls=limits,
            )

    def translated(error: BaseException) -> Any:
        match error:
            case StorageError():
                return errors.StorageError(str(error), cause=error.cause, retryable=error.retryable)
            case ParseError():
                return protocols.ParseError(str(error), error.raw)
            case _:
                return error

    def with_their_errors(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def call(self: SQLite, *args: Any, **kwargs: Any) -> Any:
            try:
                return await method(self, *args, **kwargs)
            except (StorageError, ParseError) as error:
                raise translated(error) from error

        return call

    def future_with_their_errors(saving: asyncio.Future[Any]) -> asyncio.Future[Any]:
        theirs: asyncio.Future[Any] = saving.get_loop().create_future()

        def settle(saving: asyncio.Future[Any]) -> None:
            error = saving.exception()
            if theirs.done():  # its caller was cancelled
                return
            if error is None:
                theirs.set_result(saving.result())
            else:
                theirs.set_exception(translated(error))

        saving.add_done_callback(settle)
        return theirs

    class InstalledSQLite(SQLite):
        @staticmethod
        def _check_message(
            conversation_id: Any, user_id: Any, type: Any, content: Any, timestamp: Any
        ) -> None:
            """Leave the rest to the tables, as cogency does: a row of a shared channel is nobody's."""
            check_content(content, 0.0 if timestamp is None else timestamp)

        @staticmethod
        def _check_saved(conversation_id: Any, user_id: Any, rows: Any, calls: Any) -> None:
            """The same; what is saved with calls is what a turn says."""

        def save_messages(self, rows: Any) -> asyncio.Future[list[str]]:
            return future_with_their_errors(super().save_messages(rows))

        def append(self, *args: Any, **kwargs: Any) -> asyncio.Future[None]:
            return future_with_their_errors(super().append(*args, **kwargs))

        async def search_messages(self, *args: Any, **kwargs: Any) -> list[Any]:
            matches = await super().search_messages(*args, **kwargs)
            return [protocols.MessageMatch(*match) for match in matches]

    for name, method in inspect.getmembers(InstalledSQLite, inspect.iscoroutinefunction):
        if not name.startswith("_"):
            setattr(InstalledSQLite, name, with_their_errors(method))

    class InstalledBreaker(CircuitBreaker):
        pass

    return {
        "parse_tokens": parse_tokens,
        "parse_execute_block": parse_execute_block,
        "format_call_agent": _alias(protocol.format_call_agent),
        "format_result_agent": _alias(protocol.format_result_agent),
        "format_results_array": _alias(protocol.format_results_array),
        "parse_tool_call": parse_tool_call,
        "parse_tool_result": parse_tool_result,
        "tool_instructions": _alias(protocol.tool_instructions),
        "CircuitBreaker": InstalledBreaker,
        "execute_tool": execute_tool,
        "execute_tools": execute_tools,
        "Accumulator": InstalledAccumulator,
        "to_messages": _alias(to_messages),
        "assemble": assemble,
        "SQLite": InstalledSQLite,
    }


def _alias(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of ours in one of its own identity, so that only its uses in cogency are ever rebound."""

    def alias(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    alias.__name__ = function.__name__
    alias.__doc__ = function.__doc__
    return alias
