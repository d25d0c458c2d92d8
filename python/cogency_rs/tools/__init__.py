"""What tools are told of the call they carry out, and what they say of themselves."""

from .context import ToolContext
from .options import ToolOptions, options_of

__all__ = ["ToolContext", "ToolOptions", "options_of"]
