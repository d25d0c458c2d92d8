"""Text from outside in the prompts of drivers that leave the chat template to a server.

Which model answers is not known there, so no text may hold a token of any known family of models. `Dialect.inert` says
how a token is broken up, and `Dialect.exact` how the arguments of calls get their exact text back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any, cast

from .._core import Dialect
from ..tools.signature import is_object
from ..types import ToolCall
from .dialogue import CallOutcome, ModelPassage, Passage, Question, Report

__all__ = ["exact_args", "inert_passages", "inert_text", "inert_value"]

_JOINERS = ("\u2060", "\\u2060")


@cache
def _any_model() -> Dialect:
    tokens = Dialect("cogency").to_dict()["tokens"]
    return Dialect.from_dict({"name": "any", "bodies": [], "tokens": tokens})


def inert_text(text: str) -> str:
    """`text` without a token of any model."""
    return _any_model().inert(text)


def inert_value(value: Any) -> Any:
    """A value of JSON, with its strings as `inert_text` has them."""
    return _changed(value, _any_model().inert)


def exact_args(args: dict[str, Any], written: str) -> dict[str, Any]:
    """The arguments that a model means which wrote them as `written`: it may have copied what it was shown."""
    if not any(joiner in written for joiner in _JOINERS):
        return args
    exact: dict[str, Any] = _changed(args, _any_model().exact)
    return exact


def inert_passages(passages: Iterable[Passage]) -> list[Passage]:
    """Passages, with their texts as `inert_text` has them. The cost is linear in the texts."""
    return [_inert_passage(passage) for passage in passages]


def _inert_passage(passage: Passage) -> Passage:
    match passage:
        case Question(text):
            return Question(inert_text(text))
        case Report(raw, content):
            return replace(passage, raw=inert_text(raw), content=inert_text(content))
        case ModelPassage(thoughts, texts, calls, outcomes):
            return ModelPassage(
                tuple(map(inert_text, thoughts)),
                tuple(map(inert_text, texts)),
                tuple(map(_inert_call, calls)),
                tuple(map(_inert_outcome, outcomes)),
            )


def _inert_call(call: ToolCall) -> ToolCall:
    return replace(call, args=inert_value(call.args))


def _inert_outcome(outcome: CallOutcome) -> CallOutcome:
    return replace(outcome, value=inert_value(outcome.value), outcome=inert_text(outcome.outcome))


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        return {_changed(key, change): _changed(field, change) for key, field in value.items()}
    if isinstance(value, list | tuple):
        items = cast("Iterable[Any]", value)
        return [_changed(item, change) for item in items]
    return value
