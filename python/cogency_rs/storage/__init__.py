"""The places where the log is kept, and the protocol that such a place must follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import lazy_names

if TYPE_CHECKING:
    from ..calls.record import CallRecord as CallRecord
    from .claims import Claim as Claim, Claims as Claims, Leases as Leases
    from .log import (
        Begun as Begun,
        Conversation as Conversation,
        Log as Log,
        LogPage as LogPage,
        Part as Part,
        Row as Row,
    )
    from .rows import Origin as Origin

__all__ = [
    "Begun",
    "CallRecord",
    "Claim",
    "Claims",
    "Conversation",
    "Leases",
    "Log",
    "LogPage",
    "Origin",
    "Part",
    "Row",
]

# A program with its own storage loads none of ours.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..calls.record": ("CallRecord",),
        ".log": ("Begun", "Conversation", "Log", "LogPage", "Part", "Row"),
        ".rows": ("Origin",),
        ".claims": ("Claim", "Claims", "Leases"),
    },
)
