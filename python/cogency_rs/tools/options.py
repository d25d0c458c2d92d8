"""`ToolOptions`: how the calls of a tool are carried out."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..types import ToolCall

if TYPE_CHECKING:
    from ..agent.context import RunContext

__all__ = [
    "MAX_SECONDS",
    "NO_OPTIONS",
    "ToolOptions",
    "all_options",
    "check_count",
    "check_seconds",
    "options_of",
]

MAX_SECONDS = 366 * 24 * 3600.0

NeedsApproval = bool | Callable[[ToolCall], "bool | Awaitable[bool]"]
IsVisible = bool | Callable[["RunContext[Any]"], bool]
Preview = Callable[[ToolCall], str | Awaitable[str]]

Remote = bool | Mapping[str, Any] | None
"""Whether the calls of a tool run in another process, and what they need there."""


def check_seconds(name: str, seconds: Any) -> None:
    """Check a time limit; `None` means no limit.

    Raises:
        ConfigError: it is not a number above 0 and at most a year.
    """
    if seconds is None:
        return
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (is_number and 0 < seconds <= MAX_SECONDS):
        raise ConfigError(f"{name} must be above 0 seconds and at most a year, got {seconds!r}")


def check_count(name: str, count: Any) -> None:
    """Check a bound on a number of things; `None` means no bound.

    Raises:
        ConfigError: it is not a whole number from 1 to `sys.maxsize`.
    """
    if count is None:
        return
    is_whole = isinstance(count, int) and not isinstance(count, bool)
    if not (is_whole and 0 < count <= sys.maxsize):
        raise ConfigError(f"{name} must be a whole number from 1 on, or None, got {count!r}")


@dataclass(frozen=True)
class ToolOptions:
    """How the calls of one tool are carried out. `@tool` takes these as keywords; a class has them as `options`.

    Attributes:
        timeout: seconds that one attempt may take, instead of the batch's `tool_timeout`. Time spent waiting for a
            person or for a free slot does not count.
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
        remote: whether calls run in another process, by an executor among the middleware such as `RayExecutor`: `True`,
            or what they need there (`{"num_cpus": 2}`); `False` to run here in any case; `None` to leave it to the
            executor, if there is one.
        preview: a function that describes what a call would do, for instance as a difference, to the person who is
            asked to approve it. It must have no effect; if it raises, the call is denied.

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

    def __post_init__(self) -> None:
        check_seconds("timeout", self.timeout)
        check_count("max_result_chars", self.max_result_chars)
        retries: object = self.retries
        if not isinstance(retries, int) or retries < 0:
            raise ConfigError(f"retries must be a whole number from 0 on, got {retries!r}")
        for name in ("sequential", "idempotent", "read_only", "ends_run"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be a bool, got {getattr(self, name)!r}")
        if not (isinstance(self.visible, bool) or callable(self.visible)):
            raise ConfigError(
                f"visible must be a bool or a function of the run, got {self.visible!r}"
            )
        if not (self.preview is None or callable(self.preview)):
            raise ConfigError(f"preview must be a function of the call, got {self.preview!r}")
        if retries and not self.may_run_twice:
            raise ConfigError(
                "retries need idempotent=True: a call that failed may have had its effect all the same, "
                "so only a tool that can be run twice is run again"
            )
        if not (isinstance(self.requires_approval, bool) or callable(self.requires_approval)):
            raise ConfigError(
                f"requires_approval must be a bool or a function of the call, got {self.requires_approval!r}"
            )
        remote: object = self.remote
        if not (remote is None or isinstance(remote, bool | Mapping)):
            raise ConfigError(
                f'remote must be True, False or what a call needs, such as {{"num_cpus": 1}}, got {remote!r}'
            )

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
