"""The log in memory: gone with the object, and otherwise like any other.

It has a bound, since a program that runs for months must not keep every conversation. Those that were used longest ago
are dropped, whole, and never one that a run has claimed. To name one afterwards is an error, and not an empty
conversation: a model would answer as if nothing had been said.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from itertools import count, islice
from math import inf
from sys import getsizeof
from typing import Any, NamedTuple

from ..calls.record import CallRecord
from ..errors import ConfigError, StorageError
from ..outside import uuid7
from .claims import Claim, Claims
from .log import Begun, Conversation, LogPage, Row
from .rows import END_OF_TIME, Origin, check_saved, risen

logger: logging.Logger = logging.getLogger(__name__)

MAX_BYTES = 64 * 2**20
"""What a `Memory` holds by default, in bytes, before it drops conversations."""

_CONVERSATION_SIZE, _ROW_SIZE, _CALL_SIZE = 1_000, 250, 800
"""Bytes that each of these takes besides its texts, in CPython of 64 bits."""

_KNOWN_DROPPED = 10_000
"""How many dropped conversations are remembered, each as one number."""


class _StoredRow(NamedTuple):
    """A row that is kept.

    Attributes:
        position: a number that is never given twice.
        user: whose it is.
        row: as it was handed over.
        timestamp: as it is shown; see `rows.py`.
    """

    position: int
    user: str
    row: Row
    timestamp: float


class _Conversation:
    """One conversation.

    Attributes:
        rows: in the order in which they were saved.
        latest: the largest of their timestamps that is below `END_OF_TIME`.
        records: the user and the record of each call, and where its row is among all, by batch and position.
        size: about how many bytes it takes.
        origin: where it comes from, if it is a fork.
    """

    __slots__ = ("latest", "origin", "records", "rows", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.origin: Origin | None = None
        self.rows: list[_StoredRow] = []
        self.latest = -inf
        self.records: dict[tuple[str, int], tuple[str, CallRecord, float]] = {}


class Memory:
    """A `Log` in memory, for one event loop at a time.

    An agent without a storage writes to it, and so do tests. An append costs O(new rows); a read costs O(rows after the
    cursor).

    Args:
        max_bytes: about how much it holds. Above that, an append drops the least recently used conversations,
            whole; never the one that is written, and none that a run has claimed, so that these may exceed it. `None`
            for no bound.

    Raises:
        ConfigError: `max_bytes` is not a positive number.

    Attributes:
        is_durable: false: what it holds ends with the program, so that a turn saves results only with their batch.
        dropped: how many conversations it has dropped. The first is logged, as a warning. Naming one of the last 10,000
            of them raises `StorageError`, until `delete_conversation` lets it begin again.
    """

    is_durable = False

    def __init__(self, *, max_bytes: int | None = MAX_BYTES) -> None:
        if max_bytes is not None and max_bytes < 1:
            raise ConfigError(
                f"max_bytes must be 1 or more, or None for no bound; got {max_bytes!r}"
            )
        self.dropped = 0
        self._max_bytes = max_bytes
        self._conversations: dict[str, _Conversation] = {}
        self._size = 0
        self._idle: OrderedDict[str, None] = OrderedDict()  # without a claim, the latest used last
        # Noted only: the garbage collector may give a claim back in the middle of anything.
        self._freed: deque[str] = deque()
        self._claims = Claims(on_free=self._freed.append)
        self._known_dropped: OrderedDict[int, None] = OrderedDict()  # hashes of their ids
        self._numbers = count(1)
        self._id = uuid7()
        self._saved: asyncio.Future[None] | None = None

    @property
    def size(self) -> int:
        """About how many bytes the conversations take."""
        return self._size

    def append(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        rows: Sequence[Row],
        calls: Sequence[CallRecord] = (),
    ) -> asyncio.Future[None]:
        """Save rows and calls; see `Log.append`."""
        check_saved(conversation_id, user_id, rows, calls)
        self._check(rows, calls)
        conversation = self._find(conversation_id)
        if conversation is None and (rows or calls):
            conversation = self._conversations[conversation_id] = _Conversation(
                _CONVERSATION_SIZE + getsizeof(conversation_id)
            )
            self._size += conversation.size
        if conversation is not None:
            before = conversation.size
            self._add(conversation, user_id, rows, calls)
            self._size += conversation.size - before
            self._keep_the_bound(conversation_id)
        return self._is_saved()

    def _is_saved(self) -> asyncio.Future[None]:
        """A save that is over: one for all of a loop, since it holds nothing and nothing can change it."""
        saved, loop = self._saved, asyncio.get_running_loop()
        if saved is None or saved.get_loop() is not loop:
            self._saved = saved = loop.create_future()
            saved.set_result(None)
        return saved

    def _add(
        self,
        conversation: _Conversation,
        user_id: str,
        rows: Sequence[Row],
        calls: Sequence[CallRecord],
    ) -> None:
        stored, numbers = conversation.rows, self._numbers
        size = conversation.size
        for row in rows:
            timestamp = risen(row[2], conversation.latest)
            stored.append(_StoredRow(next(numbers), user_id, row, timestamp))
            size += _size_of_row(row)
            if timestamp < END_OF_TIME:
                conversation.latest = timestamp
        if calls:
            from ..calls.record import NEW  # here, since most rows have no calls

            for call in calls:
                place = call.batch, call.position
                known = conversation.records.get(place)
                of_row = inf
                if known is None:
                    size += _CALL_SIZE + call.id.__sizeof__()
                else:
                    size -= _size_of_texts(known[1])
                    of_row = known[2]
                if of_row == inf and call.status in NEW:
                    of_row = next(numbers)
                size += _size_of_texts(call)
                conversation.records[place] = (user_id, call, of_row)
        conversation.size = size

    def _check(self, rows: Sequence[Row], calls: Sequence[CallRecord]) -> None:
        try:
            for _, content, *_ in rows:
                if not content.isascii():
                    content.encode()
            for call in calls:
                if not call.name.isascii():
                    call.name.encode()
        except UnicodeError as error:
            raise StorageError(
                f"a row is not text that can be stored: {error}", cause=error
            ) from error

    async def read(
        self, conversation_id: str, *, user_id: str = "", after: str | None = None
    ) -> LogPage:
        """Read the rows that follow a cursor, or all; see `Log.read`."""
        return self._page(self._find(conversation_id), user_id, after)

    def _page(self, conversation: _Conversation | None, user_id: str, after: str | None) -> LogPage:
        rows = [] if conversation is None else conversation.rows
        known = 0 if after is None else self._place(rows, after)
        new = [
            # Most rows have no parts, and the time at which they were made.
            {"type": row[0], "content": row[1], "timestamp": timestamp, "position": position}
            if timestamp == row[2] and len(row) == 3
            else _shown(position, row, timestamp)
            for position, user, row, timestamp in (rows[known:] if known else rows)
            if not user_id or user == user_id
        ]
        return LogPage(new, self._cursor(rows), is_whole=not known)

    async def newest(self, conversation_id: str, *, user_id: str = "", limit: int) -> LogPage:
        """Read the newest rows; see `Log`."""
        conversation = self._find(conversation_id)
        rows = [] if conversation is None else conversation.rows
        own = (row for row in reversed(rows) if not user_id or row.user == user_id)
        newest = list(islice(own, limit + 1))
        shown = [
            _shown(position, row, timestamp)
            for position, _, row, timestamp in newest[limit - 1 :: -1]
        ]
        return LogPage(shown, self._cursor(rows), is_whole=len(newest) <= limit)

    async def calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation; see `Log.calls`."""
        return self._calls(conversation_id, user_id, lambda _: True)

    async def open_calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation that are not settled; see `Log`."""
        from ..calls.record import ENDS

        return self._calls(conversation_id, user_id, lambda call: call.status not in ENDS)

    async def unsettled_calls(self, user_id: str = "") -> list[tuple[str, str, CallRecord]]:
        """Read the calls that wait for a person, of conversations that no run has claimed; see `Log`."""
        found = [
            (id, user, call)
            for id, conversation in self._conversations.items()
            if self._claims.first(id) is None
            for user, call, _ in conversation.records.values()
            if call.status in ("waiting", "open", "unknown") and (not user_id or user == user_id)
        ]
        return sorted(found, key=lambda each: (each[0], each[2].batch, each[2].position))

    def _calls(
        self, conversation_id: str, user_id: str, is_wanted: Callable[[CallRecord], bool]
    ) -> list[CallRecord]:
        conversation = self._find(conversation_id)
        found = (
            []
            if conversation is None
            else [
                ((of_row, *place), call)
                for place, (user, call, of_row) in conversation.records.items()
                if (not user_id or user == user_id) and is_wanted(call)
            ]
        )
        return [call for _, call in sorted(found, key=lambda item: item[0])]

    async def owner(self, conversation_id: str) -> str | None:
        """The user of a conversation's first row; see `Log.owner`."""
        conversation = self._find(conversation_id)
        return conversation.rows[0].user if conversation is not None and conversation.rows else None

    def claim(self, conversation_id: str, *, wait: bool = True) -> Claim:
        """Claim a conversation; see `Log.claim`."""
        self._note_freed()
        return self._claims.claim(conversation_id, wait=wait)

    def begin(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        wait: bool = True,
        resumes: bool = False,
    ) -> Claim:
        """Claim a conversation, and read what a run needs that begins in it; see `Log`."""
        self._note_freed()

        def read() -> Begun:
            from ..calls.record import ENDS

            conversation = self._find(conversation_id)
            if conversation is None:
                return Begun(None, [], self._page(None, user_id, None) if resumes else None)
            calls = self._calls(
                conversation_id, user_id, lambda call: resumes or call.status not in ENDS
            )
            page = self._page(conversation, user_id, None) if resumes or calls else None
            return Begun(conversation.rows[0].user if conversation.rows else None, calls, page)

        return self._claims.claim(conversation_id, wait=wait, read=read)

    async def conversations(
        self, user_id: str = "", limit: int | None = None
    ) -> list[Conversation]:
        """List conversations, the one with the latest row first."""
        found: defaultdict[tuple[str, str], list[_StoredRow]] = defaultdict(list)
        for conversation_id, conversation in self._conversations.items():
            for row in conversation.rows:
                if not user_id or row.user == user_id:
                    found[conversation_id, row.user].append(row)
        listed = [
            Conversation(
                id,
                user,
                len(rows),
                min(row.timestamp for row in rows),
                max(row.timestamp for row in rows),
                next((row.row[1] for row in rows if row.row[0] == "user"), None),
            )
            for (id, user), rows in found.items()
        ]
        return sorted(listed, key=lambda one: -one.last)[:limit]

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> int:
        """Remove everything of a conversation; returns how many rows it had.

        Args:
            conversation_id: its id; a dropped conversation may begin again.
            user_id: the user it must belong to; `None` for any.

        Raises:
            OwnerError: it is another user's; nothing was removed.
        """
        from .log import not_the_owner

        conversation = self._conversations.get(conversation_id)
        if (
            user_id is not None
            and conversation is not None
            and conversation.rows
            and conversation.rows[0].user != user_id
        ):
            raise not_the_owner(conversation_id, user_id)
        self._known_dropped.pop(hash(conversation_id), None)
        return 0 if conversation is None else self._remove(conversation_id)

    async def fork(
        self, conversation_id: str, new_id: str, *, user_id: str = "", rows: int
    ) -> None:
        """Begin a conversation with the first rows of another one, which both share; see `Log`."""
        conversation = self._find(conversation_id)
        own = (
            ()
            if conversation is None
            else (row for row in conversation.rows if not user_id or row.user == user_id)
        )
        new = self._conversations[new_id] = _Conversation(_CONVERSATION_SIZE + getsizeof(new_id))
        new.rows = [*islice(own, rows)]
        new.latest = max(
            (row.timestamp for row in new.rows if row.timestamp < END_OF_TIME), default=-inf
        )
        new.size += sum(_size_of_row(row.row) for row in new.rows)
        from .rows import Origin

        new.origin = Origin(conversation_id, len(new.rows))
        self._size += new.size
        self._keep_the_bound(new_id)

    async def origin(self, conversation_id: str) -> Origin | None:
        """Where a conversation comes from; see `Log`."""
        conversation = self._find(conversation_id)
        return None if conversation is None else conversation.origin

    def _cursor(self, rows: list[_StoredRow]) -> str:
        return f"{self._id}/{len(rows)}/{rows[-1].position if rows else 0}"

    def _place(self, rows: list[_StoredRow], cursor: str) -> int:
        """How many rows are before a cursor; 0 if they have changed since, or it is another log's.

        A number is never given twice, so a place that holds the same row has the same rows before it.
        """
        try:
            log, *place = cursor.split("/")
            known, last = map(int, place)
        except ValueError:
            raise ConfigError(f"{cursor!r} is not a cursor of this log") from None
        is_there = log == self._id and 0 < known <= len(rows) and rows[known - 1].position == last
        return known if is_there else 0

    # What is kept

    def _find(self, conversation_id: str) -> _Conversation | None:
        """A conversation, which counts as used now; `None` if it has nothing.

        Raises:
            StorageError: it was dropped.
        """
        conversation = self._conversations.get(conversation_id)
        if conversation is not None:
            if conversation_id in self._idle:
                self._idle.move_to_end(conversation_id)
        elif hash(conversation_id) in self._known_dropped:
            raise StorageError(
                f"conversation {conversation_id!r} was dropped: the log in memory holds {self._max_bytes:,} bytes, and "
                "it was the least recently used. Keep conversations in SQLite, or give Memory(max_bytes=...); "
                f"delete_conversation({conversation_id!r}) lets it begin again"
            )
        return conversation

    def _keep_the_bound(self, written: str) -> None:
        """Drop what was used longest ago, until what is left fits; never the conversation that is written."""
        self._note_freed()
        if written not in self._idle and self._claims.first(written) is None:
            self._idle[written] = None
        while self._max_bytes is not None and self._size > self._max_bytes and self._idle:
            oldest = next(iter(self._idle))
            if oldest == written:
                return
            if self._claims.first(oldest) is not None:
                del self._idle[oldest]  # it comes back with its claim
                continue
            if not self.dropped:
                logger.warning(
                    "A log in memory has reached %s bytes: it drops the least recently used conversations, "
                    "%r first. Keep them in SQLite, or give Memory(max_bytes=...)",
                    f"{self._max_bytes:,}",
                    oldest,
                )
            self.dropped += 1
            self._known_dropped[hash(oldest)] = None
            if len(self._known_dropped) > _KNOWN_DROPPED:
                self._known_dropped.popitem(last=False)
            self._remove(oldest)

    def _note_freed(self) -> None:
        while self._freed:
            self._sort_in(self._freed.popleft())

    def _sort_in(self, conversation_id: str) -> None:
        """Note that a conversation was used now, and may be dropped if no run has claimed it."""
        self._idle.pop(conversation_id, None)
        if conversation_id in self._conversations and self._claims.first(conversation_id) is None:
            self._idle[conversation_id] = None

    def _remove(self, conversation_id: str) -> int:
        conversation = self._conversations.pop(conversation_id)
        self._size -= conversation.size
        self._idle.pop(conversation_id, None)
        return len(conversation.rows)


_NO_TEXTS = (None,) * 5
"""As most calls have."""


def _size_of_texts(call: CallRecord) -> int:
    """What a call takes besides what each takes."""
    texts = call[-5:]  # from the decision on
    return 0 if texts == _NO_TEXTS else sum(text.__sizeof__() for text in texts if text is not None)


def _shown(position: int, row: Row, timestamp: float) -> dict[str, Any]:
    """A row as a page has it."""
    shown: dict[str, Any] = {
        "type": row[0],
        "content": row[1],
        "timestamp": timestamp,
        "position": position,
    }
    if timestamp != row[2]:
        shown["written_at"] = row[2]
    if len(row) == 4 and row[3]:
        shown["parts"] = tuple(row[3])
    return shown


def _size_of_row(row: Row) -> int:
    size = _ROW_SIZE + row[1].__sizeof__()
    return size if len(row) == 3 else size + sum(len(part.data) + _ROW_SIZE for part in row[3])
