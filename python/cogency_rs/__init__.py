"""The Rust core of a text-protocol LLM agent.

A model's text becomes typed events while it streams (`parse_tokens`), its tool calls run in parallel with results in
call order, every step is in the log (`Accumulator`, `SQLite`), and the next prompt is assembled from it (`assemble`).
"""

from importlib import import_module
from typing import Any

from ._core import BUILD, __version__
from .build import warn_of_debug_code

_PUBLIC = {
    "_core": (
        "CallGrammar",
        "CircuitBreaker",
        "Dialect",
        "Finish",
        "Limits",
        "Parser",
        "Thought",
    ),
    "agent": (
        "Agent",
        "Driver",
        "NativeDriver",
        "ReActDriver",
        "Recovery",
        "RunHandle",
        "Runtime",
        "ScriptedDriver",
        "TextDriver",
    ),
    "calls.records": ("ToolExecution",),
    "compat.dropin": (
        "install",
        "uninstall",
    ),
    "context.assembly": (
        "assemble",
        "system_prompt",
        "to_messages",
    ),
    "context.history": ("History",),
    "errors": (
        "BlockTool",
        "BusyError",
        "CogencyError",
        "ConfigError",
        "DeniedError",
        "HookError",
        "LLMError",
        "NoAnswerError",
        "OwnerError",
        "ProtocolError",
        "SkipTool",
        "StopReason",
        "StopRun",
        "StorageError",
        "ToolError",
        "ToolParseError",
        "UnknownOutcome",
    ),
    "execution.call_options": ("CallOptions",),
    "execution.executor": (
        "execute_calls",
        "execute_tool",
        "execute_tools",
    ),
    "execution.workers": (
        "set_worker_threads",
        "worker_threads",
    ),
    "hooks": (
        "Approval",
        "AroundCall",
        "HookContext",
        "Hooks",
        "Invocation",
        "Next",
        "ToolApproved",
        "ToolDenied",
    ),
    "models": (
        "AnthropicModel",
        "Delta",
        "LocalModel",
        "Model",
        "ModelRequest",
        "OpenAIModel",
        "ReasoningDelta",
        "SpecificTool",
        "TextDelta",
        "ToolCallDelta",
        "ToolChoice",
        "ToolDeclaration",
        "Usage",
    ),
    "protocol.codec": (
        "format_call_agent",
        "format_result_agent",
        "format_results_array",
        "parse_tool_call",
        "parse_tool_result",
        "tool_instructions",
    ),
    "protocol.parser": (
        "parse_execute_block",
        "parse_tokens",
    ),
    "runs.context": ("RunContext",),
    "runs.limits": ("UsageLimits",),
    "runs.response": ("ModelResponse",),
    "runs.run_result": (
        "RunResult",
        "Step",
    ),
    "servers": (
        "MCPServer",
        "MCPTool",
        "ServerGroup",
        "load_mcp_config",
    ),
    "storage": (
        "CallRecord",
        "Conversation",
        "Log",
        "LogPage",
        "Memory",
        "PostgreSQL",
        "SQLite",
    ),
    "telemetry": (
        "Telemetry",
        "instrument",
        "uninstrument",
    ),
    "tools": (
        "ToolContext",
        "ToolOptions",
    ),
    "tools.files": ("file_tools",),
    "tools.function_tool": (
        "FunctionTool",
        "Param",
        "tool",
    ),
    "turn.accumulator": ("Accumulator",),
    "types": (
        "Event",
        "Execution",
        "Storage",
        "StreamMode",
        "Tool",
        "ToolCall",
        "ToolResult",
        "TurnOutcome",
    ),
}
"""Every public name, by its module. A module is imported when one of its names is first used, so a program that only
parses loads no storage. Type checkers read the same names in `__init__.pyi`."""

_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]  # it reads the stub

warn_of_debug_code(BUILD)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
