"""Makes the agent that the options describe."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from operator import is_
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ...agent import Driver, NativeDriver, TextDriver
from ...agent.agent import Agent
from ...agent.settings import calls_natively, dialect_of
from ...errors import ConfigError, LLMError
from ...hooks import AnyHook
from ...runs.context import RunLimits
from ...storage.postgres.connection import is_dsn
from ...storage.sqlite import SQLite
from .. import log
from ..exits import UnusableError, words_of
from ..modules import named_tools, named_value
from .options import AgentOptions

if TYPE_CHECKING:
    from ...servers import ServerGroup

__all__ = ["Assembly", "assembled"]


@dataclass(frozen=True)
class Assembly:
    """The parts of agents with these options.

    Attributes:
        options: the options.
        tools: the tools that the model may call.
        storage: the log.
        db: the file of the log; a temporary file if none was named.
        model: the model; `/model` replaces it.
        servers: the MCP servers whose tools are among them; `None` if there are none.
        own: the tools that are on no server.
    """

    options: AgentOptions
    tools: tuple[Any, ...]
    storage: SQLite
    db: Path
    model: Any
    servers: ServerGroup | None = None
    own: tuple[Any, ...] = ()

    async def listed(self) -> Assembly:
        """The same with the tools that the servers offer now; this one while nothing has changed."""
        if self.servers is None:
            return self
        tools = tuple(await self.servers.tools(self.own))
        is_same = len(tools) == len(self.tools) and all(map(is_, tools, self.tools))
        return self if is_same else replace(self, tools=tools)

    async def rows(self, conversation_id: str) -> list[log.Row]:
        """Read a conversation of this user, through the log that the agent has open.

        Raises:
            StorageError: the log cannot be read.
        """
        ask = self.storage._ask  # pyright: ignore[reportPrivateUsage]  (ours)
        return await ask(log.read_rows, conversation_id, self.options.user)

    @property
    def model_name(self) -> str:
        """The model's name for people."""
        options = self.options
        if options.gguf is not None:
            return options.gguf.stem
        return options.model_from or str(options.model)

    def agent(self, *, hooks: Iterable[AnyHook] = ()) -> Agent[Any, str]:
        """Make an agent.

        Args:
            hooks: what is around its runs and calls.

        Raises:
            UnusableError: the options do not go together.
        """
        options = self.options
        try:
            return Agent(
                self.model,
                tools=self.tools,
                driver=_driver(options, self.model),
                instructions=options.instructions,
                storage=self.storage,
                limits=RunLimits(steps=options.steps),
                hooks=hooks,
                approve=(lambda _context, _call: True) if options.yes else None,
                name="chat",
            )
        except ConfigError as error:
            raise UnusableError(str(error)) from error


@asynccontextmanager
async def assembled(
    options: AgentOptions, warn: Callable[[str], None] | None = None
) -> AsyncGenerator[Assembly, None]:
    """Open the log and the servers, and find the model and the tools.

    Args:
        options: the options.
        warn: called for servers that are left out because they cannot be used; without it they are an error. A server
            that cannot be started is logged, too.

    Raises:
        UnusableError: something that was named does not exist, or cannot be used; the message says what to do.
    """
    if options.native and options.dialect is not None:
        raise UnusableError("--native and --dialect exclude each other; give one of them")
    if options.db is not None and is_dsn(str(options.db)):
        raise UnusableError("--db takes a log file, not the address of a database")
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(opened_model(options))
        if options.db is None:
            folder = stack.enter_context(TemporaryDirectory(prefix="cogency-rs-"))
            db = Path(folder, "log.db")
        else:
            db = options.db
        storage = await stack.enter_async_context(SQLite(db))
        own = tuple(_own_tools(options))
        servers = None
        if options.mcp is not None:
            servers = await _started(options.mcp, stack, warn)
        yield await Assembly(options, own, storage, db, model, servers, own).listed()


@asynccontextmanager
async def opened_model(options: AgentOptions) -> AsyncGenerator[Any, None]:
    """The model that the options name, while the block lasts.

    A model in a file is loaded now: later, the line that says so would disturb the chat's.

    Raises:
        UnusableError: they name no model, its key is missing, or its file cannot be used.
    """
    model = _model(options)
    if options.model_from is not None:
        yield model
        return
    async with model:
        if options.gguf is not None:
            try:
                await model.load()
            except LLMError as error:
                raise UnusableError(str(error)) from error
        yield model


def _model(options: AgentOptions) -> Any:
    if options.gguf is not None:
        if options.model_from is not None or options.model is not None:
            raise UnusableError(
                "--gguf names the model already; leave out --model and --model-from"
            )
        return _local_model(options.gguf)
    if options.model_from is not None:
        return named_value(options.model_from)
    if options.model is None:
        raise UnusableError(
            "no model is named; give --gguf FILE for one that runs here, or --model NAME, and --base-url URL for a "
            "server of your own, such as http://localhost:11434/v1; `cogency-rs demo` needs none"
        )
    from ...models.anthropic import AnthropicModel
    from ...models.openai import OpenAIModel

    makes: dict[str, Any] = {"openai": OpenAIModel, "anthropic": AnthropicModel}
    if options.provider not in makes:
        raise UnusableError(f"--provider is openai or anthropic, not {options.provider}")
    try:
        return makes[options.provider](options.model, base_url=options.base_url)
    except ConfigError as error:
        raise UnusableError(words_of(error).replace("base_url", "--base-url", 1)) from error


def _local_model(file: Path) -> Any:
    from ...models.local import LocalModel

    try:
        return LocalModel(file)
    except ConfigError as error:
        raise UnusableError(str(error)) from error


def _driver(options: AgentOptions, model: Any) -> Driver:
    if options.native or (options.dialect is None and calls_natively(model)):
        return NativeDriver()
    return TextDriver(options.dialect or dialect_of(model))


def _own_tools(options: AgentOptions) -> list[Any]:
    tools: list[Any] = []
    if options.files is not None:
        from ...tools.files import file_tools

        try:
            tools += file_tools(options.files)
        except ConfigError as error:
            raise UnusableError(str(error)) from error
    for where in options.tools:
        tools += named_tools(where)
    return tools


async def _started(
    config: Path, stack: AsyncExitStack, warn: Callable[[str], None] | None
) -> ServerGroup | None:
    """The servers that a file names; `None` if they cannot be used and are left out."""
    from ...servers import ServerGroup, load_mcp_config

    try:
        servers = load_mcp_config(config)
        group = ServerGroup(servers, on_failure="raise" if warn is None else "skip")
        return await stack.enter_async_context(group)
    except ConfigError as error:
        if warn is None:
            raise UnusableError(str(error)) from error
        warn(f"{error}; these tools are left out")
        return None
