"""What the tests of faults may ask for."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def quick_collection() -> Iterator[None]:
    """Lets `gc.collect()` look at what the tests of a module make, and at nothing older."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
