"""The places where the log is kept, and the protocol that such a place must follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import lazy_names

if TYPE_CHECKING:
    from ..calls.records import CallRecord as CallRecord
    from .claims import Claim as Claim, Claims as Claims, Leases as Leases
    from .log import Conversation as Conversation, Log as Log, LogPage as LogPage
    from .origin import Origin as Origin

__all__ = ["CallRecord", "Claim", "Claims", "Conversation", "Leases", "Log", "LogPage", "Origin"]

# A program with its own storage loads none of ours.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..calls.records": ("CallRecord",),
        ".log": ("Conversation", "Log", "LogPage"),
        ".origin": ("Origin",),
        ".claims": ("Claim", "Claims", "Leases"),
    },
)
