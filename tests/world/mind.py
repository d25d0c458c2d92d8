"""The model of all agents of a world: it answers by the plan, and notes each prompt."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from cogency_rs.errors import LLMError
from cogency_rs.models import ModelRequest

from .ledger import Prompt, Written
from .loop import HERE
from .machine import RUN
from .plan import Call, Step
from .writing import Writer

if TYPE_CHECKING:
    from .world import World

__all__ = ["Mind"]

_MARK = re.compile(r"\bQ\d+x\b")


class Mind:
    """The model.

    Args:
        world: the world that it is in.

    Attributes:
        calls: what it has called, by their marks.
        together: the marks of calls that are decided about together.
        read: the questions that it has read.
        known: ids of earlier calls, as people saw them.
    """

    name = provider = "world"
    keeps_messages = True

    def __init__(self, world: World) -> None:
        plan = world.plan
        self._ledger = world.ledger
        self.calls: dict[str, Call] = {}
        self.together: set[str] = set()
        self.read: set[str] = set()
        self._marks = 0
        self._writer = Writer(plan.dialect, plan.ids, _id_like_ours, Random(plan.seed))
        self.known = self._writer.known
        self._cuts = Random(plan.cuts)
        self._latest: dict[str, str] = {}
        self._steps: dict[str, list[Step]] = {}

    def mark(self, letter: str) -> str:
        """A mark that nothing else has. One that is cut does not count."""
        self._marks += 1
        return f"{letter}{self._marks}x"

    def will_answer(self, question: str, talk: str, steps: Sequence[Step]) -> None:
        """Note what is answered to a question."""
        self._latest[talk] = question
        self._steps[question] = list(steps)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        """Answer a prompt."""
        talk, run = RUN.get()
        here: Any = HERE.get()
        prompt = self._sent(talk, run, here.name, request)
        pieces, ends = self._answer(talk, prompt)
        for piece, pause in pieces:
            if pause:
                await asyncio.sleep(pause)
            yield piece
        if ends == "error":
            raise LLMError("the service broke off")

    def _sent(self, talk: str, run: int, process: str, request: ModelRequest) -> Prompt:
        ledger = self._ledger
        messages = tuple(dict(message) for message in request.messages)
        prompt = Prompt(len(ledger.prompts), ledger.event(), talk, run, process, messages)
        ledger.prompts.append(prompt)
        return prompt

    def _answer(self, talk: str, prompt: Prompt) -> tuple[list[tuple[Any, float]], str]:
        """The pieces of the answer to a prompt, with the seconds before each, and how it ends."""
        found: list[str] = []
        for message in prompt.messages[1:]:
            content = message["content"]
            if message["role"] == "user" and isinstance(content, str) and "Q" in content:
                found += _MARK.findall(content)
        self.read.update(found)
        question = found[-1] if found else self._latest.get(talk, "")
        steps = self._steps.get(question)
        step = steps.pop(0) if steps else Step(())
        calls = [self._written(call, talk, prompt) for call in step.calls]
        if step.together:
            self.together.update(call.mark for call in calls)
        broken: list[tuple[str, Written]] = []
        if step.broken:
            mark = self.mark("B")
            wrong = Written(mark, "pay", 0, talk, prompt.number, is_whole=False)
            wrong.is_told = step.ends == "whole"
            self._ledger.broken[mark] = wrong
            broken.append((step.broken, wrong))
        words = f"{self.mark('W')} I call." if step.words else ""
        if not step.calls and not broken:
            mark = self.mark("A")
            self._ledger.answers[mark] = talk
            self._ledger.answered_in[mark] = prompt.number
            words = f"{mark} done."
        pieces = self._writer.pieces(self._cuts, words, calls, broken, part=step.at, ends=step.ends)
        paused = [(piece, self._cuts.choice((0.0, 0.0, 0.0, 0.02))) for piece in pieces]
        return paused, step.ends

    def _written(self, call: Call, talk: str, prompt: Prompt) -> Written:
        mark = self.mark("C")
        written = Written(mark, call.tool, self._marks * 10, talk, prompt.number)
        self._ledger.calls[mark] = written
        self.calls[mark] = call
        return written


def _id_like_ours() -> str:
    here: Any = HERE.get()
    return str(here.new_id())
