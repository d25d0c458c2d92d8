"""A run, as its hooks and its driver see it: its limits, what it has used, and a model's whole answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import Any, Generic, Literal, TypeVar

from ..errors import StopReason, StopRun
from ..guards.arguments import (
    LIMIT_NAMES,
    check_choice,
    check_count,
    check_flag,
    check_names,
    check_seconds,
    refuse_misnamed,
)
from ..models import Delta, Finish, TextDelta
from ..models.request import NO_USAGE, Usage
from ..outside import monotonic, uuid7
from .result import Step

_Limits = TypeVar("_Limits")


def _notes_given(cls: type[_Limits]) -> type[_Limits]:
    """Let a dataclass note which of its fields a caller gave, even if with the value of its default.

    `dataclasses.replace` gives them all, and the note of the value before with them, which stays.
    """
    made: Any = cls
    init = made.__init__

    @wraps(init)
    def noting(self: _Limits, **values: Any) -> None:
        refuse_misnamed(cls.__name__, values, LIMIT_NAMES)
        init(self, **{"_given": frozenset(values), **values})

    made.__init__ = noting
    return cls


@_notes_given
@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """What ends a run: `limits=RunLimits(...)` of an `Agent`, or of one of its runs.

    Limits of one run override those of its agent, which apply where the run sets none.

    A run that reaches one of the first four stops before its next step; it does not fail. What the runs of agents that
    are its tools use counts, too.

    Attributes:
        steps: answers of the model; `None` for any number.
        tool_calls: calls that are carried out. Further calls are refused, with a result that says so; after a step in
            which every call was refused for this, the run stops.
        total_tokens: tokens of all kinds: read, written, cached, reasoned.
        seconds: seconds since the run began, and all that it waits for counts: its conversation, servers, hooks, the
            model, tools. What it does when they are over is stopped: running calls are cancelled, and their results are
            in the log. A hook that is told of an end has a second more, and rows are saved to the end.
        same_errors: equal errors in a row, by kind and tool; a success resets the count. `None` for any number.
        stop_at_tools: names of tools after which the run is over, as with `@tool(ends_run=True)`.
        require_tool: whether each answer must call a tool. Then only a tool can complete the run.
        finish_reasons: the provider's words for which a run stops, such as `"content_filter"`.
        on_busy: if another run has the conversation: `"wait"` for it, or `"error"` to end at once with `BusyError`.

    Raises:
        ConfigError: a bound below 1, seconds that are not above 0, or another value that cannot work.
    """

    steps: int | None = 20
    tool_calls: int | None = None
    total_tokens: int | None = None
    seconds: float | None = None
    same_errors: int | None = 5
    stop_at_tools: Sequence[str] | Set[str] = frozenset()
    require_tool: bool = False
    finish_reasons: Sequence[str] | Set[str] = frozenset()
    on_busy: Literal["wait", "error"] = "wait"
    _given: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("steps", "tool_calls", "total_tokens", "same_errors"):
            check_count(name, getattr(self, name))
        check_seconds("seconds", self.seconds)
        check_flag("require_tool", self.require_tool)
        check_choice("on_busy", self.on_busy, "wait", "error")
        for name in ("stop_at_tools", "finish_reasons"):
            object.__setattr__(self, name, check_names(name, getattr(self, name)))
        # What made this may have noted nothing, as pydantic, or noted it of another, as `dataclasses.replace`.
        changed = {each.name for each in fields(self) if getattr(self, each.name) != each.default}
        object.__setattr__(self, "_given", self._given | (changed - {"_given"}))

    def over(self, others: RunLimits) -> RunLimits:
        """These limits, and for what they do not say, those of `others`."""
        return replace(others, **{name: getattr(self, name) for name in self._given})


class Account:
    """What a run has used, and what it may still use.

    Its use counts for the run that called it, too, and so on upwards; if one of those has reached a limit, so has this
    run.

    Args:
        limits: the limits of the run.
        parent: the account of the run that called it.

    Attributes:
        steps: answers of the model.
        tool_calls: calls that were carried out.
        usage: tokens.
    """

    __slots__ = ("_began", "_has_run_out", "_limits", "_parent", "steps", "tool_calls", "usage")

    def __init__(self, limits: RunLimits, parent: Account | None = None) -> None:
        self._limits = limits
        self._parent = parent
        self._began: float | None = None
        self._has_run_out = False
        self.steps = 0
        self.tool_calls = 0
        self.usage: Usage = NO_USAGE

    def begin(self) -> None:
        """Start the clock."""
        self._began = monotonic()

    @property
    def seconds(self) -> float:
        """How long the run has lasted."""
        return 0.0 if self._began is None else monotonic() - self._began

    @property
    def seconds_left(self) -> float | None:
        """How long it may still last; `None` for no limit, negative when the time is over."""
        limit = self._limits.seconds
        return None if limit is None else limit - self.seconds

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time is over. Once it is, it stays so, even if the clock is set back."""
        left = self.seconds_left
        return self._has_run_out or (left is not None and left <= 0)

    def run_out(self) -> None:
        """Note that the time is over."""
        self._has_run_out = True

    def take_step(self) -> None:
        """Count an answer of the model."""
        self.steps += 1
        if self._parent is not None:
            self._parent.take_step()

    def take_usage(self, usage: Usage) -> None:
        """Count tokens."""
        self.usage = self.usage + usage
        if self._parent is not None:
            self._parent.take_usage(usage)

    @property
    def counts_calls(self) -> bool:
        """Whether there is a limit of calls."""
        parent = self._parent
        return self._limits.tool_calls is not None or (parent is not None and parent.counts_calls)

    @property
    def is_out_of_calls(self) -> bool:
        """Whether no further call would be carried out."""
        return self._out_of_calls() is not None

    def take_call(self) -> StopRun | None:
        """Count a call, if it may be carried out; else return why not."""
        refused = self._out_of_calls()
        if refused is None:
            self._count_calls(1)
        return refused

    def give_back_call(self) -> None:
        """Take back the count of a call."""
        self._count_calls(-1)

    def _count_calls(self, calls: int) -> None:
        self.tool_calls += calls
        if self._parent is not None:
            self._parent._count_calls(calls)

    def _out_of_calls(self) -> StopRun | None:
        most = self._limits.tool_calls
        if most is not None and self.tool_calls >= most:
            text = f"Tool call limit reached: {self.tool_calls}/{most}"
            return StopRun(text, reason=StopReason.TOOL_CALLS_LIMIT, source="limits")
        return None if self._parent is None else self._parent._out_of_calls()

    def reached(self) -> Iterator[StopRun]:
        """The limits that keep a further step from beginning."""
        limits, used = self._limits, self.usage
        if (most := limits.steps) is not None and self.steps >= most:
            text = f"Step limit reached: {self.steps}/{most}"
            yield StopRun(text, reason=StopReason.STEPS_LIMIT, source="limits")
        if (most := limits.total_tokens) is not None and used.total_tokens >= most:
            text = f"Token limit reached: {used.total_tokens}/{most}"
            yield StopRun(text, reason=StopReason.TOKEN_LIMIT, source="limits")
        if self.is_out_of_time:
            yield self.out_of_time()
        if self._parent is not None:
            yield from self._parent.reached()

    def out_of_time(self) -> StopRun:
        """The signal that the time is over."""
        message = f"Time limit reached: {self.seconds:.1f}/{self._limits.seconds:g} s"
        return StopRun(message, reason=StopReason.TIME_LIMIT, source="limits")


