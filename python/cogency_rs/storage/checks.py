"""Refuses rows and calls that are not what a log holds, at the place where they come in, in every storage alike.

What a storage takes is read again by programs that rely on its types: a prompt, a page, another process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

from ..calls.record import STATES, CallRecord
from ..guards.arguments import check_text, out_of_range, refused
from .log import Part, check_row_type

__all__ = ["check_content", "check_message", "check_saved"]

_LARGEST = 2**63 - 1
"""The largest whole number that every storage holds."""

_TEXTS = ("id", "batch", "name")
_TEXTS_OR_NONE = (
    "server",
    "worker",
    "decision",
    "result",
    "settling",
    "provider_id",
    "digest",
)


def check_saved(
    conversation_id: Any,
    user_id: Any,
    rows: Iterable[Any],
    calls: Iterable[Any],
) -> None:
    """Check what `Log.append` is given.

    Raises:
        ConfigError: a row has a type that is not known, or a number is out of range; an `ArgumentError` if a value has
            a wrong type.
    """
    _check_ids(conversation_id, user_id)
    for row in rows:
        if not isinstance(row, tuple | list) or not 3 <= len(cast("tuple[Any, ...]", row)) <= 4:
            raise refused("a row", row, "a type, a content, a time, and perhaps parts")
        type, content, timestamp, *parts = cast("tuple[Any, ...]", row)
        check_row_type(type)
        check_content(content, timestamp)
        for each in parts:
            _check_parts(each)
    for call in calls:
        _check_call(call)


def check_message(
    conversation_id: Any,
    user_id: Any,
    type: Any,
    content: Any,
    timestamp: Any,
) -> None:
    """Check what `save_message` is given; see `check_saved`. It may leave the time to the log."""
    _check_ids(conversation_id, user_id)
    check_row_type(type)
    check_content(content, 0.0 if timestamp is None else timestamp)


def _check_ids(conversation_id: Any, user_id: Any) -> None:
    check_text("conversation_id", conversation_id)
    check_text("user_id", user_id)


def check_content(content: Any, timestamp: Any) -> None:
    """Check the content and the time of a row."""
    if type(content) is not str or type(timestamp) is not float or not math.isfinite(timestamp):
        check_text("the content of a row", content)
        _check_time("the time of a row", timestamp)


def _check_parts(parts: Any) -> None:
    if not isinstance(parts, tuple | list):
        raise refused("the parts of a row", parts, "a tuple of Part")
    for part in cast("tuple[Any, ...]", parts):
        if not isinstance(part, Part):
            raise refused("a part", part, "a Part")
        check_text("the type of a part", part.type)
        check_text("the media_type of a part", part.media_type)
        data: object = part.data
        if not isinstance(data, bytes):
            raise refused("the data of a part", data, "bytes")
        _check_whole("the place of a part", part.at)


def _check_call(call: Any) -> None:
    if not isinstance(call, CallRecord):
        raise refused("a call", call, "a CallRecord")
    for name in _TEXTS:
        check_text(f"the {name} of a call", getattr(call, name))
    for name in _TEXTS_OR_NONE:
        check_text(f"the {name} of a call", getattr(call, name), or_none=True)
    status: object = call.status
    if not (isinstance(status, str) and status in STATES):
        raise out_of_range("the status of a call", status, "one of `CallStatus`")
    _check_whole("the position of a call", call.position)
    _check_whole("the attempt of a call", call.attempt)
    for name in ("started_at", "completed_at"):
        if (time := getattr(call, name)) is not None:
            _check_time(f"the {name} of a call", time)


def _check_time(name: str, given: Any) -> None:
    if not isinstance(given, int | float) or isinstance(given, bool):
        raise refused(name, given, "seconds since the epoch, a number")
    try:
        is_finite = math.isfinite(given)
    except OverflowError:  # a whole number beyond any float
        is_finite = False
    if not is_finite:
        raise out_of_range(name, given, "a finite number of seconds")


def _check_whole(name: str, given: Any) -> None:
    if not isinstance(given, int) or isinstance(given, bool):
        raise refused(name, given, "a whole number")
    if not 0 <= given <= _LARGEST:
        raise out_of_range(name, given, f"from 0 to {_LARGEST:,}")
