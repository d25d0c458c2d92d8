"""The part of asyncpg that is used here, with types. The extra `postgres` installs it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, cast

from ...errors import ConfigError
from .address import Address

__all__ = ["CONNECT_TIMEOUT", "TIMEOUT", "Connection", "asyncpg", "connect"]

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection."""

TIMEOUT = 60.0
"""Seconds to wait for the answer to a statement; then the connection counts as broken."""


class Connection(Protocol):
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


async def connect(address: Address) -> Connection:
    """Open a connection; TLS, password and so on come from the DSN and the environment, as the driver reads them."""
    connection = await asyncpg().connect(
        address.dsn,
        timeout=CONNECT_TIMEOUT,
        command_timeout=TIMEOUT,
        server_settings={"application_name": "cogency-rs"},
    )
    return cast("Connection", connection)
