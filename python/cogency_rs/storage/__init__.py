"""Where the log is kept, and what is asked of a place to keep it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .log import CallRecord, Conversation, Log, LogPage

if TYPE_CHECKING:
    from .postgres import PostgreSQL as PostgreSQL
    from .sqlite import SQLite as SQLite

__all__ = ["CallRecord", "Conversation", "Log", "LogPage", "PostgreSQL", "SQLite"]

_MODULES = {"PostgreSQL": "postgres", "SQLite": "sqlite"}
"""The storages. A program loads only the one it uses."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
