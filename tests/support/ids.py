"""Names of the cases of a test, which are the same in every process: side by side, each collects the tests anew."""

from __future__ import annotations

import re


def shown(value: object) -> str:
    """The `repr` of a value, without its address."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
