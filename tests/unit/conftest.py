"""Fixtures that unit tests share. Each imports what it needs only when a test asks for it."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Ended
    from support.pictures import Picture
    from support.traces import Metrics, Traces


@pytest.fixture
def traces() -> Iterator[Traces]:
    """Collects the traces of one test, which must not leave a current span."""
    from opentelemetry import context

    from cogency_rs.telemetry import uninstrument
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


@pytest.fixture
def chat(command, monkeypatch) -> Callable[..., Ended]:
    """Runs a chat with these typed lines and these answers of the model."""
    from cogency_rs.testing import ScriptedModel

    def chat(typed: str, *answers: Any, options: tuple[object, ...] = (), tools: Any = ()) -> Ended:
        module = ModuleType("scripted")
        module.model = ScriptedModel([*answers])  # type: ignore[attr-defined]
        module.tools = list(tools)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "scripted", module)
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        given = ("--tools", "scripted:tools") if tools else ()
        ended = command("chat", "--model-from", "scripted:model", *given, *options)
        module.model.assert_complete()
        return ended

    return chat
