"""Where a forked conversation comes from."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..guards.json import read_json
from .stored_rows import wrong_cell

__all__ = ["Origin"]


class Origin(NamedTuple):
    """Where a forked conversation comes from.

    Attributes:
        conversation_id: the conversation whose rows it began with.
        rows: how many of them.
    """

    conversation_id: str
    rows: int

    def written(self) -> str:
        """As it is stored: a JSON object."""
        return json.dumps({"conversation_id": self.conversation_id, "rows": self.rows})

    @classmethod
    def of(cls, stored: str | None, conversation_id: str) -> Origin | None:
        """Read what `written` wrote of this conversation.

        Raises:
            StorageError: it is something else.
        """
        if stored is None:
            return None
        try:
            found: Any = read_json(stored)
        except ValueError:
            found = None
        match found:
            case {"conversation_id": str(id), "rows": int(rows)}:
                return cls(id, rows)
            case _:
                key = f"'fork' of conversation {conversation_id!r}"
                raise wrong_cell("events", key, "content", stored, "the origin of a fork")
