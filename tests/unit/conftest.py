"""Fixtures of several unit tests, which import what they need only when a test asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.traces import Metrics, Traces


@pytest.fixture
def traces() -> Iterator[Traces]:
    """Traces of this test alone. After the test, tracing is off and there is no present span."""
    from opentelemetry import context

    from cogency_rs import uninstrument
    from support.traces import Traces

    yield Traces()
    uninstrument()
    assert context.get_current() == {}


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    """Metrics of this test alone."""
    from support.traces import Metrics

    metrics = Metrics.new()
    yield metrics
    metrics.provider.shutdown()
