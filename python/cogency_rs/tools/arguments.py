"""Checks the arguments of calls before their tools start. Each tool's schema is compiled only once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from .._core import ArgumentSchema
from .signature import is_object

__all__ = ["CheckedTool", "checks_itself", "compiled", "faults"]

MOST_KEPT = 1024
"""How many tools' compiled schemas are kept."""

# By the tool's id, so that no tool is kept alive, and a tool that makes a new schema each time is found. Another tool
# may get the same id later, which does no harm: a compiled schema is used only if it was compiled from an equal one.
_kept: dict[int, ArgumentSchema] = {}


def compiled(tool: object, schema: dict[str, Any]) -> ArgumentSchema:
    """Compile a tool's schema, or return the kept one."""
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

    It is not an `abc.ABC`: every call asks whether its tool is a subclass, which with `abc.ABC` costs several times as
    much.
    """

    @abstractmethod
    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """What is wrong with the model's arguments, a sentence for each fault; empty if they fit."""

    @property
    @abstractmethod
    def takes_context(self) -> bool:
        """Whether the tool gets a `ToolContext`."""

    @property
    @abstractmethod
    def run_checked(self) -> Callable[..., Any] | None:
        """Runs the tool, given arguments without `faults` and a context or `None`; `None` to use `execute`."""


def checks_itself(tool: object) -> TypeGuard[CheckedTool]:
    """Whether a tool is a `CheckedTool`, by its type, since a mock of one passes `isinstance`."""
    return issubclass(type(tool), CheckedTool)


def faults(tool: Any, args: dict[str, Any]) -> list[str]:
    """What is wrong with a call's arguments, a sentence for each fault; empty if they fit.

    They are checked against the tool's `json_schema` if that is a JSON Schema, else against its `schema`, in either
    form. A tool without a schema takes all arguments. If the schema cannot be used, all arguments have a fault, which
    says why.
    """
    if checks_itself(tool):
        return tool.faults(args)
    schema = getattr(tool, "json_schema", None)
    if not (is_object(schema) and schema.get("type") == "object"):
        schema = getattr(tool, "schema", None)
    if not schema or not is_object(schema):
        return []
    return compiled(tool, schema).faults(args)
