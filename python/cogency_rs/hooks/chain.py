"""Nests middleware around one last step. If a middleware goes wrong, only the call that it was around fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

from ..calls.results import failure, reason
from ..types import ToolResult
from .invocation import Invocation, Middleware, Next

__all__ = ["chain"]

logger: logging.Logger = logging.getLogger(__name__)


def chain(layers: Iterable[Middleware], last: Next, known: Callable[[object], Invocation]) -> Next:
    """Put `layers` around `last`, the first outermost.

    Args:
        layers: middleware.
        last: carries out the call, inside all layers.
        known: returns what a layer handed on, if that is an invocation; raises `TypeError` if it is not.
    """
    for layer in reversed([*layers]):
        last = partial(_enter, layer, last, known)
    return last


async def _enter(
    layer: Middleware, inner: Next, known: Callable[[object], Invocation], invocation: Invocation
) -> ToolResult:
    invocation = known(invocation)
    try:
        result: Any = await layer(invocation, inner)
    except Exception as error:
        logger.exception(
            "Middleware %s failed around a call of %r", _name(layer), invocation.call.name
        )
        return failure(f"Middleware {_name(layer)} failed: {reason(error)}", error)
    if type(result) is ToolResult or (hasattr(result, "outcome") and hasattr(result, "error")):
        return cast("ToolResult", result)
    kind = type(result).__name__
    return failure(
        f"Middleware {_name(layer)} failed: it must return a ToolResult, and returned {kind}"
    )


def _name(layer: Any) -> str:
    return getattr(layer, "__qualname__", None) or type(layer).__qualname__
