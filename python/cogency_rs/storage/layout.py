"""What a SQLite file has of ours, as far as a read depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from .revisions import is_watched
from .schema import is_ordered

if TYPE_CHECKING:
    import sqlite3

    from .connection import Connection

__all__ = ["Layout", "layout_of"]


class Layout(NamedTuple):
    """What a file has of ours.

    Attributes:
        schema: the number of the file's schema, which every change of a table, an index or a trigger raises.
        is_ordered: whether rows are read by number; see `schema.py`.
        is_watched: whether changes of rows are noticed; see `revisions.py`.
    """

    schema: int
    is_ordered: bool
    is_watched: bool


def layout_of(connection: sqlite3.Connection) -> Layout:
    """What a file has now. It is looked up again only if the number of the schema has changed."""
    [schema] = connection.execute("PRAGMA schema_version").fetchone()
    known = cast("Layout | None", getattr(connection, "layout", None))
    if known is not None and known.schema == schema:
        return known
    found = Layout(int(schema), is_ordered(connection), is_watched(connection))
    if hasattr(connection, "layout"):
        cast("Connection", connection).layout = found
    return found
