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
    BlockTool,
    CogencyError,
    ConfigError,
    DeniedError,
    LLMError,
    ProtocolError,
    SkipTool,
    StorageError,
    ToolError,
    ToolParseError,
)
from .executor import execute_calls, execute_tool, execute_tools
from .middleware import HookContext, Hooks, Invocation, Middleware, Next, ToolApproved, ToolDenied
from .parser import parse_execute_block, parse_tokens
from .records import ToolExecution
from .storage import SQLite
from .tools import ToolContext, ToolOptions
from .types import Event, Execution, Storage, StreamMode, Tool, ToolCall, ToolResult
from .workers import set_worker_threads, worker_threads

if TYPE_CHECKING:
    from .dropin import install, uninstall
    from .function_tool import FunctionTool, Param, tool

__all__ = [
    "Accumulator",
    "BlockTool",
    "CircuitBreaker",
    "CogencyError",
    "ConfigError",
    "DeniedError",
    "Event",
    "Execution",
    "FunctionTool",
    "HookContext",
    "Hooks",
    "Invocation",
    "LLMError",
    "Limits",
    "Middleware",
    "Next",
    "Param",
    "Parser",
    "ProtocolError",
    "SQLite",
    "SkipTool",
    "Storage",
    "StorageError",
    "StreamMode",
    "Tool",
    "ToolApproved",
    "ToolCall",
    "ToolContext",
    "ToolDenied",
    "ToolError",
    "ToolExecution",
    "ToolOptions",
    "ToolParseError",
    "ToolResult",
    "__version__",
    "assemble",
    "execute_calls",
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
