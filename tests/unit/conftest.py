"""Fixtures that unit tests share. Each imports what it needs only when a test asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.pictures import Picture
    from support.traces import Metrics, Traces


@pytest.fixture
def traces() -> Iterator[Traces]:
    """Collects the traces of one test, which must not leave a current span."""
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


@pytest.fixture
def session(tmp_path) -> Picture:
    """The picture of the session that most tests of pictures draw."""
    from support import logs
    from support.pictures import drawn

    return drawn(tmp_path, logs.SESSION)
