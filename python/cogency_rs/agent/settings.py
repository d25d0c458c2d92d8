"""What all runs of an agent have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..context.history import History
from ..execution.call_options import CallOptions
from ..hooks import Approval
from ..hooks.hooks import HookList
from ..runs.limits import UsageLimits
from ..tools.toolbox import Toolbox
from ..types import Access
from .drivers import Driver
from .output import OutputReader
from .prompts import Prompts
from .recovery import Recovery
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

    @property
    def joins_exactly(self) -> bool:
        """Whether the driver reads text whose space is exact, even after reasoning; see `Driver`."""
        return getattr(self.driver, "joins_exactly", False) is True
