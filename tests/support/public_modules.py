"""The modules from which users import: the package and its rooms."""

from __future__ import annotations

from importlib import import_module

__all__ = ["PUBLIC_MODULES"]

ROOMS = (
    *("agent", "compat", "context", "errors", "execution", "executors", "hooks", "models"),
    *("protocol", "reader", "runs", "servers", "storage", "telemetry", "testing", "tools"),
    *("turn", "types"),
)

PUBLIC_MODULES = tuple(
    import_module(name) for name in ("cogency_rs", *(f"cogency_rs.{room}" for room in ROOMS))
)
