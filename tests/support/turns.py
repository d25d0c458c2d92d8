"""Carries out turns for tests, and keeps a journal of what was saved and emitted."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from contextlib import aclosing
from typing import Any, NamedTuple

from cogency_rs import Accumulator, Execution
from cogency_rs.turn.turn import Turn, TurnResult
from support.tools import block, rounds, stored

Entry = tuple[str, str, str | None]
"""What happened, and the type and content of the row or event: `("saved", "think", "hm")`."""

USER, CONVERSATION = "user-7", "conversation-1"


class Row(NamedTuple):
    """The arguments of `save_message`."""

    conversation_id: str
    user_id: str
    type: str
    content: str
    timestamp: float


class Log:
    """The smallest storage: it has only `save_message`, with positional arguments.

    Args:
        journal: gets an entry for every row.
        before: rounds of the event loop until a row is in the log.
        after: rounds from then until the save returns.
        fault: gets the number of a save, from 1; returns what to raise instead of saving, or `None`.
    """

    def __init__(
        self,
        journal: list[Entry] | None = None,
        *,
        before: int = 0,
        after: int = 0,
        fault: Callable[[int], BaseException | None] = lambda _: None,
    ) -> None:
        self.journal = [] if journal is None else journal
        self.saves: list[list[Row]] = []
        self.attempts = 0
        self._before, self._after, self._fault = before, after, fault

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.saves for row in rows]

    async def save_message(self, *row: Any) -> str:
        await self._save([row])
        return "id"

    async def _save(self, rows: Iterable[Iterable[Any]]) -> None:
        self.attempts += 1
        if error := self._fault(self.attempts):
            raise error
        await rounds(self._before)
        saved = [Row(*row) for row in rows]
        self.saves.append(saved)
        self.journal += [("saved", row.type, row.content) for row in saved]
        await rounds(self._after)


class BatchLog(Log):
    """A storage that can save several rows at once."""

    async def save_messages(self, rows: Iterable[Iterable[Any]]) -> list[str]:
        rows = list(rows)
        await self._save(rows)
        return ["id"] * len(rows)


LOGS = [Log, BatchLog]


class Chunks:
    """A model's stream, which counts how often it is asked and closed.

    Args:
        items: chunks of text or events, in order; exceptions among them are raised.
        pause: rounds of the event loop before each item.
    """

    def __init__(self, *items: Any, pause: int = 0) -> None:
        self._items = iter(items)
        self._pause = pause
        self.asked = 0
        self.closed = 0

    def __aiter__(self) -> Chunks:
        return self

    async def __anext__(self) -> Any:
        self.asked += 1
        await rounds(self._pause)
        for item in self._items:
            if isinstance(item, BaseException):
                raise item
            return item
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


def event(type: str, content: Any = None, **more: Any) -> dict[str, Any]:
    """An event as a parser makes it."""
    content = {} if content is None else {"content": content}
    return {"type": type, **content, "timestamp": 1.5, **more}


async def events_of(items: AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
    """Pass events on through a generator that is not one of the package's."""
    async for item in items:
        yield item


class Turns(Accumulator):
    """An accumulator of which a test sees what came of its last turn: `last`."""

    last: TurnResult | None = None

    def process(self, events: AsyncIterable[Any], **options: Any) -> Turn:
        turn = super().process(events, **options)
        self.last = turn.result
        return turn


def accumulator(execution: Execution, **options: Any) -> Turns:
    return Turns(USER, CONVERSATION, execution=execution, **options)


async def carry_out(
    turns: Accumulator, events: AsyncIterable[Any], journal: list[Entry] | None = None
) -> list[dict[str, Any]]:
    """Carry out one turn to its end; returns its events."""
    emitted: list[dict[str, Any]] = []
    async with aclosing(turns.process(events)) as stream:
        async for item in stream:
            emitted.append(item)
            if journal is not None:
                journal.append(("emitted", item["type"], item.get("content")))
    return emitted


def types(items: Iterable[Any]) -> list[str]:
    """The types of rows or events."""
    return [item["type"] if isinstance(item, dict) else item.type for item in items]


def results_in(items: Iterable[Any]) -> list[list[dict[str, Any]]]:
    """The results arrays among rows or events."""
    pairs = ((i["type"], i.get("content")) if isinstance(i, dict) else i[2:4] for i in items)
    return [
        json.loads(content) for type, content in pairs if type == "result" and content[:1] == "["
    ]


def check_answered(rows: Iterable[Row]) -> None:
    """Fail unless every call in the log has exactly one result, and every result its call."""
    asked: list[str] = []
    for row in rows:
        if row.type == "call":
            asked.append(json.loads(row.content)["name"])
        elif row.type == "result":
            assert asked, f"results that answer no call: {row.content}"
            assert [item["tool"] for item in json.loads(row.content)] == asked
            asked = []
    assert not asked, f"calls without a result: {asked}"


MODES = ["event", "token"]

STORED_OK = stored("ok")
FULL_TURN = f"<think>hm</think>so{block('ok', 'fail')}"


def saved(type: str, content: str) -> Entry:
    return ("saved", type, content)


def emitted(type: str, content: str | None = None) -> Entry:
    return ("emitted", type, content)


def both(type: str, content: str) -> list[Entry]:
    """The entries for a unit in event mode, where it is saved and then emitted."""
    return [saved(type, content), emitted(type, content)]
