"""Schemas of tools, compiled once for each tool."""

from __future__ import annotations

from typing import Any

from ._core import ArgumentSchema

__all__ = ["compiled"]

MOST_KEPT = 1024
"""Tools whose compiled schema is kept."""

# By the id of the tool. An id may come back for another tool, which does no harm: what is kept is used only for a
# schema that reads the same. So no tool is kept alive, and a tool that makes its schema anew each time is found.
_kept: dict[int, ArgumentSchema] = {}


def compiled(tool: object, schema: dict[str, Any]) -> ArgumentSchema:
    """Give a tool's schema, ready to check arguments."""
    kept = _kept.get(id(tool))
    if kept is not None and kept.is_of(schema):
        return kept
    made = ArgumentSchema(schema)
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    _kept[id(tool)] = made
    return made
