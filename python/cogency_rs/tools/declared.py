"""Tools that are declared, as clients of an API declare them, and live somewhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from .signature import is_object

__all__ = ["DeclaredTool"]


@dataclass(frozen=True)
class DeclaredTool:
    """What a prompt lists of a declaration: a dict with a `name` and `parameters`, or one in its `function`."""

    name: str
    description: str
    schema: dict[str, Any]

    @staticmethod
    def of(declaration: dict[str, Any]) -> DeclaredTool:
        """The tool of a declaration.

        Raises:
            ArgumentError: it has no name.
        """
        function: Any = declaration.get("function")
        inner = function if is_object(function) else declaration
        name: Any = inner.get("name")
        if not isinstance(name, str):
            raise ArgumentError(
                f"a declared tool must have a name, and this does not: {declaration!r}"
            )
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        for key in ("parameters", "input_schema", "inputSchema"):
            given: Any = inner.get(key)
            if is_object(given):
                schema |= given
                break
        return DeclaredTool(name, inner.get("description") or "", schema)
