"""Text from outside in the prompts of drivers that leave the chat template to a server.

Which model answers is not known there, so no text may hold a token of any known family of models. `Dialect.inert` says
how a token is broken up, and `Dialect.exact` how the arguments of calls get their exact text back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, cast

from .._core import Dialect
from ..tools.signature import is_object

__all__ = ["any_model", "exact_args", "inert_text", "inert_value"]

_JOINERS = ("\u2060", "\\u2060")


@cache
def any_model() -> Dialect:
    """A dialect with the tokens of all models, and no way to write calls."""
    tokens = Dialect("cogency").to_dict()["tokens"]
    return Dialect.from_dict({"name": "any", "calls": [], "tokens": tokens})


def inert_text(text: str) -> str:
    """`text` without a token of any model."""
    return any_model().inert(text)


def inert_value(value: Any) -> Any:
    """A value of JSON, with its strings as `inert_text` has them."""
    return _changed(value, any_model().inert)


def exact_args(args: dict[str, Any], written: str) -> dict[str, Any]:
    """The arguments as the model meant them; `written`, its call's text, may copy what it was shown."""
    if not any(joiner in written for joiner in _JOINERS):
        return args
    exact: dict[str, Any] = _changed(args, any_model().exact)
    return exact


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        return {_changed(key, change): _changed(field, change) for key, field in value.items()}
    if isinstance(value, list | tuple):
        items = cast("Iterable[Any]", value)
        return [_changed(item, change) for item in items]
    return value
