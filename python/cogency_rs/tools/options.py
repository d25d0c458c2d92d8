"""`ToolOptions`: how the calls of a tool are carried out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypedDict

from ..calls.settlement import AskOutcome, Reconcile
from ..errors import ConfigError
from ..guards.arguments import (
    check_count,
    check_flag,
    check_function,
    check_seconds,
    refused,
)
from ..types import ToolCall

if TYPE_CHECKING:
    from ..runs.context import RunContext

__all__ = [
    "NO_OPTIONS",
    "ToolKeywords",
    "ToolOptions",
    "all_options",
    "options_of",
]

NeedsApproval = bool | Callable[[ToolCall], "bool | Awaitable[bool]"]
IsVisible = bool | Callable[["RunContext[Any]"], bool]
Preview = Callable[[ToolCall], str | Awaitable[str]]

Remote = bool | Mapping[str, Any] | None
"""Whether the calls of a tool run in another process, and what they need there."""


class ToolKeywords(TypedDict, total=False):
    """The fields of `ToolOptions` as keywords of `@tool`."""

    timeout: float | None
    retries: int
    sequential: bool
    requires_approval: NeedsApproval
    idempotent: bool
    read_only: bool
    ends_run: bool
    visible: IsVisible
    max_result_chars: int | None
    remote: Remote
    preview: Preview | None
    reconcile: AskOutcome | Reconcile | None


@dataclass(frozen=True)
class ToolOptions:
    """How the calls of one tool are carried out. `@tool` takes these as keywords; a class has them as `options`.

    Attributes:
        timeout: seconds that one attempt may take, instead of `CallOptions.timeout`. Time spent waiting for a person or
            for a free slot does not count.
        retries: how often a call that raised or ran out of time is tried again; only for a tool that may run twice.
        sequential: whether a call is a barrier: the calls before it in its batch end first, it runs alone, then the
            calls after it start.
        requires_approval: whether a call must be approved before it runs: a bool, or a function from the call to one.
        idempotent: whether a second attempt of the same call does no harm.
        read_only: whether a call has no effect outside, so that it may begin before its batch is complete, and may run
            twice.
        ends_run: whether the run is over when a call of this tool has succeeded.
        visible: whether an agent's prompt lists the tool: a bool, or a function from the run to one. A tool that is not
            listed can still be called.
        max_result_chars: how many characters of a result's content the model is shown, instead of the history's
            `max_result_chars`. The log keeps all of them.
        remote: whether calls run in another process, by an executor among the hooks such as `RayExecutor`: `True`,
            or what they need there (`{"num_cpus": 2}`); `False` to run here in any case; `None` to leave it to the
            executor, if there is one.
        reconcile: a function, or a `Reconcile`, that looks whether a call happened whose program ended while it ran:
            `resume` asks it before it tells the model, or runs the call. It answers `Happened(result)`, `NotHappened()`
            or `Unknown(why)`.
        preview: a function that describes what a call would do, for instance as a difference, to the person who is
            asked to approve it. It must have no effect; if it raises, the call is denied. A call that waits has its id;
            a call that is about to run does not (see `ToolApproved.preview`).

    Raises:
        ConfigError: an option has a value that it cannot have.
    """

    timeout: float | None = None
    retries: int = 0
    sequential: bool = False
    requires_approval: NeedsApproval = False
    idempotent: bool = False
    read_only: bool = False
    ends_run: bool = False
    visible: IsVisible = True
    max_result_chars: int | None = None
    remote: Remote = None
    preview: Preview | None = None
    reconcile: AskOutcome | Reconcile | None = None

    def __post_init__(self) -> None:
        check_seconds("timeout", self.timeout)
        check_count("max_result_chars", self.max_result_chars)
        check_count("retries", self.retries, least=0, or_none=False)
        for name in ("sequential", "idempotent", "read_only", "ends_run"):
            check_flag(name, getattr(self, name))
        if not (isinstance(self.visible, bool) or callable(self.visible)):
            raise refused("visible", self.visible, "True, False or a function of the run")
        check_function("preview", self.preview, "a function of the call, or None")
        Reconcile.of(self.reconcile)  # refuses what is not one
        if self.retries and not self.may_run_twice:
            raise ConfigError(
                "retries need idempotent=True: a call that failed may have had its effect all the same, "
                "so only a tool that can be run twice is run again"
            )
        if not (isinstance(self.requires_approval, bool) or callable(self.requires_approval)):
            raise refused(
                "requires_approval", self.requires_approval, "True, False or a function of the call"
            )
        remote: object = self.remote
        if not (remote is None or isinstance(remote, bool | Mapping)):
            raise refused(
                "remote", remote, 'True, False or what a call needs, such as {"num_cpus": 1}'
            )

    @property
    def reconciling(self) -> Reconcile | None:
        """What tells whether a call happened; `None` if nothing does."""
        return Reconcile.of(self.reconcile)

    @property
    def may_run_twice(self) -> bool:
        """Whether a call may be carried out again when it is not known how the first attempt ended."""
        return self.idempotent or self.read_only


NO_OPTIONS = ToolOptions()


def all_options(tools: Iterable[Any]) -> list[ToolOptions]:
    """The options of every tool that has options."""
    found = map(getattr, tools, repeat("options"), repeat(None))
    return [options for options in found if type(options) is ToolOptions]


def options_of(tool: Any) -> ToolOptions:
    """The options of a tool. Only a `ToolOptions` counts: a mock has every attribute."""
    options = getattr(tool, "options", None)
    return options if type(options) is ToolOptions else NO_OPTIONS
