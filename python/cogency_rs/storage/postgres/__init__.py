"""The log in PostgreSQL; the extra `postgres` installs its driver.

`log.py` has the methods of the log, `schema.py` the tables, `writes.py` the grouping of writes, `database.py` the
thread, `session.py` the connections, and `faults.py` the meaning of errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .log import PostgreSQL as PostgreSQL

__all__ = ["PostgreSQL"]


def __getattr__(name: str) -> Any:
    if name != "PostgreSQL":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .log import PostgreSQL  # asking whether a text is an address needs none of it

    return PostgreSQL
