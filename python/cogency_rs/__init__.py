"""The Rust core of a text-protocol LLM agent.

A model's text becomes typed events while it streams (`parse_tokens`), its tool calls run in parallel with results in
call order, every step is in the log (`Accumulator`, `SQLite`), and the next prompt is assembled from it (`assemble`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._core import (
    BUILD,
    CircuitBreaker,
    Limits,
    Parser,
    __version__,
    set_worker_threads,
    worker_threads,
)
from .accumulator import Accumulator
from .build import warn_of_debug_code
from .codec import (
    format_call_agent,
    format_result_agent,
    format_results_array,
    parse_tool_call,
    parse_tool_result,
    tool_instructions,
)
from .context import assemble, system_prompt, to_messages
from .errors import (
    CogencyError,
    ConfigError,
    LLMError,
    ProtocolError,
    StorageError,
    ToolError,
    ToolParseError,
)
from .executor import execute_tool, execute_tools
from .parser import parse_execute_block, parse_tokens
from .storage import SQLite
from .types import Event, Execution, Storage, StreamMode, Tool, ToolCall, ToolResult

if TYPE_CHECKING:
    from .dropin import install, uninstall
    from .function_tool import FunctionTool, Param, tool

__all__ = [
    "Accumulator",
    "CircuitBreaker",
    "CogencyError",
    "ConfigError",
    "Event",
    "Execution",
    "FunctionTool",
    "LLMError",
    "Limits",
    "Param",
    "Parser",
    "ProtocolError",
    "SQLite",
    "Storage",
    "StorageError",
    "StreamMode",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolParseError",
    "ToolResult",
    "__version__",
    "assemble",
    "execute_tool",
    "execute_tools",
    "format_call_agent",
    "format_result_agent",
    "format_results_array",
    "install",
    "parse_execute_block",
    "parse_tokens",
    "parse_tool_call",
    "parse_tool_result",
    "set_worker_threads",
    "system_prompt",
    "to_messages",
    "tool",
    "tool_instructions",
    "uninstall",
    "worker_threads",
]

warn_of_debug_code(BUILD)


_LATER = {
    "FunctionTool": "function_tool",
    "Param": "function_tool",
    "install": "dropin",
    "tool": "function_tool",
    "uninstall": "dropin",
}
"""What only some programs need, and where it is: imported when it is asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value
