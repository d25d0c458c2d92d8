"""Folds conversations into messages, and keeps the foldings, so that the next prompt costs only what is new.

It works with every storage. A `Log` is asked for the rows after the last ones that were folded. The conversations of a
storage that only has `load_messages` are folded whole each time.

For each storage at most `CONVERSATIONS` conversations and `CHARACTERS` of text are kept; the least recently used
conversation is dropped first.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from .._core import Folding, FoldOptions, estimated_tokens
from ..storage.log import LogPage, check_positions, is_log, overrides
from .history import CountedMessages, Messages, Shown, TooLong, estimate_tokens, merged, tokens_of
from .rows import FEW_ROWS, extend, give_ids

if TYPE_CHECKING:
    from ..calls.record import CallRecord


CONVERSATIONS = 64
CHARACTERS = 32 * 2**20


async def fold_conversation(
    storage: Any,
    conversation_id: str,
    user_id: str,
    options: FoldOptions,
    *,
    merge_roles: bool = False,
    most: int | None = None,
    turns: int | None = None,
) -> Shown | TooLong:
    """Fold a conversation or its end, starting from its kept folding if there is one.

    Args:
        storage: a `Log`, or an object with `load_messages`.
        conversation_id: the conversation's id.
        user_id: the id of a user, for only this user's rows; empty for the rows of all users.
        options: how rows become messages.
        merge_roles: whether neighbouring messages of one role become one; see `History`.
        most: of a conversation of more rows, the whole turns among as many of its newest rows are shown, and at least
            the last turn; `None` for any number.
        turns: how many of the newest turns are shown instead.

    Returns:
        What is shown; or `TooLong`, if that must be loaded.

    An exception of the storage is raised unchanged. A row that cannot be folded raises `ValueError` or `TypeError`.
    """
    if not _is_read_as_log(storage):
        return await _fold_anew(
            storage, conversation_id, user_id, options, merge_roles, most, turns
        )
    kept = _kept_of(storage)
    user_id = user_id or ""
    key = (conversation_id, user_id, options)
    folded = kept.take(key)
    if folded is not None and most is None and not folded.is_whole:
        folded = None
    if folded is None:
        page = await _first_page(storage, conversation_id, user_id, most)
        folded = _Folded(options, is_whole=page.is_whole)
    else:
        page = await storage.read(conversation_id, user_id=user_id, after=folded.cursor)
        if page.is_whole:
            folded = _Folded(options)
    check_positions(storage, page)
    await folded.extend(page)
    await give_ids(folded.folding, options, lambda: call_records(storage, conversation_id, user_id))
    if merge_roles:
        await folded.settle()
    shown = folded.shown(merge_roles, most, turns)
    # What was kept is rebuilt from the newest rows before it is twice as long as what is shown.
    if most is None or folded.rows <= 2 * most or not _gives_newest(storage):
        kept.keep(key, folded)
    if shown is not None:
        return shown
    is_first = turns is None and folded.rows == len(page.rows)
    return TooLong(page.rows[-most:] if is_first and most is not None else None)


async def _fold_anew(
    storage: Any,
    conversation_id: str,
    user_id: str,
    options: FoldOptions,
    merge_roles: bool,
    most: int | None,
    turns: int | None,
) -> Shown | TooLong:
    if turns is not None:
        return TooLong(None)
    limit = None if most is None else most + 1
    rows = await storage.load_messages(conversation_id, user_id, limit=limit)
    if most is not None and len(rows) > most:
        return TooLong(rows[-most:])
    folding = Folding(options)
    await extend(folding, rows)
    await give_ids(folding, options, lambda: call_records(storage, conversation_id, user_id))
    messages = folding.messages()
    return Shown(len(rows), merged(messages) if merge_roles else messages)


async def _first_page(
    storage: Any, conversation_id: str, user_id: str, most: int | None
) -> LogPage:
    """The whole conversation; if it has more than `most` rows, perhaps only the newest `most + 1`."""
    if most is not None and _gives_newest(storage):
        page: LogPage = await storage.newest(conversation_id, user_id=user_id, limit=most + 1)
    else:
        page = await storage.read(conversation_id, user_id=user_id, after=None)
    return page


async def newest_rows(
    storage: Any, conversation_id: str, user_id: str, limit: int
) -> Sequence[Any]:
    """Load the newest rows of a conversation, at most `limit`, oldest first.

    A `Log` without `load_messages` is read whole.
    """
    given: object = storage
    if hasattr(type(given), "load_messages") or not is_log(given):
        rows: Sequence[Any] = await storage.load_messages(conversation_id, user_id, limit=limit)
        return rows
    rows = (await storage.read(conversation_id, user_id=user_id)).rows
    return rows[-limit:]


async def call_records(
    storage: Any, conversation_id: str, user_id: str
) -> Sequence[CallRecord] | None:
    """Load the records of a conversation's calls, oldest first; `None` if the storage does not keep them."""
    if not is_log(storage):
        return None
    records: Sequence[CallRecord] = await storage.calls(conversation_id, user_id=user_id)
    return records


