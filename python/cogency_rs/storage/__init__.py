"""Where the log is kept, and what is asked of a place to keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .log import CallRecord, Conversation, Log, LogPage

if TYPE_CHECKING:
    from .sqlite import SQLite as SQLite

__all__ = ["CallRecord", "Conversation", "Log", "LogPage", "SQLite"]


def __getattr__(name: str) -> Any:
    if name != "SQLite":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .sqlite import SQLite  # a program with a storage of its own loads no SQLite

    return SQLite
