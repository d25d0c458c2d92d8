"""Where the log is kept."""

from .sqlite import SQLite

__all__ = ["SQLite"]
