"""Both ways to carry out a batch: its calls begin while the model still writes them, or when it is complete.

A test module that has `in_both_ways` among its marks runs each of its tests in both ways. A test that holds for
the second way only says so with `only_at_the_end("why")`.

`Way.until_complete` waits until the calls that have begun count, for tests that stop a turn in the middle of its batch.

In the eager way every tool counts as one that only reads, and every source is slow: it lets the event loop run after
each brace that may end a call, and announces the calls of parsers that do not announce them.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

import cogency_rs.turn.early_calls as early_module
import cogency_rs.turn.turn as turn_module
from cogency_rs.execution.batch import ToolBatch
from cogency_rs.protocol import ClosedOnce, TextStream
from cogency_rs.turn.early_calls import EarlyCalls
from support.tools import rounds

__all__ = [
    "AT_THE_END",
    "WAYS",
    "Way",
    "eager",
    "in_both_ways",
    "only_at_the_end",
]

WAYS = ["at the end", "eager"]

in_both_ways = pytest.mark.usefixtures("both_ways")
"""Runs each test of a module in both ways."""

only_at_the_end = pytest.mark.only_at_the_end
"""Runs a test of such a module only in the way in which calls begin at the end; called with the reason."""

PAUSE = 2
"""Rounds of the event loop between parts: enough for a call to start, and to end if it waits for nothing."""


@dataclass
class Way:
    """How the calls of a test begin.

    Attributes:
        is_eager: whether they may begin before their batch is complete.
        begun: how many calls began early.
        missed: how many batches were complete before their first call had begun, although it might have begun early.
    """

    is_eager: bool
    begun: int = 0
    missed: int = 0
    _open: list[ToolBatch] = field(default_factory=list)

    async def until_complete(self, started: asyncio.Event | None = None) -> None:
        """Wait until `started` is set and no batch is open, so that the calls that have begun count."""
        if started is not None:
            await started.wait()
        while self._open:
            await rounds(1)


AT_THE_END = Way(is_eager=False)


def eager(monkeypatch: pytest.MonkeyPatch) -> Way:
    """Let calls of every tool begin early, unless it is sequential or needs approval."""
    way = Way(is_eager=True)
    begin_early, forget, complete = ToolBatch.begin_early, ToolBatch.forget, EarlyCalls.complete

    def begun(batch: ToolBatch, call: Any, record: Any) -> None:
        way.begun += 1
        if batch not in way._open:
            way._open.append(batch)
        begin_early(batch, call, record)

    def forgotten(batch: ToolBatch, first: int) -> Any:
        if first == 0:
            way._open.remove(batch)
        return forget(batch, first)

    def completed(early: EarlyCalls) -> Any:
        calls, has_begun = early._log.calls, early._batch is not None
        batch, events = complete(early)
        if has_begun:
            way._open.remove(batch)
        elif calls:
            way.missed += early_module._may_begin(calls[0], batch._settings.tools)
        return batch, events

    monkeypatch.setattr(ToolBatch, "begin_early", begun)
    monkeypatch.setattr(ToolBatch, "forget", forgotten)
    monkeypatch.setattr(EarlyCalls, "complete", completed)
    monkeypatch.setattr(
        early_module,
        "may_begin_early",
        lambda options: not options.sequential and options.asks_when is False,
    )
    monkeypatch.setattr(turn_module, "may_have_early_calls", lambda tools: True)
    monkeypatch.setattr(turn_module, "ClosedOnce", partial(_event_source, ClosedOnce))
    open_text = TextStream.open

    def open_slowly(text: TextStream, sink: Any) -> Any:
        source = text._source
        text._source = _Pieces(_whole(source) if isinstance(source, str) else source)
        return open_text(text, sink)

    monkeypatch.setattr(TextStream, "open", open_slowly)
    return way


async def _whole(text: str) -> AsyncIterator[str]:
    yield text


class _Slowed(ABC):
    """Hands on the items of another iterator in parts, with pauses between the parts; closing it closes the other."""

    def __init__(self, source: Any) -> None:
        self._source = aiter(source)
        self._left: list[Any] = []
        if hasattr(self._source, "aclose"):
            self.aclose: Callable[[], Any] = self._source.aclose

    def __aiter__(self) -> _Slowed:
        return self

    async def __anext__(self) -> Any:
        if not self._left:
            self._left = self.parts(await anext(self._source))
        else:
            await rounds(PAUSE)
        return self._left.pop(0)

    @abstractmethod
    def parts(self, item: Any) -> list[Any]:
        """The parts of an item, in order."""


class _Pieces(_Slowed):
    """Text, cut after each brace that may end a call."""

    def parts(self, item: Any) -> list[Any]:
        return re.split(r"(?<=\})(?=.)", item, flags=re.DOTALL) if type(item) is str else [item]


class _Announced(_Slowed):
    """Events, each `call` with a `call_ready` before it."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self._ready = 0  # calls that the source has announced itself

    def parts(self, item: Any) -> list[Any]:
        if item["type"] == "call_ready":
            self._ready += 1
        elif item["type"] == "call":
            if not self._ready:
                return [{**item, "type": "call_ready"}, item]
            self._ready -= 1
        return [item]


def _event_source(make: Any, iterator: Any, *given: Any) -> ClosedOnce:
    return make(_Announced(iterator), *given)