def _characters(rows: Iterable[dict[str, Any]]) -> int:
    """How much rows or messages hold: characters of text, and bytes of their parts."""
    held = 0
    for row in rows:
        content = row["content"]
        held += len(content) if isinstance(content, str) else _held(content)
        if "parts" in row:
            held += sum(len(part[2]) for part in row["parts"])
    return held


def _held(content: Any) -> int:
    """How much a content that is not text holds."""
    if not isinstance(content, list):
        return 0
    parts = cast("list[Any]", content)
    return sum(
        len(value)
        for part in parts
        if isinstance(part, dict)
        for value in cast("dict[Any, Any]", part).values()
        if isinstance(value, str | bytes)
    )


class _Folded:
    """One conversation, as far as it has been folded: from its first row on, or from a later one.

    Args:
        options: how rows become messages.
        is_whole: whether it begins with the conversation's first row.
    """

    def __init__(self, options: FoldOptions, *, is_whole: bool = True) -> None:
        self.is_whole = is_whole
        self.cursor: str | None = None
        self.rows = 0
        self.characters = 0
        self.folding = Folding(options)
        # At which of the rows the turns begin.
        self._question_rows: list[int] = []
        # The merged messages to which no further row can add, and how many messages they were.
        self._merged: Messages = []
        self._settled = 0
        # How many tokens the merged messages have.
        self._tokens = 0
        # Of the questions among these that are not merged with what came before: which of the merged messages it is,
        # and how many tokens are before it.
        self._places: dict[int, tuple[int, int]] = {0: (0, 0)}

    async def extend(self, page: LogPage) -> None:
        """Fold the rows that follow."""
        await extend(self.folding, page.rows)
        self._question_rows += [
            place for place, row in enumerate(page.rows, self.rows) if row["type"] == "user"
        ]
        self.cursor = page.cursor
        self.rows += len(page.rows)
        self.characters += _characters(page.rows)

    async def settle(self) -> None:
        """Merge the messages before the last question for good; if they are many, in a worker thread."""
        questions = self.folding.questions()
        if questions and questions[-1] - self._settled > FEW_ROWS:
            await asyncio.to_thread(self._settle_in_parts, questions)

    def _settle_in_parts(self, questions: Sequence[int]) -> None:
        for question in questions:
            if question - self._settled > FEW_ROWS:  # between two parts, the event loop may run
                self._settle_before(question, self.folding.messages(self._settled, question + 1))

    def shown(self, merge_roles: bool, most: int | None, turns: int | None) -> Shown | None:
        """What is shown of it, as `fold_conversation` says; `None` if that does not follow from what is folded here."""
        if most is None or (turns is None and self.is_whole and self.rows <= most):
            messages = self._merged_from(0) if merge_roles else self.folding.messages()
            return None if messages is None else Shown(self.rows, messages)
        questions = self.folding.questions()
        if turns is None:
            first = bisect_left(self._question_rows, self.rows - most)
            turns = max(len(questions) - first, 1)
        if turns > len(questions):
            return None
        start = questions[-turns]
        messages = self._merged_from(start) if merge_roles else self.folding.messages(start)
        return None if messages is None else Shown(self.rows, messages, turns)

    def _merged_from(self, start: int) -> Messages | None:
        """The messages from this one on, neighbours of one role merged. Only new messages cost anything.

        `None` if this one was merged with what came before.
        """
        messages = self.folding.messages(self._settled)
        question = self.folding.last_question()
        if question is not None:
            messages = self._settle_before(question, messages)
        if start >= self._settled and start:
            return merged(messages[start - self._settled :])
        if start not in self._places:
            return None
        place, tokens = self._places[start]
        settled = self._merged[place:]
        return CountedMessages(
            [*settled, *merged(messages)], (0, len(settled)), self._tokens - tokens
        )

    def _settle_before(self, question: int, messages: Messages) -> Messages:
        """Settle messages up to a question and its neighbours of the same role; returns those that are left."""
        settled = question - self._settled
        while settled > 0 and messages[settled - 1]["role"] == messages[settled]["role"]:
            settled -= 1
        if settled <= 0:
            return messages
        self._settle(messages[:settled])
        return messages[settled:]

    def _settle(self, messages: Messages) -> None:
        """Merge these messages for good, turn by turn."""
        since = 0
        end = self._settled + len(messages)
        questions = self.folding.questions()
        for question in questions[bisect_left(questions, self._settled) :]:
            place = question - self._settled
            if question >= end:
                break
            if place and messages[place - 1]["role"] == messages[place]["role"]:
                continue
            self._keep_merged(messages[since:place])
            since = place
            self._places[question] = len(self._merged), self._tokens
        self._keep_merged(messages[since:])
        self._settled = end

    def _keep_merged(self, messages: Messages) -> None:
        new = merged(messages)
        self.characters += _characters(new)
        tokens, others = estimated_tokens(new)
        self._tokens += tokens + tokens_of(others, estimate_tokens) if others else tokens
        self._merged += new


