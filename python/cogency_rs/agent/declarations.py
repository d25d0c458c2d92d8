"""Tools as they are declared to a provider or a server, in the request."""

from __future__ import annotations

from ..models import ToolDeclaration
from ..tools.signature import parameters_of
from .inert import inert_text, inert_value
from .runtime import Runtime

__all__ = ["declarations"]


def declarations(runtime: Runtime) -> tuple[ToolDeclaration, ...]:
    """The visible tools, by the names that calls use: tools of two servers may have the same name."""
    visible = {id(tool) for tool in runtime.visible_tools}
    return tuple(
        ToolDeclaration(name, inert_text(tool.description or ""), inert_value(parameters_of(tool)))
        for name, tool in runtime.toolbox.names.items()
        if id(tool) in visible
    )
