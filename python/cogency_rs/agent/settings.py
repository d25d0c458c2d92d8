"""What all runs of an agent have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..context.history import History
from ..execution.call_options import CallOptions
from ..hooks.approval import Approval
from ..hooks.hooks import HookList
from ..runs.context import RunContext
from ..runs.limits import RunLimits
from ..tools.toolbox import SortedTools
from ..types import CallMode, Execution, StreamMode
from .drivers import Driver
from .output import OutputReader
from .prompts import Prompts
from .run_hooks import Triggers
from .runtime import Instructions, Runtime

if TYPE_CHECKING:
    from ..telemetry.spans import Tracing
    from .serving import Serving

__all__ = ["AgentSettings"]


@dataclass(frozen=True)
class AgentSettings:
    """The options of an agent, checked; see `Agent`."""

    model: Any
    tools: SortedTools
    serving: Serving | None
    driver: Driver
    storage: Any
    instructions: Instructions
    limits: RunLimits
    history: History
    hooks: HookList
    approve: Approval | None
    calls: CallOptions
    output: OutputReader
    name: str
    tracing: Tracing | None
    prompts: Prompts
    calls_agents: bool  # whether one of the tools is an agent

    def execution(self, ctx: RunContext[Any]) -> Execution:
        """What the tools of a run get."""
        return Execution(storage=ctx.storage, tools=self.tools, deps=ctx.deps)

    def runtime(
        self,
        ctx: RunContext[Any],
        execution: Execution,
        triggers: Triggers,
        stream: StreamMode,
        calls: CallMode,
    ) -> Runtime:
        """What the driver of a run works with."""
        # A mock has every attribute. No answer in the form of the schema calls a tool, as each must that has to.
        wants_schema = getattr(self.model, "structured_output", False) is True
        return Runtime(
            ctx=ctx,
            model=self.model,
            execution=execution,
            toolbox=self.tools.toolbox,
            triggers=triggers,
            history=self.history,
            instructions=self.instructions,
            answer_form=self.output.instructions,
            stream=stream,
            calls=calls,
            eager=self.calls.eager,
            output_schema=(
                self.output.schema if wants_schema and not ctx.limits.require_tool else None
            ),
            prompts=self.prompts,
        )

    @property
    def joins_exactly(self) -> bool:
        """Whether the driver reads text whose space is exact, even after reasoning; see `Driver`."""
        return getattr(self.driver, "joins_exactly", False) is True
