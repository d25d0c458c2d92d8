"""How many examples a property is tried on: more in `make test-random`, whose profile `conftest.py` has."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(count: int, **others: Any) -> settings:
    """Settings of a property.

    Args:
        count: the number of examples in `make test`; the profile of `make test-random` multiplies it.
        others: further settings.
    """
    return settings(max_examples=count * settings().max_examples // 100, **others)
