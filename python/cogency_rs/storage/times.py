"""The timestamps that logs store: rising along a conversation, whatever the clocks of its writers say.

The position of a row says where it is. But cogency, and anyone who reads the tables with SQL, sorts by the timestamp.
So a row of ours gets the time at which it was made, or, if that is not above the times that are there already, one just
above them. Then the true time is stored too, as `written_at`.
"""

from __future__ import annotations

from math import inf, nextafter

__all__ = ["END_OF_TIME", "STEP", "risen"]

END_OF_TIME = 253402300800.0
"""The year 10000. Another program may have written any number, such as milliseconds; above this one, it is ignored."""

STEP = 2.0**-20
"""Seconds between two rows whose times do not rise: about a microsecond, which can be added without rounding."""


def risen(timestamp: float, latest: float) -> float:
    """The timestamp to store for a row.

    Args:
        timestamp: of the row, by the clock of its writer.
        latest: the largest time in its conversation that is below `END_OF_TIME`; negative infinity without a row.
    """
    if timestamp > latest or timestamp != timestamp:  # a storage refuses what is not a number
        return timestamp
    return max(latest + STEP, nextafter(latest, inf))
