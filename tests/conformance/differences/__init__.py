"""The cases in which we read something else than their source expects: the reasons, and the cases of each.

A case that differs and is not here fails the tests, and so does one that is here and does not differ, or differs in
another way than its reason says. `docs/dialects.md` shows the table (`python -m conformance.document`, in `tests/`).
"""

from __future__ import annotations

from .fewer import FEWER
from .more import MORE
from .other import OTHER
from .row import Difference, Part
from .text import TEXT

ALL: tuple[Difference, ...] = FEWER + MORE + OTHER + TEXT

__all__ = ["ALL", "Difference", "Part"]
