"""`ToolOptions`: how the calls of a tool are carried out, and the keywords of `@tool`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from ..calls.tool_result import AskOutcome, Reconcile
from ..guards.arguments import check_count, check_flag, check_seconds, refused
from ..runs.context import RunContext
from ..types import ToolCall

NeedsApproval = bool | Callable[[ToolCall], bool | Awaitable[bool]]
IsVisible = bool | Callable[[RunContext[Any]], bool]
Show = Callable[[ToolCall], str | Awaitable[str]]

Remote = bool | Mapping[str, Any] | None
"""Whether the calls of a tool run in another process, and what they need there."""


@dataclass(frozen=True)
class Retries:
    """What `@tool(idempotent=…)` takes for a tool whose failed calls are retried, with growing pauses.

    Attributes:
        times: how many times a call that raised or ran out of time is retried.

    Raises:
        ConfigError: `times` is not a whole number of at least 1.
    """

    times: int

    def __post_init__(self) -> None:
        check_count("times", self.times, or_none=False)


@dataclass(frozen=True)
class Preview:
    """What `@tool(requires_approval=…)` takes for a tool that shows what a call would do before it is approved.

    Attributes:
        show: describes what a call would do, for instance as a diff, to the person who is asked. It must have no
            effect; if it raises, the call is denied. A waiting call has its id; one that is about to run does not
            (see `ToolApproved.preview`).
        when: whether a call must be approved: a bool, or a function from the call to one.

    Raises:
        ConfigError: one of them is something else.
    """

    show: Show
    when: NeedsApproval = True

    def __post_init__(self) -> None:
        if not callable(self.show):
            raise refused("show", self.show, "a function of the call")
        if not (isinstance(self.when, bool) or callable(self.when)):
            raise refused("when", self.when, "True, False or a function of the call")


@dataclass(frozen=True)
class ToolOptions:
    """How the calls of one tool are carried out. `@tool` takes these as keywords; a class has them as `options`.

    Attributes:
        timeout: seconds that one attempt may take, instead of `CallOptions.timeout`. Time spent waiting for a person or
            for a free slot does not count.
        sequential: whether a call is a barrier: the calls before it in its batch end first, it runs alone, then the
            calls after it start.
        requires_approval: whether a call must be approved before it runs: a bool, a function from the call to one, or a
            `Preview`, which shows what the call would do.
        idempotent: whether a second attempt of the same call does no harm: `True`, or `Retries(times)` to retry
            failed calls, too.
        read_only: whether a call has no side effect, so that it may begin before its batch is complete, and may run
            twice.
        ends_run: whether the run is over when a call of this tool has succeeded.
        visible: whether an agent's prompt lists the tool: a bool, or a function from the run to one. A tool that is not
            listed can still be called.
        remote: whether calls run in another process, by an executor among the hooks such as `RayExecutor`: `True`,
            or what they need there (`{"num_cpus": 2}`); `False` to run here in any case; `None` to leave it to the
            executor, if there is one.
        reconcile: a function, or a `Reconcile`, that finds out whether a call happened whose program ended while it
            ran: `resume` calls it before it tells the model, or runs the call. It returns `Happened(result)`,
            `NotHappened()` or `Unknown(why)`; with `again_in=seconds`, it is asked again.
        asks_when: whether a call must be approved: a bool, or a function from the call to one.
        preview: what shows what a call would do; `None` if nothing does.

    Raises:
        ConfigError: an option has a value that cannot work.
    """

    timeout: float | None = None
    sequential: bool = False
    requires_approval: NeedsApproval | Preview = False
    idempotent: bool | Retries = False
    read_only: bool = False
    ends_run: bool = False
    visible: IsVisible = True
    remote: Remote = None
    reconcile: AskOutcome | Reconcile | None = None
    asks_when: NeedsApproval = field(init=False, repr=False, compare=False)
    preview: Show | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_seconds("timeout", self.timeout)
        for name in ("sequential", "read_only", "ends_run"):
            check_flag(name, getattr(self, name))
        if not isinstance(self.idempotent, bool | Retries):
            raise refused("idempotent", self.idempotent, "True, False or Retries(times)")
        if not (isinstance(self.visible, bool) or callable(self.visible)):
            raise refused("visible", self.visible, "True, False or a function of the run")
        if self.reconcile is not None:
            Reconcile.of(self.reconcile)  # refuses what is not one
        asks: object = self.requires_approval
        if not (isinstance(asks, bool | Preview) or callable(asks)):
            raise refused(
                "requires_approval", asks, "True, False, a function of the call, or a Preview"
            )
        remote: object = self.remote
        if not (remote is None or isinstance(remote, bool | Mapping)):
            raise refused(
                "remote", remote, 'True, False or what a call needs, such as {"num_cpus": 1}'
            )
        when, show = (asks.when, asks.show) if isinstance(asks, Preview) else (asks, None)
        object.__setattr__(self, "asks_when", when)
        object.__setattr__(self, "preview", show)

    @property
    def reconciling(self) -> Reconcile | None:
        """What tells whether a call happened; `None` if nothing does."""
        return Reconcile.of(self.reconcile)

    @property
    def retries(self) -> int:
        """How many times a call that raised or ran out of time is retried."""
        return self.idempotent.times if isinstance(self.idempotent, Retries) else 0

    @property
    def may_run_twice(self) -> bool:
        """Whether a call may be carried out again when it is not known how the first attempt ended."""
        return self.idempotent is not False or self.read_only


NO_OPTIONS = ToolOptions()


def all_options(tools: Iterable[Any]) -> list[ToolOptions]:
    """The options of every tool that has options. Those of `@tool` without any are left out."""
    return [
        options
        for tool in tools
        if (options := getattr(tool, "options", NO_OPTIONS)) is not NO_OPTIONS
        and type(options) is ToolOptions
    ]


def options_of(tool: Any) -> ToolOptions:
    """The options of a tool. Only a `ToolOptions` counts: a mock has every attribute."""
    options = getattr(tool, "options", None)
    return options if type(options) is ToolOptions else NO_OPTIONS


class ToolKeywords(TypedDict, total=False):
    """The fields of `ToolOptions` as keywords of `@tool`."""

    timeout: float | None
    sequential: bool
    requires_approval: NeedsApproval | Preview
    idempotent: bool | Retries
    read_only: bool
    ends_run: bool
    visible: IsVisible
    remote: Remote
    reconcile: AskOutcome | Reconcile | None
