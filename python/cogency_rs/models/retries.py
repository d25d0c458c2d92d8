"""When a request is sent again that was not answered, and after how long."""

from __future__ import annotations

from collections.abc import Mapping

from ..outside import random, time
from .connection import StatusError, TransportError
from .service_answer import IncompleteError

__all__ = ["seconds_before_retry"]

_AGAIN_AFTER = frozenset({408, 409, 429})
"""Statuses that pass, besides those from 500 on."""

_NEVER_AGAIN = frozenset({"certificate", "redirect", "slow_in_all"})

_FIRST, _LONGEST = 0.5, 8.0  # seconds
_LONGEST_NAMED = 60.0
"""A service that wants a longer wait is not waited for: the caller decides."""


def seconds_before_retry(error: Exception, attempt: int) -> float | None:
    """How long to wait before the request is sent again; `None` if that would not help.

    A service says how long by `retry-after-ms` or `retry-after`, in seconds or as a date. Else it is half a second,
    then twice as long each time, up to 8 seconds, less up to a quarter by chance, so that clients that failed together
    do not come back together. `x-should-retry` decides, where a service sends it.

    An error reported after a status of 200 is treated as the status that it names. An answer that ended before it
    began is treated as one that never came. The caller must have seen nothing of the answer.

    Args:
        error: how the last request failed.
        attempt: how many requests were sent before this one.
    """
    headers: Mapping[str, str] = {}
    match error:
        case StatusError(status_code=status):
            headers = error.headers
            wanted = headers.get("x-should-retry")
            if not (wanted == "true" if wanted in ("true", "false") else _passes(status)):
                return None
        case TransportError(kind=kind) if kind not in _NEVER_AGAIN:
            pass
        case IncompleteError():
            pass
        case _:
            from .failures import named_status_of

            named_status = named_status_of(error)
            if named_status is None or not _passes(named_status):
                return None
    named = _named(headers)
    if named is not None:
        return named if named <= _LONGEST_NAMED else None
    return min(_FIRST * 2.0**attempt, _LONGEST) * (1 - random() / 4)  # no secret


def _passes(status: int) -> bool:
    return status in _AGAIN_AFTER or status >= 500


def _named(headers: Mapping[str, str]) -> float | None:
    """The seconds that a service names; `None` if it names none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if 0 <= seconds < float("inf") else None
    from email.utils import parsedate_to_datetime  # seldom needed, and slow to import

    try:
        date = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, date.timestamp() - time())
