"""Whether a call's arguments fit its tool, before the tool starts. Schemas are compiled once for each tool."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from ._core import ArgumentSchema
from .signature import is_object

__all__ = ["CheckedTool", "checks_itself", "compiled", "faults"]

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
    """A tool that checks its own arguments, and can be run without a second check.

    It is no `abc.ABC`: every call asks whether its tool is one of these, which of such a class costs several times as
    much.
    """

    @abstractmethod
    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """Say what is wrong with the model's arguments, a sentence for each fault; nothing if they fit."""

    @property
    @abstractmethod
    def takes_context(self) -> bool:
        """Whether it is told of the call."""

    @property
    @abstractmethod
    def run_checked(self) -> Callable[..., Any] | None:
        """What runs it with arguments that have no `faults`, and its context or `None`; `None` to use `execute`."""


def checks_itself(tool: object) -> TypeGuard[CheckedTool]:
    """Whether a tool is a `CheckedTool`, by its type: a mock of one says that it is one."""
    return issubclass(type(tool), CheckedTool)


def faults(tool: Any, args: dict[str, Any]) -> list[str]:
    """Say what is wrong with a call's arguments, a sentence for each fault; nothing if they fit.

    A tool is checked by its `json_schema` if that is JSON Schema, else by its `schema`, in either form. One without a
    schema takes anything; one whose schema cannot be used takes nothing, and says why.
    """
    if checks_itself(tool):
        return tool.faults(args)
    schema = getattr(tool, "json_schema", None)
    if not (is_object(schema) and schema.get("type") == "object"):
        schema = getattr(tool, "schema", None)
    if not schema or not is_object(schema):
        return []
    return compiled(tool, schema).faults(args)
