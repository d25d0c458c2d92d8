"""The modules from which users import: the package and its rooms."""

from __future__ import annotations

from importlib import import_module

from cogency_rs.loading import ROOMS

__all__ = ["PUBLIC_MODULES"]

PUBLIC_MODULES = tuple(
    import_module(name) for name in ("cogency_rs", *(f"cogency_rs.{room}" for room in ROOMS))
)
