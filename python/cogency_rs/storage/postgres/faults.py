"""What a failure of PostgreSQL means and what to do about it, in one line that never holds a password."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ...errors import StorageError
from ...outside import worker
from .address import Address

__all__ = ["LOST_CLAIM", "explain", "is_about_values", "is_of_one", "is_passing", "is_said"]

LOST_CLAIM = "CGL01"
"""The SQLSTATE with which our functions refuse a write under a lost lease."""


@dataclass(frozen=True)
class _Fault:
    """The meaning of a class of failures.

    Attributes:
        what: what happened, as a predicate whose subject is the place.
        remedy: what to do.
        is_passing: whether the same call may succeed soon.
    """

    what: str
    remedy: str
    is_passing: bool = False


_UNREACHABLE = _Fault(
    "does not answer", "check that the server runs and that host and port are right", True
)
_BROKEN = _Fault("broke the connection", "try again when the server is back", True)
_CONFLICT = _Fault("has a conflict with another program", "try again", True)
_REFUSED_USER = _Fault(
    "refuses the user or the password",
    "correct them in the DSN, or in PGUSER, PGPASSWORD or ~/.pgpass",
)
_FULL = _Fault("has no room to grow", "free some disk space there, then try again")
_OTHER = _Fault("failed", "see the error itself")

# Found by the whole SQLSTATE, else by its class, which is its first two characters.
_FAULTS = {
    "28P01": _REFUSED_USER,
    "28": _REFUSED_USER,
    "3D000": _Fault("has no database of that name", "create it, or correct its name in the DSN"),
    "3F000": _Fault("has no log", "name another database or schema"),
    "42P01": _Fault("has no log", "name another database or schema"),
    "42501": _Fault(
        "does not let this user do that",
        "GRANT CREATE on the database, or have its owner make the tables once",
    ),
    "42": _Fault(
        "has other tables than those of this version",
        "name another schema in the DSN, as ?schema=NAME",
    ),
    "25006": _Fault("is read-only", "name the primary server in the DSN, not a standby"),
    "25": _Fault("is in another transaction", "try again", True),
    "23505": _CONFLICT,  # two programs made the next version of one profile
    "40": _CONFLICT,
    "55P03": _CONFLICT,
    "57014": _Fault("took too long", "try again", True),
    "57P": _BROKEN,
    "57": _BROKEN,
    "08": _BROKEN,
    "53100": _FULL,
    "53200": _Fault("has no memory left", "try again when it has less to do", True),
    "53300": _Fault(
        "has no connection left", "raise its max_connections, or take fewer `connections`", True
    ),
    "53": _FULL,
    "58": _Fault("cannot read or write its files", "see the server's own log"),
    "XX001": _Fault("has damaged tables", "restore the database from a backup"),
}


def explain(error: BaseException, address: Address, *, in_doubt: bool = False) -> StorageError:
    """Turn a failure into what a caller can act on.

    Args:
        error: an error of the driver, of the system or of ours.
        address: where it happened.
        in_doubt: whether the answer to a write was lost, so that it may have been done.
    """
    if isinstance(error, StorageError):
        return error  # it is explained already
    cause = address.secrets.clean(error) if isinstance(error, Exception) else None
    state = _sqlstate(error)
    if state == LOST_CLAIM:
        conversation_id, holder = _message(error), getattr(error, "detail", None)
        since = f"; process {holder} has it" if holder else ""
        message = (
            f"the claim on conversation {conversation_id!r} was lost, since process {worker()} did not renew it "
            f"in time or the conversation was deleted{since}; nothing of this call was written, so end this run"
        )
    elif is_about_values(error):
        message = f"{address.place} refused a value ({_reason(error, address)}); nothing of this call was written"
    else:
        fault = _fault(error)
        message = f"{address.place} {fault.what} ({_reason(error, address)}); {fault.remedy}"
        if in_doubt:
            message += "; whether this was saved is not known"
    explained = StorageError(message, cause=cause, retryable=is_passing(error))
    explained.__cause__ = cause or error
    return explained


def is_about_values(error: BaseException) -> bool:
    """Whether the values of one row are the cause, whatever the state of the server."""
    state = _sqlstate(error)
    if state in _FAULTS:
        return False
    return state[:2] in {"22", "23", "54"} or isinstance(
        error, (UnicodeError, OverflowError, TypeError, ValueError)
    )


def is_of_one(error: BaseException) -> bool:
    """Whether a single write is the cause, so that the others would succeed without it."""
    return is_about_values(error) or _sqlstate(error) == LOST_CLAIM


def is_said(error: BaseException) -> bool:
    """Whether the server reported it, or the driver before sending: nothing was written, the connection can be used."""
    return _sqlstate(error)[:2] not in {"", "08"} or is_about_values(error)


def is_passing(error: BaseException) -> bool:
    """Whether the same call may succeed later, since the network, a restart or another program is the cause."""
    return (
        not is_about_values(error) and _sqlstate(error) != LOST_CLAIM and _fault(error).is_passing
    )


def _fault(error: BaseException) -> _Fault:
    state = _sqlstate(error)
    for length in (5, 3, 2):
        if (fault := _FAULTS.get(state[:length])) is not None:
            return fault
    if state:
        return _OTHER
    if type(error).__name__ in {
        "InterfaceError",
        "InternalClientError",
    }:  # the driver's own errors: the connection is closed
        return _BROKEN
    if isinstance(error, (ConnectionResetError, BrokenPipeError, EOFError)):
        return _BROKEN
    if isinstance(error, (OSError, TimeoutError, asyncio.TimeoutError)):
        return _UNREACHABLE
    return _OTHER


def _sqlstate(error: BaseException) -> str:
    state: Any = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) else ""


def _reason(error: BaseException, address: Address) -> str:
    """The message of the server or the system, in one line, without secrets; values that were sent are not repeated."""
    if is_about_values(error) and error.__cause__ is not None:
        error = error.__cause__  # the driver's own message repeats all values
    text = " ".join(address.secrets.hide(_message(error)).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}…"


def _message(error: BaseException) -> str:
    """The message without the server's DETAIL, which may repeat a row."""
    return str(error.args[0]) if _sqlstate(error) and error.args else str(error)
