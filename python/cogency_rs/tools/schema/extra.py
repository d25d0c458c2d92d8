"""The extra `schema`: pydantic, if it is installed."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["pydantic"]


def pydantic() -> Any:
    """Import pydantic; `None` if it is not installed. Nothing else imports it."""
    try:
        return importlib.import_module("pydantic")
    except ImportError:
        return None
