"""The log in a SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...loading import lazy_names

if TYPE_CHECKING:
    from ..cogency_tables import ParseError as ParseError
    from .log import SQLite as SQLite

# Reading a file, as the command line does, needs none of the log.
__getattr__, __dir__ = lazy_names(
    __name__, {".log": ("SQLite",), "..cogency_tables": ("ParseError",)}
)
