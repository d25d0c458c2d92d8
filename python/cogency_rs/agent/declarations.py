"""Tools as they are declared to a provider or a server, in the request."""

from __future__ import annotations

from typing import Any

from ..models import ToolDeclaration
from ..tools.signature import parameters_of
from .inert import inert_text, inert_value
from .runtime import Runtime

__all__ = ["declarations"]


async def declarations(runtime: Runtime) -> tuple[ToolDeclaration, ...]:
    """The visible tools, by the names that calls use: tools of two servers may have the same name."""
    visible = {id(tool) for tool in runtime.visible_tools}
    named = [(name, each) for name, each in runtime.toolbox.names.items() if id(each) in visible]
    return await runtime.apart(lambda: tuple(_declared(name, tool) for name, tool in named))


def _declared(name: str, tool: Any) -> ToolDeclaration:
    parameters = inert_value(parameters_of(tool))
    return ToolDeclaration(name, inert_text(tool.description or ""), parameters)
