"""How an answer ended, in the words of the core, for answers that the core did not read itself."""

from __future__ import annotations

from typing import Literal

from ..._core import Finish, event_of_cut

__all__ = ["Cut", "cut_of", "event_of_cut"]

Cut = Literal["length", "stopped", "broken", "unknown"]
"""Why something is incomplete: the answer reached its length limit, the model stopped by itself, something else ended
the answer, or it is unknown."""


_CUTS: dict[str, Cut] = {
    "whole": "stopped",
    "calls": "stopped",
    "length": "length",
    "unknown": "unknown",
}


def cut_of(finish: Finish) -> Cut:
    """What a provider's finish reason says about something that is incomplete."""
    return _CUTS.get(finish.kind, "broken")
