"""Whether a call's arguments fit its tool, before the tool starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compiled import compiled
from .function_tool import FunctionTool
from .signature import is_object

__all__ = ["faults", "run_checked"]


def faults(tool: Any, args: dict[str, Any]) -> list[str]:
    """Say what is wrong with a call's arguments, a sentence for each fault; nothing if they fit.

    A tool is checked by its `json_schema` if that is JSON Schema, else by its `schema`, in either form. One without a
    schema takes anything; one whose schema cannot be used takes nothing, and says why.
    """
    if isinstance(tool, FunctionTool):
        return tool.faults(args)
    schema = getattr(tool, "json_schema", None)
    if not (is_object(schema) and schema.get("type") == "object"):
        schema = getattr(tool, "schema", None)
    if not schema or not is_object(schema):
        return []
    return compiled(tool, schema).faults(args)


def run_checked(tool: Any) -> Callable[..., Any]:
    """Give what runs a tool whose arguments have been checked: of a function, without a second check."""
    run: Callable[..., Any] = tool.run_checked if isinstance(tool, FunctionTool) else tool.execute
    return run
