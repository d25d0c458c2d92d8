"""The log in PostgreSQL; the extra `postgres` installs its driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...loading import lazy_names

if TYPE_CHECKING:
    from .log import PostgreSQL as PostgreSQL

# Asking whether a text is an address needs none of the log.
__getattr__, __dir__ = lazy_names(__name__, {".log": ("PostgreSQL",)})
