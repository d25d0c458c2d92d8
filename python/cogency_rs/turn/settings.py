"""How the turns of one conversation are carried out, and what one turn is made of."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .._core import CircuitBreaker
from ..calls.record import CallRecord, ToolExecution
from ..calls.tool_result import is_result
from ..execution.batch import ToolBatch
from ..execution.host import BatchSettings
from ..execution.scheduling import CallOptions
from ..execution.tool_events import ToolEvents
from ..hooks.approval import Approval
from ..hooks.hooks import HookList
from ..protocol import parse_tool_call
from ..storage.claims import Claim, ClaimOfRun
from ..storage.log import Part
from ..tools.options import ToolOptions, all_options
from ..tools.registry import is_blocking
from ..tools.toolbox import ResolvedCall, Toolbox
from ..types import Execution, StreamMode, ToolCall

OnDropped: TypeAlias = Callable[[Sequence[ToolExecution]], None]
"""Called with the executions of calls that began early and do not count."""

_NO_CLAIM = nullcontext()
"""One for all turns: it holds nothing."""


@dataclass(frozen=True, slots=True)
class TurnRules:
    """What the drop-in does as cogency 3.3.0 does it.

    Attributes:
        parse_call: reads a call that another parser wrote.
        is_blocking: whether a tool, with its `execute`, runs in a worker thread.
        is_result: whether what a tool returned is a result, and not the content of one.
        toolbox: which tool a call means.
        breaker: makes the circuit breaker, of how many failures in a row are allowed.
        keeps_text: whether the text of a turn that is left is saved.
    """

    parse_call: Callable[[str], ToolCall] = parse_tool_call
    is_blocking: Callable[[Any, Any], bool] = is_blocking
    is_result: Callable[[object], bool] = is_result
    toolbox: Callable[[Any], Toolbox] = Toolbox.of
    breaker: Callable[[int], CircuitBreaker] = CircuitBreaker
    keeps_text: bool = True


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How the turns of one conversation are carried out; see the arguments of `Accumulator`.

    Attributes:
        tools: which tool a call means; `None` if the tools may change from turn to turn, as those of a list may.
    """

    user_id: str
    conversation_id: str
    execution: Execution
    stream: StreamMode
    calls: CallOptions
    hooks: HookList
    approve: Approval | Literal["wait"] | None
    on_busy: Literal["wait", "error"] | None
    on_dropped: OnDropped | None
    tools: Toolbox | None
    rules: TurnRules

    def toolbox(self) -> Toolbox:
        """Which tool a call means."""
        return self.tools or self.rules.toolbox(self.execution.tools)

    def tool_options(self) -> Sequence[ToolOptions]:
        """The options of the tools that have some."""
        return all_options(self.execution.tools) if self.tools is None else self.tools.options

    def claimed(self) -> AbstractAsyncContextManager[Claim | None]:
        """Claims the conversation, if that is asked for."""
        if self.on_busy is None:
            return _NO_CLAIM
        wait = self.on_busy == "wait"
        storage: Any = self.execution.storage
        return ClaimOfRun(storage.claim(self.conversation_id, wait=wait))

    def may_be_held(self, calls: Sequence[ResolvedCall]) -> bool:
        """Whether one of these calls may have to wait for something before its tool is started."""
        most = self.calls.max_concurrency
        if self.hooks.is_around_calls or len(calls) > (most or len(calls)):
            return True
        wants = all_options([tool for _, tool in calls])
        return any(want.asks_when or (want.sequential and calls[1:]) for want in wants)

    def batch(
        self,
        state: dict[str, Any],
        claim: Claim | None,
        tools: Toolbox,
        tool_events: ToolEvents,
    ) -> ToolBatch:
        """A batch without calls."""
        settings = BatchSettings(
            tools=tools,
            execution=self.execution,
            user_id=self.user_id,
            conversation_id=self.conversation_id,
            options=self.calls,
            hooks=self.hooks,
            approval=None if self.approve == "wait" else self.approve,
            state=state,
            is_blocking=self.rules.is_blocking,
            is_result=self.rules.is_result,
            run=tool_events,
            in_run=None if claim is None else claim.enter_context,
        )
        return ToolBatch(settings)


@dataclass(frozen=True, slots=True)
class TurnSource:
    """What a turn is made of; see the arguments of `Accumulator.process`."""

    events: AsyncIterable[Any]
    known: Sequence[CallRecord]
    goes_on: bool
    parts_of_calls: Callable[[], tuple[Part, ...]]
