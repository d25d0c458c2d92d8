"""What a model is asked next: the system prompt, and the conversation from the log."""

from .assembly import to_messages

__all__ = ["to_messages"]
