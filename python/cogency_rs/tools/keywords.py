"""The keywords of `@tool`, as type checkers know them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from ..calls.reconcile import AskOutcome, Reconcile
    from .options import IsVisible, NeedsApproval, Preview, Remote, Retries

__all__ = ["ToolKeywords"]


class ToolKeywords(TypedDict, total=False):
    """The fields of `ToolOptions` as keywords of `@tool`."""

    timeout: float | None
    sequential: bool
    requires_approval: NeedsApproval | Preview
    idempotent: bool | Retries
    read_only: bool
    ends_run: bool
    visible: IsVisible
    remote: Remote
    reconcile: AskOutcome | Reconcile | None
