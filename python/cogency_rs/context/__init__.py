"""What a model is asked next: the system prompt, and the conversation from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import PromptParts
from ..loading import lazy_names

if TYPE_CHECKING:
    from .._core import to_messages as to_messages

__all__ = ["PromptParts", "to_messages"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".._core": ("to_messages",),
    },
)
