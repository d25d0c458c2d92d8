"""The places where the log is kept, and the protocol that such a place must follow."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .log import CallRecord, Conversation, Log, LogPage

if TYPE_CHECKING:
    from .claims import Claim as Claim, Claims as Claims, Leases as Leases
    from .memory import Memory as Memory
    from .postgres import PostgreSQL as PostgreSQL
    from .sqlite import SQLite as SQLite

__all__ = [
    "CallRecord",
    "Claim",
    "Claims",
    "Conversation",
    "Leases",
    "Log",
    "LogPage",
    "Memory",
    "PostgreSQL",
    "SQLite",
]

_MODULES = {
    "Claim": ".claims",
    "Claims": ".claims",
    "Leases": ".claims",
    "Memory": ".memory",
    "PostgreSQL": ".postgres",
    "SQLite": ".sqlite",
}
# A program with a storage of its own loads none of them.


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
