"""The log as a protocol: what a storage offers so that a conversation is saved, read again, and run by one at a time.

`SQLite` keeps it, and any class with these methods does; `cogency_rs.testing.LogConformance` checks one that is yours.
What is folded for prompts is above it, in `context/foldings.py`, for every storage alike.

A conversation belongs to the user of its first row, and is carried on for this user only. The empty user is one like
any other: a program of one user leaves `user_id` out, and a conversation that was begun without it is carried on
without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from ..calls.record import CallRecord
from ..errors import ConfigError, OwnerError


class Part(NamedTuple):
    """What a row has besides text, such as an image. The content of the row stays readable without it.

    Attributes:
        type: the kind of part, such as "image" or "file".
        media_type: of the data, such as "image/png".
        data: its bytes.
        at: before which character of the row's content it is.
    """

    type: str
    media_type: str
    data: bytes
    at: int


Row = tuple[str, str, float] | tuple[str, str, float, tuple[Part, ...]]
"""A row's type, its content, its time in seconds since the epoch, and its parts if it has any."""


def parts_of(row: Row) -> tuple[Part, ...]:
    """The parts of a row that is handed to `append`."""
    return row[3] if len(row) == 4 else ()


ROW_TYPES = (
    "user",
    "think",
    "respond",
    "call",
    "result",
    "error",
    "end",
    "execute",
    "metric",
    "interrupt",
    "cancelled",
    "settled",
)
"""The types of rows."""


def check_row_type(type: str) -> None:
    """Refuse a row that no prompt would ever show.

    Raises:
        ConfigError: the type is not known; the message lists those that are.
    """
    if type not in ROW_TYPES:
        raise ConfigError(
            f"the log has no rows of type {type!r:.100}; choose one of: {', '.join(ROW_TYPES)}"
        )


def check_positions(storage: object, page: LogPage) -> None:
    """Refuse a page whose first or last row does not say its position.

    Raises:
        ConfigError: the storage was written before rows had positions; the message says what to add.
    """
    rows = page.rows
    if not rows:
        return
    first, last = rows[0].get("position"), rows[-1].get("position")
    rises = isinstance(first, int) and isinstance(last, int) and (first < last or len(rows) == 1)
    if not rises:
        raise ConfigError(
            f"{type(storage).__name__}.read() gives rows without rising positions: add to each row's dict a "
            '"position", an int that is larger for each row that is committed later, and return rows in that order'
        )


class LogPage(NamedTuple):
    """Rows of a conversation, and where they end.

    Attributes:
        rows: dicts of `type`, `content`, `timestamp` (seconds since the epoch) and `position`, oldest first: an int
            that is larger for each row that is committed later; there may be holes. Further keys: `parts`, a tuple of
            `Part`, if the row has any; and `written_at`, its time by the clock of the program that wrote it, if
            that is not the timestamp.
        cursor: names the last row of the conversation; `read(after=cursor)` goes on from there. Only the storage
            can read its text.
        is_whole: whether the rows are the whole conversation, and not only those after a cursor.
    """

    rows: list[dict[str, Any]]
    cursor: str
    is_whole: bool


class Begun(NamedTuple):
    """What a run must know of its conversation when it begins.

    Attributes:
        owner: as `Log.owner` says.
        calls: those of its user's calls that are not settled; all of them for a run that is resumed.
        page: its user's rows, if the run is resumed or any of the calls is not settled; `None` for another run.
    """

    owner: str | None
    calls: list[CallRecord]
    page: LogPage | None


@dataclass(frozen=True)
class Conversation:
    """One user's conversation, as an entry of a list.

    Attributes:
        rows: how many rows it has.
        first: the earliest timestamp, in seconds since the epoch.
        last: the latest one.
        question: what the user wrote first, or `None` if there is no such row.
    """

    conversation_id: str
    user_id: str
    rows: int
    first: float
    last: float
    question: str | None