@dataclass(frozen=True)
class ModelResponse:
    """What a model answered to one request.

    Attributes:
        request_id: the `ModelRequest` that it answers.
        deltas: its pieces, in order.
        usage: the tokens that it used.
    """

    request_id: str
    deltas: tuple[str | Delta, ...]
    usage: Usage = field(default_factory=Usage)

    @property
    def text(self) -> str:
        """The text of the answer."""
        pieces = (
            delta if isinstance(delta, str) else delta.text
            for delta in self.deltas
            if isinstance(delta, str | TextDelta)
        )
        return "".join(pieces)

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped, if that is known."""
        reasons = [delta.reason for delta in self.deltas if isinstance(delta, Finish)]
        return reasons[-1] if reasons else None


Deps = TypeVar("Deps")


class RunContext(Generic[Deps]):
    """One run.

    Attributes:
        run_id: the run's own id.
        conversation_id: the conversation's id.
        user_id: the id of its user; may be empty.
        deps: the object that the program gave to the run.
        question: the user's question; "" if the run is resumed.
        storage: the log.
        state: a dict for the notes of hooks; tools read it. It lasts as long as the run.
        steps: the steps that are over.
        step: the number of the step that runs, from 0.
        parent: the run that called this one, if its agent is a tool of another; else `None`.
        limits: what ends the run.
        account: what the run has used, against its limits.
    """

    def __init__(
        self,
        *,
        conversation_id: str,
        user_id: str,
        deps: Deps,
        question: str,
        storage: Any,
        limits: RunLimits | None = None,
        parent: RunContext[Any] | None = None,
    ) -> None:
        self.run_id = uuid7()
        self.conversation_id = conversation_id
        self.user_id = user_id
        self.deps = deps
        self.question = question
        self.storage = storage
        self.parent = parent
        self.state: dict[str, Any] = {}
        self.steps: list[Step] = []
        self.step = 0
        self.limits: RunLimits = limits or RunLimits()
        self.account: Account = Account(self.limits, None if parent is None else parent.account)
        self._signals: list[StopRun] = []
        self._is_to_go_on = False

    @property
    def usage(self) -> Usage:
        """The tokens used so far, including those of the runs that this one called."""
        return self.account.usage

    @property
    def depth(self) -> int:
        """How many runs are above this one."""
        return 0 if self.parent is None else self.parent.depth + 1

    def stop(
        self,
        message: str = "",
        *,
        reason: StopReason = StopReason.STOP_REQUESTED,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        """Ask the run to stop after the current step."""
        self.add(StopRun(message, reason=reason, context=context, source="hook"))

    def go_on(self) -> None:
        """Ask the run to go on after the current step, even if something asked it to stop.

        A request through `RunHandle.stop` is not overruled, nor the end of the run's time.
        """
        self._is_to_go_on = True

    def add(self, signal: StopRun) -> None:
        """Note a reason to stop the run."""
        self._signals.append(signal)

    @property
    def signals(self) -> list[StopRun]:
        """The reasons to stop the run, in the order in which they came."""
        return self._signals

    @property
    def is_to_go_on(self) -> bool:
        """Whether a hook asked the run to go on, no person asked it to stop, and it has time left."""
        return (
            self._is_to_go_on
            and not self.account.is_out_of_time
            and not any(signal.reason is StopReason.USER_REQUESTED for signal in self._signals)
        )

    def went_on(self) -> None:
        """Forget the requests to stop and to go on, since the run goes on: they were about the step before."""
        self._signals = []
        self._is_to_go_on = False