Key = tuple[str, str, FoldOptions]


class _Kept:
    """The conversations of one storage that have been folded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, _Folded] = OrderedDict()
        self._characters = 0  # of all of them

    def take(self, key: Key) -> _Folded | None:
        """Take a conversation out while it is used: others that ask for it meanwhile fold one of their own."""
        with self._lock:
            return self._take(key)

    def keep(self, key: Key, folded: _Folded) -> None:
        """Put a conversation back, as the most recently used one, and drop what is above the bounds."""
        with self._lock:
            self._take(key)
            self._kept[key] = folded
            self._characters += folded.characters
            while len(self._kept) > CONVERSATIONS or self._characters > CHARACTERS:
                self._take(next(iter(self._kept)))

    def _take(self, key: Key) -> _Folded | None:
        folded = self._kept.pop(key, None)
        if folded is not None:
            self._characters -= folded.characters
        return folded


_kept: dict[int, _Kept] = {}  # by the id of the storage, which need not have a hash


def _kept_of(storage: object) -> _Kept:
    """The kept foldings of a storage while it lives; always empty if the storage does not allow weak references."""
    kept = _kept.get(id(storage))
    if kept is None:
        kept = _Kept()
        try:
            weakref.finalize(storage, _kept.pop, id(storage), None).atexit = False
        except TypeError:
            return kept
        kept = _kept.setdefault(id(storage), kept)
    return kept


def _is_read_as_log(storage: object) -> bool:
    """Whether rows are loaded by `read`: not if a subclass overrides only `load_messages`."""
    return is_log(storage) and overrides(storage, "read", "load_messages")


def _gives_newest(storage: object) -> bool:
    """Whether the newest rows are loaded by `newest`."""
    return overrides(storage, "newest", "read")
