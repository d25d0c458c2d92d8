"""What a world notes for its judge: what was written by models, what happened in the world, and what was decided.

Nothing here comes from a log of the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .plan import Verdict

__all__ = ["Decided", "Effect", "Ledger", "Prompt", "Question", "Told", "Written"]


@dataclass
class Written:
    """A call as a model wrote it.

    Attributes:
        mark: names it, as `C12x`: in its arguments, and in its receipt as `R12x`. Never used twice.
        tool: the tool's name.
        amount: the other argument.
        talk: the conversation.
        prompt: the number of the prompt that it answers.
        is_whole: whether all of it was written, in a block that can be read.
        may_be_left: whether the answer was cut or has a block that cannot be read, so that none of its calls may run.
        is_told: whether a model must be told of a block that cannot be read: not if its answer was cut, too.
    """

    mark: str
    tool: str
    amount: int
    talk: str
    prompt: int
    is_whole: bool = True
    is_told: bool = True
    may_be_left: bool = False


@dataclass(frozen=True)
class Effect:
    """What a tool did in the world.

    Attributes:
        mark: the call's.
        amount: the amount that it was given.
        key: the idempotency key, `ToolContext.execution_id`.
        at: the number of the event.
        process: who did it.
        rates: what its preview said at the last moment at which it can have been looked at, and when it began.
    """

    mark: str
    amount: int
    key: str
    at: int
    process: str
    rates: tuple[int, int] = (0, 0)


@dataclass
class Decided:
    """A decision about a call that was shown.

    Attributes:
        mark: the call that was shown.
        verdict: what was decided.
        amount: the amount of an edited call.
        begun: the number of the event at which it was delivered.
        rate: what its preview said when it was shown.
        taken: at which the agent had taken it without an error; `None` if it has not.
    """

    mark: str
    verdict: Verdict
    amount: int | None
    begun: int
    taken: int | None = None
    rate: int = 0


@dataclass(frozen=True)
class Told:
    """What a person said became of a call."""

    mark: str
    happened: bool
    at: int


@dataclass(frozen=True)
class Prompt:
    """The messages that a model was sent.

    Attributes:
        number: its place among all.
        at: the number of the event.
        talk: the conversation.
        run: which run.
        process: whose.
        messages: what was sent.
    """

    number: int
    at: int
    talk: str
    run: int
    process: str
    messages: tuple[dict[str, Any], ...]


@dataclass
class Question:
    """A question that was asked.

    Attributes:
        mark: names it, as `Q3x`.
        talk: the conversation.
        by_owner: whether the owner of the conversation asked it.
        text: the answer of the run, if it is over.
        error: the exception that ended it.
    """

    mark: str
    talk: str
    by_owner: bool = True
    text: str | None = None
    status: str = ""
    error: BaseException | None = None


@dataclass
class Ledger:
    """All notes of a world, in the order of its events."""

    calls: dict[str, Written] = field(default_factory=dict)
    broken: dict[str, Written] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    refused: list[str] = field(
        default_factory=list
    )  # marks of calls whose tool failed, without an effect
    decided: list[Decided] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)  # of forks
    last: dict[str, int] = field(default_factory=dict)  # the last prompt of each conversation
    wrong: list[str] = field(default_factory=list)  # what could not be carried out at all
    has_troubles: bool = False  # whether a process, a clock or the database went wrong
    events: int = 0
    runs: int = 0
    answers: dict[str, str] = field(default_factory=dict)  # the conversation of each answer
    answered_in: dict[str, int] = field(default_factory=dict)  # the prompt that each answers
    outlived: set[int] = field(
        default_factory=set
    )  # runs that had lost their conversation, or may have
    overlapping: set[str] = field(
        default_factory=set
    )  # conversations of which two runs went on at once

    def event(self) -> int:
        """The number of the next event."""
        self.events += 1
        return self.events

    def has_effect(self, mark: str) -> bool:
        """Whether a call has happened."""
        return any(effect.mark == mark for effect in self.effects)
