"""The world: a bank with a ledger. Whatever happens to the processes that call it, the ledger says what they did."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from .kills import Victim

__all__ = ["Bank", "Effect"]


@dataclass(frozen=True)
class Effect:
    """A line of the ledger.

    Attributes:
        key: what identifies the call that asked for it.
        call: which of the program's calls that was, as `batch/place`.
        receipt: what the bank answered.
    """

    key: str
    call: str
    receipt: str


class Bank:
    """The bank, as one process calls it.

    Args:
        ledger: the file. A line is one write, which is in the file even if the process is killed right after it.
        victim: the process.
    """

    def __init__(self, ledger: Path, victim: Victim) -> None:
        self._path = ledger
        self._victim = victim

    def do(self, key: str, call: str, *, once: bool) -> str:
        """Have an effect; returns the receipt. With `once`, a key that came before has no further effect."""
        self._victim.passes("before an effect")
        known = self.find(key) if once else None
        if known is not None:
            return known
        receipt = f"receipt of {call}"
        line = json.dumps([key, call, receipt]) + "\n"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
        self._victim.passes("after an effect")
        return receipt

    def find(self, key: str) -> str | None:
        """The receipt of what was done under a key; `None` if nothing was."""
        return next((effect.receipt for effect in self.effects() if effect.key == key), None)

    def effects(self) -> list[Effect]:
        """The ledger."""
        if not self._path.exists():
            return []
        return [Effect(*json.loads(line)) for line in self._path.read_text().splitlines()]
