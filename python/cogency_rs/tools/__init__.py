"""Functions and objects as tools: their schemas, options and arguments; tools for files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import lazy_names

if TYPE_CHECKING:
    from .files import file_tools as file_tools
    from .function_tool import FunctionTool as FunctionTool
    from .options import Preview as Preview, Retries as Retries, ToolOptions as ToolOptions
    from .schema import Param as Param

__all__ = ["FunctionTool", "Param", "Preview", "Retries", "ToolOptions", "file_tools"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".files": ("file_tools",),
        ".function_tool": ("FunctionTool",),
        ".options": ("Preview", "Retries", "ToolOptions"),
        ".schema": ("Param",),
    },
)
