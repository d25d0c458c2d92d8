"""The agent: a model, tools, and the loop between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeAlias, TypedDict, Unpack

from .._core import Detection
from ..context.history import History
from ..errors import ConfigError
from ..execution.scheduling import CallOptions
from ..guards.arguments import (
    AGENT_NAMES,
    METHOD_NAMES,
    RUN_NAMES,
    check_instance,
    check_text,
    refused,
    refuses_misnamed,
)
from ..guards.json import whole_characters
from ..hooks import AnyHook, Approve
from ..hooks.approval import Approval
from ..hooks.chain import check_remote
from ..hooks.hooks import HookList
from ..models import ModelRequest
from ..outside import uuid7
from ..runs.context import RunContext, RunLimits
from ..runs.result import Deps, Output, RunResult
from ..storage.log import is_log
from ..telemetry import Telemetry, tracing_of
from ..tools.context import ToolContext
from ..tools.registry import is_plain_function, listed_tools
from ..tools.toolbox import SortedTools, told_apart
from ..types import Dialects
from .conversations import Forking, PendingCalls
from .drivers import Driver
from .first_prompt import Prompt, first_prompt
from .prompt import Prompts
from .run import Run
from .run_handle import RunHandle
from .runtime import Instructions, check_model
from .serving import Serving, is_server
from .settings import (
    AgentSettings,
    DriverName,
    check_limits,
    dialect_names,
    driver_name,
    driver_of,
    instance_of,
    output_of,
    storage_of,
)
from .stored_state import Decisions


class StreamingModel(Protocol):
    """A model that is an object; see `Model`."""

    @property
    def stream(self) -> Callable[[ModelRequest], Any]:
        """Asks it."""
        ...


class ToolObject(Protocol):
    """A tool made by `@tool`, one of a server, or an object of one's own; see `Tool`."""

    @property
    def name(self) -> str:
        """What the model calls it by."""
        ...

    @property
    def execute(self) -> Callable[..., Any]:
        """Carries out a call."""
        ...


AnyModel: TypeAlias = StreamingModel | Callable[[Any], Any]
"""What `Agent` can ask: an object, or a function of the messages."""


if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider
    from typing_extensions import TypeForm

    from ..servers.mcp import MCPServer
    from ..tools.function_tool import FunctionTool
else:  # hints are resolved without extras, and without what is as large as all the rest
    TracerProvider = MCPServer = Any
    TypeForm, FunctionTool = type, Callable


class RunOptions(TypedDict, Generic[Deps], total=False):
    """The options of `Agent.run`."""

    conversation_id: str | None
    user_id: str
    deps: Deps | None
    limits: RunLimits | None


