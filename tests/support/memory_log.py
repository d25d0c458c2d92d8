"""A log in memory, for tests of its faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cogency_rs import Memory
from cogency_rs.errors import StorageError
from cogency_rs.storage import CallRecord
from cogency_rs.storage.log import Row


class MemoryLog(Memory):
    """A log whose claims can be lost."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: set[str] = set()

    def append(
        self,
        conversation_id: str,
        *,
        user_id: str = "",
        rows: Sequence[Row],
        calls: Sequence[CallRecord] = (),
    ) -> Any:
        if conversation_id in self.lost:
            raise StorageError(f"the claim on {conversation_id!r} was lost")
        return super().append(conversation_id, user_id=user_id, rows=rows, calls=calls)

    def lose_claim(self, conversation_id: str) -> None:
        self.lost.add(conversation_id)
