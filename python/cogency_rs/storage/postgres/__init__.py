"""The log in PostgreSQL, which the extra `postgres` brings the driver for.

`log.py` has the methods of the log, `schema.py` the tables, `writes.py` the grouping of writes, `database.py` the
thread, `session.py` the connections, and `faults.py` the meaning of errors.
"""

from .log import PostgreSQL

__all__ = ["PostgreSQL"]
