"""Whether a call's arguments fit its tool, before the tool starts. Schemas are compiled once for each tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._core import ArgumentSchema
from .signature import is_object

__all__ = ["CheckedTool", "compiled", "faults", "run_checked"]

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


class CheckedTool:
    """A tool whose `execute` checks its own arguments, so that somebody who has done so can leave that out."""

    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """Say what is wrong with the model's arguments, a sentence for each fault; nothing if they fit."""
        raise NotImplementedError

    @property
    def run_checked(self) -> Callable[..., Any]:
        """What runs it with arguments in which there are no `faults`."""
        raise NotImplementedError


# By its type: a mock of a `CheckedTool` says that it is one, and is none.
def _checks_itself(tool: object) -> bool:
    return issubclass(type(tool), CheckedTool)


def faults(tool: Any, args: dict[str, Any]) -> list[str]:
    """Say what is wrong with a call's arguments, a sentence for each fault; nothing if they fit.

    A tool is checked by its `json_schema` if that is JSON Schema, else by its `schema`, in either form. One without a
    schema takes anything; one whose schema cannot be used takes nothing, and says why.
    """
    if _checks_itself(tool):
        own: list[str] = tool.faults(args)
        return own
    schema = getattr(tool, "json_schema", None)
    if not (is_object(schema) and schema.get("type") == "object"):
        schema = getattr(tool, "schema", None)
    if not schema or not is_object(schema):
        return []
    return compiled(tool, schema).faults(args)


def run_checked(tool: Any) -> Callable[..., Any]:
    """Give what runs a tool whose arguments have been checked: without a second check, where it has one of its own."""
    run: Callable[..., Any] = tool.run_checked if _checks_itself(tool) else tool.execute
    return run
