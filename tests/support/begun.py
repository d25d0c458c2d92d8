"""Which calls of a test began early; apart from `ways.py`, so that a program of a test need not import pytest."""

from __future__ import annotations

import json

import cogency_rs.turn.turn as turn_module
from cogency_rs.calls.record import CallRecord
from cogency_rs.protocol import ClosedOnce


def is_eager() -> bool:
    """Whether calls begin early in the running test."""
    return turn_module.ClosedOnce is not ClosedOnce


def is_dropped(record: CallRecord) -> bool:
    """Whether a call began early and did not count in the end."""
    return record.decision is not None and "dropped" in json.loads(record.decision)