class Log(Protocol):
    """What a storage offers to turns and prompts.

    Rows come back in the order in which they were committed, which their positions say; no time decides anything.
    The stored timestamp of a row is above those of the rows before it, whatever the clock of its writer said, so that
    whatever sorts by it sees the same order. Every method raises `StorageError` when the log cannot be read or written.

    Eight methods are optional. `conversations(user_id="", limit=None)` lists `Conversation`s, the one with the latest
    row first. `delete_conversation(conversation_id, user_id=None)` removes everything of one and returns how many rows
    it had; with a `user_id`, only if it is this user's. `newest(conversation_id, user_id="", limit=...)` reads the
    newest rows as a page, which is whole if there are no more: without it, a long conversation is loaded whole to show
    its end. `open_calls(conversation_id, user_id="")` reads those of `calls` that are in none of the states `ENDS`:
    without it, all calls of a conversation are read before each question. `begin(conversation_id, *, user_id="",
    wait=True, resumes=False)` is a `claim` whose value has an attribute `begun`, a `Begun` as of the moment of the
    claim: without it, a run asks for the claim, the owner and the open calls one after the other.
    `unsettled_calls(user_id="")` reads the calls of all conversations that are `waiting`, `open` or `unknown`, each
    with its conversation and user, but for conversations that a run has claimed: `Agent.pending` needs it.
    `fork(conversation_id, new_id, *, user_id, rows)` begins a conversation with the first rows of another one, and
    `origin(conversation_id)` says which that was: `Agent.fork` needs them.

    So is the attribute `is_durable`. If it is `False`, what is appended does not outlive the program, and the result of
    a call is not saved before those of its batch.
    """

    def append(
        self,
        conversation_id: str,
        *,
        user_id: str,
        rows: Sequence[Row],
        calls: Sequence[CallRecord] = (),
    ) -> Awaitable[Any]:
        """Save rows and calls together, all or nothing.

        Preferably return a future of a save that has begun: it needs no task, so the save goes on even if a program
        cancels all its tasks. A coroutine works too.

        Args:
            conversation_id: the conversation they belong to.
            user_id: whose conversation that is; may be empty.
            rows: type, content, timestamp of each, in order; and its parts, if it has any.
            calls: each replaces the stored call of the same batch and position, or is new. The `call` rows belong, in
                order, to those that are `open` and have no row yet; one that is `early` has no row.

        Raises:
            ConfigError: a row has a type that is not in `ROW_TYPES`. Nothing was written.
            StorageError: something could not be stored, or the claim that this process has on the conversation was
                lost. Nothing was written.
        """
        ...

    async def read(
        self, conversation_id: str, *, user_id: str = "", after: str | None = None
    ) -> LogPage:
        """Read the rows that follow a cursor, or all.

        If the rows before the cursor have changed, the page is whole: if one was deleted, changed or replaced,
        whichever program did it, even if another row has taken its place since.

        Args:
            conversation_id: its id.
            user_id: only this user's rows; "" for everybody's.
            after: the cursor of an earlier page of this conversation.

        Raises:
            ConfigError: `after` is not a cursor of this storage.
        """
        ...

    async def calls(self, conversation_id: str, *, user_id: str = "") -> list[CallRecord]:
        """Read the calls of a conversation, in the order of their rows; those without a row come last."""
        ...

    async def owner(self, conversation_id: str) -> str | None:
        """The user of a conversation's first row, to whom it belongs; `None` if it has no row.

        It is asked once in each run that goes on with a conversation, so its cost should not depend on the rows.
        """
        ...

    def claim(self, conversation_id: str, *, wait: bool = True) -> AbstractAsyncContextManager[Any]:
        """Claim a conversation for the duration of an `async with`, against all processes on the storage.

        Args:
            conversation_id: its id.
            wait: whether to wait while another run has it.

        Raises:
            BusyError: another run has it and `wait` is false; or this run has it already, so that waiting would never
                end.
        """
        ...


_METHODS = ("append", "read", "calls", "claim")

CLASSES = 64
"""Of how many classes is known what their storages can do; a program has few."""


def is_log(storage: object) -> bool:
    """Whether a storage follows the protocol `Log`. Its class must have the methods: a mock has every attribute."""
    kind: Any = type(storage)
    return is_log_class(kind)


@lru_cache(CLASSES)
def is_log_class(kind: Any) -> bool:
    """Whether storages of a class follow the protocol `Log`."""
    return all(hasattr(kind, name) for name in _METHODS)


def begins(storage: object) -> bool:
    """Whether a run begins by `begin`: not if a subclass overrides only one of the methods that it replaces."""
    return hasattr(type(storage), "begin") and all(
        overrides(storage, "begin", other)
        for other in ("claim", "owner", "open_calls", "calls", "read")
    )


def overrides(storage: object, method: str, other: str) -> bool:
    """Whether a storage's class has a method and got it no earlier than another: a subclass may override only that."""
    kind: Any = type(storage)
    return _comes_first(kind, method, other)


@lru_cache(CLASSES)
def _comes_first(kind: Any, method: str, other: str) -> bool:
    for base in kind.__mro__:
        if method in vars(base):
            return True
        if other in vars(base):
            return False
    return False


async def check_user(storage: Any, conversation_id: str, user_id: str) -> None:
    """Check that a user may carry on a conversation. Anybody may begin one that has no row.

    The answer holds as long as the caller has the claim on the conversation.

    Args:
        storage: a `Log`.
        conversation_id: its id.
        user_id: the user; "" for a program of one user.

    Raises:
        OwnerError: it is another user's.
        StorageError: the log cannot be read.
    """
    check_owner(await storage.owner(conversation_id), conversation_id, user_id)


def check_owner(owner: str | None, conversation_id: str, user_id: str) -> None:
    """Check the same, if the owner is known.

    Raises:
        OwnerError: it is another user's.
    """
    if owner is not None and owner != user_id:
        raise not_the_owner(conversation_id, user_id)


def not_the_owner(conversation_id: str, user_id: str) -> OwnerError:
    """The error for a user who names a conversation of another."""
    if user_id:
        text = f"conversation {conversation_id!r} was not begun by user {user_id!r}"
    else:
        text = f"conversation {conversation_id!r} was begun with a user_id, but none was given"
    return OwnerError(
        f"{text}: give the user_id that it was begun with, or another conversation_id",
        conversation_id=conversation_id,
        user_id=user_id,
    )