class Agent(PendingCalls, Forking, Generic[Deps, Output]):
    """A model that is asked until it has answered, with tools that it may call.

    Args:
        model: a function from messages to an async iterable of text, or an object with `stream(request)`; see `Model`.
        tools: what it may call: functions, with `@tool` or without, any `Tool`, MCP servers and other agents. A server
            is started with a run and closed after it; inside `async with agent:` it keeps running. A run has the tools
            that the server offers when it begins, under the server's `name` where two tools have the same. An agent
            becomes the tool that its `as_tool()` makes.
        instructions: the beginning of the system prompt, in place of a neutral sentence: a text, or a function of the
            run (`RunContext`), plain or `async`, that is called before each step.
        output_type: the type of the final answer: a dataclass, a `TypedDict`, a pydantic model, or whatever a parameter
            of a tool may be, such as `int | str`. The model writes it as JSON, and reads what is wrong with an answer
            that does not fit; `RunResult.output` is the value. By default the answer is text.
        dialect: for the driver `"text"`: how the model writes its calls; see `Dialect.presets()`. By default the
            model's own, if it is known, as that of a `LocalModel`; else `"cogency"`.
        driver: how the model is asked: `"text"` if it writes its calls as text, `"native"` if its provider has tool
            calls of its own, `"react"` for one JSON decision in each step; or any `Driver`, such as
            `TextDriver(lenient=False)`. By default what suits the model: `"native"` for those of OpenAI and Anthropic,
            `"text"` for others. `describe` says which.
        storage: the log: the path of a file (`"talk.db"`), an address (`"postgresql://user@host/database"`), or a
            `Log`; by default a `Memory`, which ends with the agent and drops the least recently used conversations.
        limits: what ends a run, such as `RunLimits(steps=5)`.
        approve: decides about calls of tools that require approval: a function, or an `Approval`. Without it the run
            stops as `waiting` before a batch that has such a call, and `resume` goes on.
        hooks: what runs around runs, steps, requests and calls: `Hooks`, functions around calls (see `AroundCall`) and
            executors.
        history: how much of a conversation the model is shown.
        calls: how calls are carried out, such as `CallOptions(timeout=10, max_concurrency=4)`.
        name: what traces, errors and other agents call it.
        telemetry: `True` or a tracer provider for spans and metrics of its runs, or a `Telemetry`; needs the extra
            `otel`. Without it, a run uses the telemetry of the run that calls it, or that of `instrument`.

    Raises:
        ConfigError: there is no model, or it cannot be asked; two tools have the same name; a hook is not a `Hooks` or
            a function; or an option has a value that cannot work. The message says what to do.

    One agent may have any number of runs at once; runs of one conversation wait for each other.
    """

    # What an agent was made with stays: an attribute that is set and not read would hide a mistake.
    __slots__ = ("__weakref__", "_settings", "name")

    if not TYPE_CHECKING:  # type checkers know what an agent has

        def __getattr__(self, name: str) -> Any:
            instead = METHOD_NAMES.get(name)
            advice = "" if instead is None else f"; write {instead}"
            raise AttributeError(f"Agent has no attribute {name!r}{advice}", name=name, obj=self)

    @refuses_misnamed("Agent", AGENT_NAMES)
    def __init__(
        self,
        model: AnyModel,
        *,
        tools: Iterable[ToolObject | MCPServer | Agent[Any, Any] | Callable[..., Any]] = (),
        instructions: Instructions = "",
        output_type: TypeForm[Output] = str,  # type: ignore[assignment]  # the default of Output
        dialect: Dialects | None = None,
        driver: DriverName | Driver | None = None,
        storage: Any = None,
        limits: RunLimits | None = None,
        approve: Approve | Approval | None = None,
        hooks: Iterable[AnyHook] = (),
        history: History | None = None,
        calls: CallOptions | None = None,
        name: str = "agent",
        telemetry: bool | TracerProvider | Telemetry = False,
    ) -> None:
        servers: list[MCPServer] = []
        own: list[Any] = []
        for each in listed_tools(tools):
            if isinstance(each, Agent):
                own.append(each.as_tool())
            elif is_server(each):
                servers.append(each)
            else:
                own.append(_tool_of(each) if is_plain_function(each) else each)
        listed = SortedTools(told_apart(own))
        if not (isinstance(instructions, str) or callable(instructions)):
            raise refused("instructions", instructions, "text (a str), or a function of the run")
        check_text("name", name)
        chosen = driver_of(driver, dialect, model)
        check_model(model)
        sorted_hooks = HookList.of(hooks)
        self.name = name
        self._settings = AgentSettings(
            model=model,
            tools=listed,
            serving=Serving(servers) if servers else None,
            driver=chosen,
            storage=storage_of(storage),
            instructions=instructions,
            limits=instance_of(RunLimits, "limits", limits),
            history=instance_of(History, "history", history),
            hooks=sorted_hooks,
            approve=Approval.of(approve),
            calls=CallOptions.of(calls),
            output=output_of(output_type),
            name=name,
            tracing=tracing_of(telemetry),
            prompts=Prompts(),
            calls_agents=bool(listed) and _calls_agents(listed),
        )
        check_limits(self._settings.limits, self._settings)
        check_remote(listed.toolbox.names, sorted_hooks)

    @property
    def storage(self) -> Any:
        """The log."""
        return self._settings.storage

    @property
    def limits(self) -> RunLimits:
        """What ends its runs."""
        return self._settings.limits

    @property
    def tools(self) -> tuple[Any, ...]:
        """The tools, in the order in which they were given, without those of servers."""
        return self._settings.tools

    def describe(self) -> dict[str, str]:
        """What was chosen for this agent, by name: `model`, `provider`, `address`, `transport`, `driver` and `dialect`.

        `transport` is `"http"` for requests that are sent here, the name of an SDK's package for those of its client,
        and `"python"` for a model of your own. `evidence` is why a detected dialect was chosen, or why none was for a
        model in a file: a server that shows its template is asked for it before the first step, or by
        `await model.detect_dialect()`. What does not apply is left out.
        """
        model, driver = self._settings.model, self._settings.driver
        dialect = getattr(driver, "dialect", None)
        found = getattr(model, "detection", None)
        reasons: list[str] = []
        if isinstance(found, Detection) and found.dialect == dialect:
            reasons = [*found.evidence, *found.doubts]
        elif found is None and getattr(model, "transport", None) == "local":
            reasons = ["no dialect fits the chat template in the model's file"]
        described = {
            "model": getattr(model, "name", None) or getattr(model, "__name__", None),
            "provider": getattr(model, "provider", None),
            "address": getattr(model, "base_url", None),
            "transport": getattr(model, "transport", "python"),
            "driver": driver_name(driver),
            "dialect": dialect_names(dialect),
            "evidence": "; ".join(reasons),
        }
        return {name: value for name, value in described.items() if value}

    def prompt(
        self, message: str | None = None, *, user_id: str = "", deps: Deps | None = None
    ) -> Prompt:
        """What the model will be sent in the first step of a new conversation; `print` it to read it.

        Args:
            message: the user's question; without one, what comes before it.
            user_id: see `run`.
            deps: see `run`.

        Returns:
            The messages, a list of dicts. Their `request` has the rest: the tools that are declared to the provider,
            where the model stops, the grammar that it is held to; `missing` says in sentences, which are printed too,
            what cannot be known yet: the tools of MCP servers before `async with agent` has started them, the
            dialect before `await model.detect_dialect()` has asked a local server, and in an event loop instructions
            whose function waits for something. Hooks before requests do not run.

        Raises:
            ConfigError: the driver asks no model.
        """
        check_text("message", message, or_none=True)
        check_text("user_id", user_id)
        return first_prompt(self._settings, message, user_id, deps)

    async def __aenter__(self) -> Self:
        """Start the servers, so that they last for more than one run.

        Raises:
            ConfigError: one cannot be started; the message says which, why, and what to do.
        """
        if (serving := self._settings.serving) is not None:
            await serving.__aenter__()
            try:
                await serving.tools(self._settings.tools)  # which `prompt` shows from now on
            except BaseException:
                await serving.__aexit__()
                raise
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self._settings.serving is not None:
            await self._settings.serving.__aexit__(*raised)

    @refuses_misnamed("Agent.run", RUN_NAMES)
    def run(
        self,
        question: str,
        *,
        conversation_id: str | None = None,
        user_id: str = "",
        deps: Deps | None = None,
        limits: RunLimits | None = None,
    ) -> RunHandle[Output]:
        """Answer a question: `await` it for the result, or iterate over its events (`async for`) or its `steps()`.

        Args:
            question: the user's question.
            conversation_id: the conversation to go on with; a new one by default.
            user_id: the id of its user. A conversation belongs to the user who began it; "" is a user like any other.
            deps: an object that tools reach as `ToolContext.deps`, and hooks as `ctx.deps`.
            limits: what ends this run. They override the agent's own limits, which apply to the rest.

        Raises:
            ConfigError: an argument has a wrong value.

        The run itself raises, and passes on exceptions of the model unchanged:
            BusyError: another run has the conversation, with `RunLimits(on_busy="error")`.
            OwnerError: the conversation was begun by another user; nothing was written.
            HookError: a hook failed; the message says which.
            ToolError: a call failed, with `CallOptions(on_failure="raise")`; its `executions` are those of the batch.
            StorageError: the log could not be read or written.
            asyncio.CancelledError: the caller was cancelled. Running tools have been cancelled and awaited, and every
                call has its result in the log.
        """
        return RunHandle(self._run(question, conversation_id, user_id, deps, limits))

    @refuses_misnamed("Agent.resume", RUN_NAMES)
    def resume(
        self,
        conversation_id: str,
        decisions: Decisions | None = None,
        *,
        user_id: str = "",
        deps: Deps | None = None,
        limits: RunLimits | None = None,
    ) -> RunHandle[Output]:
        """Continue a conversation where its run stopped, because it waited for somebody or its program ended.

        Calls that were running when a program ended are not run again, except calls of tools that are `idempotent` or
        `read_only`. The model reads that the outcome of the others is unknown.

        Args:
            conversation_id: the conversation's id.
            decisions: decisions about the calls that wait, by id: `True`, `False`, `ToolApproved(args=...)` or
                `ToolDenied("why")`. While one of them is missing, the run goes on waiting; decisions are kept. A
                decision for an id that is not waiting is ignored, and logged.
            user_id: the id of its user.
            deps: see `run`.
            limits: see `run`.

        Returns:
            The run, as `run` does. If the conversation has its answer already, the result has that answer.

        Raises:
            ConfigError: the log does not keep calls, or an argument has a wrong value.
        """
        return RunHandle(self._resumed(conversation_id, decisions, user_id, deps, limits))

    def run_sync(self, question: str, **options: Unpack[RunOptions[Deps]]) -> RunResult[Output]:
        """Do the same as `run`, where no event loop is running. Ctrl-C cancels the run.

        Each call runs in a new event loop, and leaves no connection open.

        Raises:
            RuntimeError: an event loop is already running here: `await agent.run(...)` instead.
        """
        from .run_handle import run_in_script

        if _is_in_loop():
            raise RuntimeError(
                "an event loop is already running here: write `await agent.run(...)`"
            )
        return run_in_script(self.run(question, **options))

    def as_tool(
        self, name: str | None = None, description: str | None = None
    ) -> FunctionTool[..., Any]:
        """Make the agent a tool of another agent, as `tools=[agent]` does too.

        A call is a separate run, in its own conversation. If the run that called it is cancelled, so is this
        one, and what this one uses counts towards the caller's limits.

        Args:
            name: what the calling model calls it; by default the agent's own name.
            description: what it does; by default that it is an agent, with its instructions.

        Returns:
            A tool with one parameter, `question`: a text with everything that this agent needs in order to answer,
            since it sees nothing of the caller's conversation. Its result is the run's output; a run without one fails
            the call.
        """
        from ..tools.function_tool import tool  # here, since most agents are not tools
        from .delegate import Delegate

        delegate = Delegate(self.name, self._answer_call)
        return tool(
            delegate.ask,
            name=self.name if name is None else name,
            description=self._description if description is None else description,
            remote=False,
        )

    @property
    def _description(self) -> str:
        """Its description for other agents."""
        instructions = self._settings.instructions
        known = isinstance(instructions, str) and instructions.strip()
        return "Ask another agent." + (f" Its instructions: {known}" if known else "")

    async def _answer_call(
        self, question: str, context: ToolContext[Any], parent: object
    ) -> RunResult[Output]:
        """Carry out a run for another agent's run."""
        deps: Any = context.deps
        caller = parent if isinstance(parent, Run) else None
        run: RunHandle[Output] = RunHandle(
            self._run(question, None, context.user_id, deps, None, caller)
        )
        return await run

    def _run(
        self,
        question: str,
        conversation_id: str | None,
        user_id: str,
        deps: Any,
        limits: RunLimits | None,
        parent: Run | None = None,
    ) -> Run:
        check_text("question", question)
        question = whole_characters(question)
        is_new = not conversation_id
        ctx = self._context(conversation_id or uuid7(), user_id, deps, question, limits, parent)
        return Run(self._settings, ctx, is_new=is_new, parent=parent)

    def _resumed(
        self,
        conversation_id: str,
        decisions: Decisions | None,
        user_id: str,
        deps: Any,
        limits: RunLimits | None,
    ) -> Run:
        storage = self._settings.storage
        if not is_log(storage):
            raise ConfigError(
                f"a run can be resumed only from a storage that keeps calls: {storage!r} is not a Log"
            )
        check_text("conversation_id", conversation_id)
        ctx = self._context(conversation_id, user_id, deps, "", limits)
        return Run(self._settings, ctx, decisions=decisions, is_resumed=True)

    def _context(
        self,
        conversation_id: str,
        user_id: str,
        deps: Any,
        question: str,
        limits: RunLimits | None,
        parent: Run | None = None,
    ) -> RunContext[Any]:
        check_text("conversation_id", conversation_id, or_none=True)
        check_text("user_id", user_id)
        agents = self._settings.limits
        if limits is not None:
            check_instance("limits", limits, RunLimits)
            agents = limits.over(agents)
            check_limits(agents, self._settings)
        return RunContext(
            conversation_id=conversation_id,
            user_id=user_id,
            deps=deps,
            question=question,
            storage=self._settings.storage,
            limits=agents,
            parent=None if parent is None else parent.ctx,
        )

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self._settings.tools)
        return f"<agent {self.name!r} with {names or 'no tools'}>"


def _is_in_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _tool_of(function: Any) -> Any:
    from ..tools.function_tool import tool  # here, since most tools are made where they are written

    return tool(function)


def _calls_agents(tools: Iterable[Any]) -> bool:
    from .delegate import has_delegate

    return has_delegate(tools)
