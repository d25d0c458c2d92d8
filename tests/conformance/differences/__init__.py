"""The cases that we read differently from what their source expects: the reasons, and the cases of each.

A case that differs but is not listed fails the tests. So does a listed case that does not differ, or differs in another
way than its reason says. `docs/conformance.md` shows the table (`python -m conformance.document`, in `tests/`).
"""

from __future__ import annotations

from .fewer import FEWER
from .more import MORE
from .other import OTHER
from .row import Difference, Part
from .text import TEXT

ALL: tuple[Difference, ...] = FEWER + MORE + OTHER + TEXT

__all__ = ["ALL", "Difference", "Part"]
