"""The places where the log is kept, and the protocol that such a place must follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..calls.records import CallRecord
from ..loading import lazy_names
from .log import Conversation, Log, LogPage, Origin

if TYPE_CHECKING:
    from .claims import Claim as Claim, Claims as Claims, Leases as Leases

__all__ = ["CallRecord", "Claim", "Claims", "Conversation", "Leases", "Log", "LogPage", "Origin"]

# A program with its own storage loads none of ours.
__getattr__, __dir__ = lazy_names(__name__, {".claims": ("Claim", "Claims", "Leases")})
