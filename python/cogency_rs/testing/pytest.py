"""Fixtures for tests of agents: `pytest_plugins = ["cogency_rs.testing.pytest"]` in the top `conftest.py`.

Not to be confused with `cogency_rs.compat.pytest_plugin`, which puts the core into an installed cogency.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol

import pytest

from .scripted import Answer, AnswerFunction, ScriptedModel

__all__ = ["MakeModel", "scripted_model"]

_MODELS = pytest.StashKey[list[ScriptedModel]]()


class MakeModel(Protocol):
    """The fixture `scripted_model`: makes a `ScriptedModel` that must use up its script."""

    def __call__(
        self,
        answers: Sequence[Answer] | AnswerFunction,
        *,
        chunk: int | None = 4,
        delay: float = 0.0,
        name: str = "scripted",
        provider: str = "scripted",
    ) -> ScriptedModel:
        """Make a model that answers from a script."""
        ...


@pytest.fixture
def scripted_model(request: pytest.FixtureRequest) -> MakeModel:
    """Make models that answer from a script; a test fails at its end if a script was not used up."""
    models: list[ScriptedModel] = []
    request.node.stash[_MODELS] = models

    def scripted_model(*args: Any, **options: Any) -> ScriptedModel:
        model = ScriptedModel(*args, **options)
        models.append(model)
        return model

    return scripted_model


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Check that the models of a test used up their scripts, once the test itself has passed."""
    # In the test and not when the fixture ends, so that the failure is the test's own, and there is only one.
    yield
    models = item.stash.get(_MODELS, list[ScriptedModel]())
    for model in models:
        model.assert_complete()
