"""Where a PostgreSQL log is: the address for the driver, and the name for messages.

Invariant: neither `Address.place` nor a message made from it holds a user or a password.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from ...errors import ConfigError
from ...guards.secrets import Secrets, in_url, key

__all__ = ["SCHEMA", "Address", "is_dsn", "read_dsn"]

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
