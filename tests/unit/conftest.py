"""What several unit tests ask for. What it needs is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.traces import Metrics, Traces


@pytest.fixture
def traces() -> Iterator[Traces]:
    """Traces that go nowhere else. Behind the test nothing is traced any more, and no span is left the present one."""
    from opentelemetry import context

    from cogency_rs import uninstrument
    from support.traces import Traces

    yield Traces()
    uninstrument()
    assert context.get_current() == {}


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    """Metrics that go nowhere else."""
    from support.traces import Metrics

    metrics = Metrics.new()
    yield metrics
    metrics.provider.shutdown()
