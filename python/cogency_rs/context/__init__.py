"""What a model is asked next: the system prompt, and the conversation from the log."""

from .._core import PromptParts
from .assembly import to_messages

__all__ = ["PromptParts", "to_messages"]
