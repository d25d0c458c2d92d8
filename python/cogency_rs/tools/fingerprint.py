"""What a person agreed to when a tool was shown: the agreement ends when another tool has that name."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from .options import options_of
from .signature import parameters_of

if TYPE_CHECKING:
    from .toolbox import ResolvedCall

__all__ = ["fingerprint_of", "said_of"]


def fingerprint_of(resolved: ResolvedCall) -> str:
    """Digest all that says what the tool of a call is: its name, server, description, parameters and hints.

    It is the same in every process, and for every call of the tool. Two tools with one fingerprint tell a model and a
    person the same.

    Args:
        resolved: a call with its tool; not one that means no tool.
    """
    text = json.dumps([*resolved.identity, said_of(resolved.tool)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def said_of(tool: Any) -> str:
    """All that is said of a tool besides its name and its server, as one text."""
    options = options_of(tool)
    said: Any = {
        "description": getattr(tool, "description", None),
        "parameters": parameters_of(tool),
        "hints": getattr(tool, "hints", None),
        "may_run_twice": [options.idempotent is not False, options.read_only],
    }
    return json.dumps(said, sort_keys=True, default=_told)


def _told(value: Any) -> Any:
    """What is not JSON: a mapping as a dict, anything else by its type, since its text may have an address in it."""
    try:
        return dict(value)
    except (TypeError, ValueError):
        return type(value).__qualname__
