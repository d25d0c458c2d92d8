"""The limit on a run's calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..calls.record import ToolExecution
from ..calls.tool_result import failure
from ..errors import BlockTool, StopRun
from ..hooks import Invocation, Next
from ..runs.limits import Account

if TYPE_CHECKING:
    from ..types import ToolResult

__all__ = ["CallLimit"]


class CallLimit:
    """Refuses the calls of a run beyond its limit; `layer` is the function around calls that does it.

    Args:
        account: what the run has used, against its limits.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        # Of the current step, by the ids of its calls.
        self._counted: set[str] = set()
        self._refused: dict[str, StopRun] = {}

    def begin_step(self) -> None:
        """Forget the calls of the step before."""
        self._counted.clear()
        self._refused.clear()

    async def layer(self, invocation: Invocation, next: Next) -> ToolResult:
        """Carry a call out, or tell the model why it is not. A call that a hook runs again counts once."""
        id = invocation.id
        reached = None if id in self._counted else self._account.take_call()
        if reached is None:
            self._counted.add(id)
            return await next(invocation)
        self._refused[id] = reached
        text = f"Not run: {reached.message}. Answer with what you have."
        return failure(text, BlockTool(text), "blocked")

    def give_back(self, dropped: Sequence[ToolExecution]) -> None:
        """Take back the count of calls that began early and were dropped."""
        for execution in dropped:
            id = execution.id
            self._refused.pop(id, None)
            if id in self._counted:
                self._counted.discard(id)
                self._account.give_back_call()

    def reached(self, executions: Sequence[ToolExecution]) -> StopRun | None:
        """The reason to stop after a step with these executions: the limit, if it refused every one of them."""
        if not self._refused or len(self._refused) != len(executions):
            return None
        return next(iter(self._refused.values()))
