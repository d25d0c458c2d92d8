"""The model of a recording, and the hooks that make an agent's runs follow it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from ...hooks.hooks import Hooks
from ...models import ModelRequest
from ...runs.context import RunContext
from ...runs.result import Step
from ...types import TurnOutcome
from .recording import RecordedTurn

__all__ = ["FAST", "REALISTIC", "Pace", "Recorded", "RecordedModel"]


@dataclass(frozen=True)
class Pace:
    """How fast a session is played.

    Attributes:
        first_token: seconds until a model begins to answer.
        token: seconds between two tokens, on average.
        key: seconds between two keys that the user types.
    """

    first_token: float
    token: float
    key: float


REALISTIC = Pace(first_token=0.3, token=0.008, key=0.012)
FAST = Pace(first_token=0, token=0, key=0)


class RecordedModel:
    """Gives the recorded answers, turn by turn, whatever it is asked."""

    def __init__(self, turns: Sequence[RecordedTurn], pace: Pace) -> None:
        self._turns = [*turns]
        self._pace = pace
        self.name = "a recorded model"

    @property
    def next(self) -> RecordedTurn | None:
        """The turn that comes next; `None` when all were played."""
        return self._turns[0] if self._turns else None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        """Give the next turn as a model would: its tokens come unevenly."""
        turn = self._turns.pop(0)
        await asyncio.sleep(self._pace.first_token)
        unevenness = random.Random(len(turn.tokens))
        for token in turn.tokens:
            yield token
            if self._pace.token:
                await asyncio.sleep(self._pace.token * unevenness.uniform(0.2, 1.8))


class Recorded(Hooks):
    """Stops a run if the recording is over, or if the user writes next."""

    def __init__(self, model: RecordedModel) -> None:
        self._model = model

    def after_step(self, ctx: RunContext[Any], step: Step) -> Step:
        """Look at the next turn of the recording."""
        following = self._model.next
        is_over = step.kind == "final_response" or step.outcome is TurnOutcome.WAITING
        if is_over:
            return step
        if following is None:
            ctx.stop("the recording is over")
        elif following.user is not None:
            ctx.stop("the recording goes on with a question")
        return step
