"""What `cogency-rs doctor` says about a log: which processes work on it, and which calls are in doubt."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.text import Text

from ..outside import is_gone
from . import logs
from .page import Page
from .text import count, duration, one_line

__all__ = ["examine_log", "print_log"]

MOST = 20
"""How many claims, and how many calls, are shown to a person."""

_ADVICE = {
    "open": "; if that is gone, say what became of it with `cogency-rs settle`",
    "unknown": "; say what became of it with `cogency-rs settle`",
}
"""What a person can do about a call, by its state."""


def examine_log(db: str) -> dict[str, Any]:
    """Find out who works on a log.

    Returns:
        A JSON object: `name`; `claims`, each with its conversation, number, process, seconds until it runs out, and
        whether the process is known to be gone; `calls` that are `saved`, `open`, `waiting` or `unknown`, each with its
        conversation, id, name, status and process.

    Raises:
        UnusableError: there is no such log.
        StorageError: it cannot be read at this moment.
    """
    state = logs.state(db)
    return {
        "name": logs.named(db),
        "claims": [
            {
                "conversation_id": lease.conversation_id,
                "number": lease.number,
                "worker": lease.worker,
                "expires_in": lease.expires_in,
                "gone": is_gone(lease.worker, lease.machine),
            }
            for lease in state.leases
        ],
        "calls": [asdict(call) for call in state.doubtful],
    }


def print_log(found: dict[str, Any]) -> None:
    """Print the result for a person."""
    page = Page()
    claims, calls = found["claims"], found["calls"]
    facts = f"{count(len(claims), 'claim')} held, {count(len(calls), 'call')} without a result"
    page.hanging(Text(f"{'log':<10}", "bold"), f"{one_line(found['name'])}: {facts}")
    for claim in claims[:MOST]:
        runs_out = f"runs out in {duration(max(claim['expires_in'], 0.0))}"
        page.hanging(
            Text(f"{'claim':<10}", "bold"),
            f"conversation {one_line(claim['conversation_id'])} is being run by process {one_line(claim['worker'])}"
            f"{', which is gone' * claim['gone']}; {runs_out} unless it is renewed",
        )
    for call in calls[:MOST]:
        page.hanging(
            Text(f"{'call':<10}", "bold"),
            f"{one_line(call['name'])} in conversation {one_line(call['conversation_id'])} is {call['status']}; "
            f"process {one_line(call['worker'] or 'not known')}{_ADVICE.get(call['status'], '')}",
        )
    left = max(len(claims) - MOST, 0) + max(len(calls) - MOST, 0)
    if left:
        page.line(f"{left:,} more, with --json")
