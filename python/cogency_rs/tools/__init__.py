"""`ToolContext`, which tells a tool about its call, and `ToolOptions`, which say how its calls are carried out."""

from .context import ToolContext
from .options import ToolOptions, options_of

__all__ = ["ToolContext", "ToolOptions", "options_of"]
