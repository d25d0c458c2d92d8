"""What all runs of an agent have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..context.history import History
from ..execution.call_options import CallOptions
from ..hooks.approval import Approval
from ..hooks.hooks import HookList
from ..runs.context import RunContext
from ..runs.limits import UsageLimits
from ..tools.toolbox import Toolbox
from ..types import Access, Execution, StreamMode
from .drivers import Driver
from .output import OutputReader
from .prompts import Prompts
from .recovery import Recovery
from .run_hooks import Triggers
from .runtime import Runtime
from .serving import Serving

if TYPE_CHECKING:
    from ..telemetry.spans import Tracing

__all__ = ["AgentSettings"]


class AgentSettings(NamedTuple):
    """The options of an agent, checked; see `Agent`."""

    model: Any
    tools: tuple[Any, ...]
    toolbox: Toolbox
    serving: Serving | None
    driver: Driver
    storage: Any
    instructions: str
    identity: str | None
    limits: UsageLimits
    recovery: Recovery
    history: History
    hooks: HookList
    approve: Approval | None
    calls: CallOptions
    output: OutputReader
    require_tool: bool
    stop_at_tools: frozenset[str]
    finish_reasons: frozenset[str]
    on_busy: Literal["wait", "error"]
    sandbox_dir: str
    access: Access
    name: str
    tracing: Tracing | None
    prompts: Prompts

    def execution(self, ctx: RunContext[Any]) -> Execution:
        """What the tools of a run get."""
        return Execution(
            storage=ctx.storage,
            tools=self.tools,
            sandbox_dir=self.sandbox_dir,
            access=self.access,
            deps=ctx.deps,
        )

    def runtime(
        self, ctx: RunContext[Any], execution: Execution, triggers: Triggers, stream: StreamMode
    ) -> Runtime:
        """What the driver of a run works with."""
        parts = [self.instructions, self.output.instructions]
        # A mock has every attribute. No answer in the form of the schema calls a tool, as each must that has to.
        wants_schema = getattr(self.model, "structured_output", False) is True
        return Runtime(
            ctx=ctx,
            model=self.model,
            execution=execution,
            toolbox=self.toolbox,
            triggers=triggers,
            history=self.history,
            instructions="\n\n".join(part for part in parts if part),
            identity=self.identity,
            stream=stream,
            eager=self.calls.eager,
            output_schema=self.output.schema if wants_schema and not self.require_tool else None,
            prompts=self.prompts,
        )

    @property
    def joins_exactly(self) -> bool:
        """Whether the driver reads text whose space is exact, even after reasoning; see `Driver`."""
        return getattr(self.driver, "joins_exactly", False) is True
