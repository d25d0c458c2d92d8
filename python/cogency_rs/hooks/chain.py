"""The one chain around every call. If a function in it goes wrong, only the call that it is around fails."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from ..calls.tool_result import failure, reason
from ..errors import StopRun
from ..types import ToolResult
from .approval import AskFirst
from .batch_hooks import BatchHooks
from .invocation import AroundCall, CallBatch, Invocation, Next
from .retries import retry

__all__ = ["chain", "shown_to"]

logger: logging.Logger = logging.getLogger(__name__)


def chain(
    last: Next,
    batch: CallBatch,
    *,
    tracing: AroundCall | None,
    for_batches: BatchHooks | None,
    around: Sequence[AroundCall],
    approval: AskFirst | None,
    has_retries: bool,
) -> Next | None:
    """Put what is around the calls of a batch around `last`, which makes one attempt of a call.

    This is the order, from the outside in: the span of a trace; the hooks before and after calls; the hooks around each
    call, in the order of `around`; the question whether the call may run; the attempts. `last` runs the tool, or has it
    run by the executor that one of `around` has put into the invocation.

    Returns:
        What carries out a call; `None` if there is nothing around it.
    """
    layers = (tracing, for_batches, *around, approval, retry if has_retries else None)
    present = [layer for layer in layers if layer is not None]
    for layer in reversed(present):
        last = partial(_enter, layer, last, batch)
    return last if present else None


async def shown_to(
    around: Sequence[AroundCall], batch: CallBatch, invocation: Invocation, found: ToolResult
) -> ToolResult:
    """Pass a result that was found out through functions around calls, as if the call had just returned it.

    A function that does not call `next` has refused the call or answered it. It is too late for either, since the call
    was started before: then the result stays.

    Returns:
        The result, as these functions left it.
    """
    is_seen = False

    async def find(_: Invocation) -> ToolResult:
        nonlocal is_seen
        is_seen = True
        return found

    layers: Next = find
    for layer in reversed(around):
        layers = partial(_enter, layer, layers, batch)
    result = await layers(invocation)
    return result if is_seen else found


async def _enter(
    layer: AroundCall, inner: Next, batch: CallBatch, invocation: Invocation
) -> ToolResult:
    invocation = batch.known(invocation)
    try:
        result: Any = await layer(invocation, inner)
    except StopRun as why:
        return batch.end_run(invocation.index, why, _name(layer))
    except Exception as error:
        name = _name(layer)
        logger.exception("Hook %s failed around a call to %r", name, invocation.call.name)
        return failure(f"Hook {name} failed: {reason(error)}", error)
    if type(result) is ToolResult or (hasattr(result, "outcome") and hasattr(result, "error")):
        return cast("ToolResult", result)
    kind = type(result).__name__
    return failure(f"Hook {_name(layer)} failed: it must return a ToolResult, but returned {kind}")


def _name(layer: Any) -> str:
    return getattr(layer, "__qualname__", None) or type(layer).__name__
