"""The rows that a run writes besides its turns: the question, and how the run ended."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..guards.json_values import json_value_or_text
from ..outside import time
from ..runs.context import RunContext
from ..runs.run_result import NO_OUTPUT
from ..storage.log import Row
from ..turn.uncancelled_saves import save_to_the_end

if TYPE_CHECKING:
    from ..calls.record import CallRecord

__all__ = ["RunLog"]

logger: logging.Logger = logging.getLogger(__name__)


class RunLog:
    """The log of a conversation, for one run.

    Each method saves to the end, even when the run is cancelled meanwhile.
    """

    __slots__ = ("_ctx", "_has_begun")

    def __init__(self, ctx: RunContext[Any]) -> None:
        self._ctx = ctx
        self._has_begun = False  # a run that has written no row writes none about its end either

    async def append(self, rows: Sequence[Row], calls: Sequence[CallRecord] = ()) -> None:
        """Save rows and calls together."""
        ctx = self._ctx
        self._has_begun = True
        await save_to_the_end(ctx.storage, ctx.conversation_id, ctx.user_id, rows, calls)

    async def report(
        self,
        code: str,
        content: str,
        *,
        kind: str = "malformed",
        finding: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Save a report of what is wrong with an answer, for the model; returns its event.

        Args:
            code: the code of the event.
            content: what is wrong and what to do, for this model.
            kind: the kind of the event.
            finding: what the log keeps in the place of `content`, if what to do depends on the form of a model that
                reads it: `content` for what is wrong in plain words, `advice` for the name of what to do, and `call`
                for a call to write.
        """
        now = time()
        report = {"kind": kind, "code": code, "content": content, "raw": ""}
        await self.append((("error", json.dumps(report | dict(finding or {})), now),))
        return {"type": "error", **report, "line": None, "column": None, "timestamp": now}

    async def ended(self, output: Any) -> None:
        """Save that the run is completed with this output, although the log does not end with an answer of the model.

        The row is empty for `NO_OUTPUT`.
        """
        content = "" if output is NO_OUTPUT else json.dumps(json_value_or_text(output))
        await self.append((("end", content, time()),))

    async def cancelled(self, message: str) -> dict[str, Any]:
        """Save that a person stopped the run; returns the event that says so."""
        now = time()
        await self.append((("cancelled", message, now),))
        return {"type": "cancelled", "content": message, "timestamp": now}

    async def note_cancellation(self) -> None:
        """Save that the run was cancelled. If that fails, it is only logged."""
        await self._note("cancelled", "")

    async def note_failure(self, error: Exception) -> None:
        """Save that the run failed. If that fails, it is only logged. No prompt shows it: the model made no error."""
        content = f"{type(error).__name__}: {error}"
        await self._note("error", json.dumps({"kind": "failed", "content": content, "raw": ""}))

    async def _note(self, type: str, content: str) -> None:
        if not self._has_begun:
            return
        try:
            await self.append(((type, content, time()),))
        except Exception:
            logger.exception("The end of a run could not be saved (%s)", type)
