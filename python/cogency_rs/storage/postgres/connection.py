"""A connection to PostgreSQL: where the database is, its driver, the text that it can store, and what failures mean.

Invariant: neither `Address.place` nor a message made from it holds a user or a password.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, cast
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from ...errors import ConfigError, StorageError
from ...guards.secrets import Secrets, in_url, key
from ...outside import worker

SCHEMA = "cogency"
"""The schema of the tables if the DSN does not name one."""

_SCHEMES = ("postgresql://", "postgres://")
_LIKE_AN_ADDRESS = re.compile(
    r"postgres(ql)?:|\s*(dbname|host|hostaddr|passfile|password|port|service|sslmode|user)\s*="
)
"""The beginning of an address, even of one that is wrong, or that is in libpq's other form, of keywords."""

_SHAPE = "postgresql://user:password@host:port/database?schema=name"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)


@dataclass(frozen=True)
class Address:
    """A schema in a database.

    Attributes:
        dsn: the address for the driver.
        schema: the schema of that database that has the tables.
        place: host, port and database, for messages.
    """

    dsn: str = field(repr=False)
    schema: str
    place: str

    @cached_property
    def secrets(self) -> Secrets:
        """What errors must not show."""
        return Secrets(in_url(self.dsn), key("PGPASSWORD", os.environ.get("PGPASSWORD")))

    @property
    def tables(self) -> str:
        """The schema, quoted as SQL wants it before the name of a table."""
        return f'"{self.schema}"'


def is_dsn(text: str) -> bool:
    """Whether a text is meant as the address of a database, and not as a path; so never show it."""
    return _LIKE_AN_ADDRESS.match(text) is not None


def read_dsn(dsn: str) -> Address:
    """Read a DSN in libpq's form, with one parameter of ours: `schema`.

    Raises:
        ConfigError: the text is not a DSN. The message does not repeat it, since it may hold a password.
    """
    if not dsn.startswith(_SCHEMES):
        raise ConfigError(f"that is not an address of a PostgreSQL database; it reads {_SHAPE}")
    parts = urlsplit(dsn)
    outside = parts.path + parts.query + parts.fragment
    if "@" in outside or parts.fragment:
        # Otherwise a part of the password would be taken for the host, and be shown.
        raise ConfigError(
            "the address of a PostgreSQL database has a special character that is not written as %XX: "
            f"in a password write @ : / ? # % as %40 %3A %2F %3F %23 %25; it reads {_SHAPE}"
        )
    options = parse_qsl(parts.query, keep_blank_values=True)
    schema = dict(options).get("schema", SCHEMA)
    if not _NAME.fullmatch(schema):
        raise ConfigError(
            f"schema={schema!r} cannot be the name of a schema; "
            "take at most 63 of a-z, 0-9 and _, and begin with a letter"
        )
    # Joined by hand, since `urlunsplit` would drop an empty host.
    left = urlencode([(name, value) for name, value in options if name != "schema"])
    address = f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{left}" if left else "")
    return Address(address, schema, _place(parts.netloc, parts.path, dict(options)))


def _place(netloc: str, path: str, options: dict[str, str]) -> str:
    hosts = netloc.rpartition("@")[2]
    for host in hosts.split(","):
        port = host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""
        if port and not port.isdecimal():
            raise ConfigError(
                f"the port in the address of a PostgreSQL database is not a number; it reads {_SHAPE}"
            )
    host = unquote(hosts) or options.get("host") or os.environ.get("PGHOST") or "localhost"
    database = (
        unquote(path.lstrip("/"))
        or options.get("dbname")
        or options.get("database")
        or os.environ.get("PGDATABASE")
    )
    return f"{host}/{database}" if database else host


CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection."""

TIMEOUT = 60.0
"""Seconds to wait for the answer to a statement; then the connection counts as broken."""


class PostgresConnection(Protocol):
    """A connection, in autocommit mode: each statement is a separate transaction."""

    async def execute(self, query: str, *args: Any) -> str:
        """Run a statement; without `args` it may be several."""
        ...

    async def fetch(self, query: str, *args: Any) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        ...

    async def fetchval(self, query: str, *args: Any) -> Any:
        """Run a statement and return the first value of its first row."""
        ...

    async def executemany(self, query: str, args: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of `args`, all or none."""
        ...

    def transaction(
        self, *, isolation: str | None = None, readonly: bool = False
    ) -> AbstractAsyncContextManager[Any]:
        """A context whose statements are one transaction."""
        ...

    async def close(self, *, timeout: float | None = None) -> None:
        """Close the connection, after the statement in progress."""
        ...

    def terminate(self) -> None:
        """Close the connection at once."""
        ...

    def is_closed(self) -> bool:
        """Whether the connection is known to be closed."""
        ...


def asyncpg() -> Any:
    """Import the driver.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        return importlib.import_module("asyncpg")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "a log in PostgreSQL needs asyncpg, which is not installed; "
            "run: pip install 'cogency-rs[postgres]'",
            cause=error,
        ) from error


async def connect(address: Address) -> PostgresConnection:
    """Open a connection; TLS, password and so on come from the DSN and the environment, as the driver reads them."""
    connection = await asyncpg().connect(
        address.dsn,
        timeout=CONNECT_TIMEOUT,
        command_timeout=TIMEOUT,
        server_settings={"application_name": "cogency-rs"},
    )
    return cast("PostgresConnection", connection)


def pack(value: Any) -> Any:
    """A text in the form in which it can be stored; any other value stays as it is."""
    if isinstance(value, str) and ("\0" in value or "\x01" in value):
        return value.replace("\x01", "\x011").replace("\0", "\x010")
    return value


def unpack(value: Any) -> Any:
    """Read what `pack` wrote; any other value stays as it is."""
    if isinstance(value, str) and "\x01" in value:
        return value.replace("\x010", "\0").replace("\x011", "\x01")
    return value


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
