"""What each trigger of hooks may return; needed once a hook has one."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..models import ModelRequest
from ..runs.response import ModelResponse
from ..runs.run_result import RunResult, Step

__all__ = ["RULES", "Rule"]


class Rule(NamedTuple):
    """What a trigger may return.

    Attributes:
        kind: the class of the value; `None` if the trigger returns nothing.
        fixed: the fields that must not change.
        may_return_nothing: whether `None` leaves the value as it is. It does where the value exists already and an
            error would only hide it, not where the value decides what is sent or run.
    """

    kind: type[Any] | None = None
    fixed: tuple[str, ...] = ()
    may_return_nothing: bool = False


RULES = {
    "before_run": Rule(),
    "after_run": Rule(
        RunResult,
        ("run_id", "conversation_id", "status", "steps", "usage"),
        may_return_nothing=True,
    ),
    "before_step": Rule(),
    "after_step": Rule(Step, ("index", "executions", "usage"), may_return_nothing=True),
    "on_stop": Rule(),
    "on_error": Rule(),
    "before_model_request": Rule(ModelRequest, ("id",)),
    "after_model_response": Rule(ModelResponse, ("request_id", "usage")),
}
