"""Fixtures for the tests of faults."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def quick_collection() -> Iterator[None]:
    """Makes `gc.collect()` look only at objects that the tests of the module make."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
