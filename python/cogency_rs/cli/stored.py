"""The values that commands read from a log, wherever it is kept."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import NamedTuple

from ..calls.record import CallRecord
from .exits import UnusableError
from .text import quoted

__all__ = ["Doubtful", "Lease", "Row", "choose_user", "saved_at", "shown_time"]

_LATEST = 253370764800.0  # the year 9999
_VERSION_7 = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Row(NamedTuple):
    """A row of a conversation.

    Attributes:
        timestamp: its time according to the program that wrote it, in seconds since the epoch.
        saved: when it was handed to the storage, to the millisecond, according to an id of version 7; `None` if the id
            is of another version.
        call: the record of a call; `None` for any other row, and for calls that plain cogency ran.
    """

    type: str
    content: str
    timestamp: float
    saved: float | None
    call: CallRecord | None = None


@dataclass(frozen=True)
class Lease:
    """A claim that a process holds.

    Attributes:
        number: the number of this claim on the conversation, from 1.
        worker: the process, `"host:pid"`.
        machine: the machine on which the pid is valid.
        expires_in: seconds until it runs out, if it is not renewed.
    """

    conversation_id: str
    number: int
    worker: str
    machine: str
    expires_in: float


@dataclass(frozen=True)
class Doubtful:
    """A call that has no result in the log, or of which it is not known whether it ended.

    Attributes:
        status: "saved", "open", "ended", "waiting" or "unknown".
        worker: the process that carried it out, `"host:pid"`.
    """

    conversation_id: str
    call_id: str
    name: str
    status: str
    worker: str | None


def choose_user(
    place: object, users: list[str], conversation_id: str, user_id: str | None, *, listed_by: str
) -> str:
    """Choose the user whose conversation is meant.

    Args:
        place: the log's name in messages.
        users: the users who have a conversation with that id.
        conversation_id: the conversation's id.
        user_id: the user who was asked for, if any.
        listed_by: the arguments with which `cogency-rs show` lists the conversations.

    Raises:
        UnusableError: no user has it, or not the one asked for; or several have it, and none was asked for.
    """
    listed = f"`cogency-rs show {listed_by}` lists what there is"
    if not users:
        raise UnusableError(f"{place} has no conversation {quoted(conversation_id)}; {listed}")
    if user_id is None and len(users) > 1:
        raise UnusableError(
            f"{len(users)} users have a conversation {quoted(conversation_id)} in {place}; "
            f"say whose with --user: {', '.join(map(quoted, users[:5]))}{' …' * (len(users) > 5)}"
        )
    if user_id is not None and user_id not in users:
        raise UnusableError(
            f"the user {quoted(user_id)} has no conversation {quoted(conversation_id)} in {place}; {listed}"
        )
    return users[0] if user_id is None else user_id


def shown_time(timestamp: float) -> float:
    """Bring any stored time into the range that can be shown."""
    return min(max(timestamp, 0.0), _LATEST)


def saved_at(id: object) -> float | None:
    """When a row of this id was saved, in seconds since the epoch; `None` if the id does not say it."""
    text = str(id)
    if _VERSION_7.fullmatch(text):  # true for all ids that we write; quicker than parsing
        return int(text[:8] + text[9:13], 16) / 1000
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        return None
    return (parsed.int >> 80) / 1000 if parsed.version == 7 else None
