"""The log in PostgreSQL, which the extra `postgres` brings the driver for.

`log.py` says what is stored and asked; `schema.py` what the tables promise; `writes.py` what is written together;
`database.py` has the thread, `session.py` the connections, and `faults.py` the failures.
"""

from .log import PostgreSQL

__all__ = ["PostgreSQL"]
