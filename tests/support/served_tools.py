"""Tools that count as those of a server, without a server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from cogency_rs.tools import ToolOptions

__all__ = ["ServedTool", "served"]


@dataclass(frozen=True, eq=False)
class ServedTool:
    """A tool of a server: its name there, and its name for the model.

    Attributes:
        ran: the arguments of its calls, in order.
    """

    name: str
    server: str
    remote_name: str
    options: ToolOptions
    schema: dict[str, Any] = field(default_factory=dict[str, Any])
    answer: Any = "done"
    ran: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    description: str = "Does something on a server."

    def named(self, name: str) -> ServedTool:
        """The same tool under another name."""
        return replace(self, name=name)

    async def execute(self, **args: Any) -> Any:
        """Note the call, and answer or raise."""
        self.ran.append(args)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def served(
    name: str, server: str = "fs", *, answer: Any = "done", schema: Any = None, **options: Any
) -> ServedTool:
    """A tool of a server."""
    return ServedTool(name, server, name, ToolOptions(**options), schema or {}, answer)
