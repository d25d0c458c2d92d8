"""Where a forked conversation comes from."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

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
    def of(cls, stored: str | None) -> Origin | None:
        """Read what `written` wrote."""
        if stored is None:
            return None
        found: Any = json.loads(stored)
        return cls(found["conversation_id"], found["rows"])
