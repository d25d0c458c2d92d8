"""The Rust core of a text-protocol LLM agent, and the agent around it.

A model's text becomes typed events while it streams (`parse_tokens`), its tool calls run in parallel with results in
call order, every step is in the log (`Accumulator`, `SQLite`), and the next prompt is assembled from it (`assemble`).

These are the names of a program's first week. Every other public name is imported from the room that it belongs to,
such as `cogency_rs.errors` or `cogency_rs.storage`.
"""

from ._core import BUILD, __version__
from .loading import lazy_names, warn_of_debug_code

_PUBLIC = {
    "._core": ("Dialect", "Parser"),
    ".agent.agent": ("Agent",),
    ".compat.dropin": ("install",),
    ".context.assembly": ("assemble", "system_prompt"),
    ".context.history": ("History",),
    ".errors": ("CogencyError",),
    ".execution.scheduling": ("CallOptions",),
    ".execution.executor": ("execute_tools",),
    ".hooks.approval": ("Approval",),
    ".hooks.hooks": ("Hooks",),
    ".models.anthropic": ("AnthropicModel",),
    ".models.local": ("LocalModel",),
    ".models.openai": ("OpenAIModel",),
    ".protocol": ("parse_tokens",),
    ".runs.context": ("RunLimits",),
    ".runs.result": ("RunResult", "Step"),
    ".servers.mcp": ("MCPServer",),
    ".storage.memory": ("Memory",),
    ".storage.postgres": ("PostgreSQL",),
    ".storage.sqlite": ("SQLite",),
    ".tools.context": ("ToolContext",),
    ".tools.function_tool": ("tool",),
    ".turn.accumulator": ("Accumulator",),
    ".types": ("Event", "Execution", "ToolCall", "ToolResult"),
}
"""The names by module. A module is imported when one of its names is first used, so a program that only parses loads no
storage. Type checkers read the same names in `__init__.pyi`."""

__all__ = ["__version__", *sorted(name for names in _PUBLIC.values() for name in names)]  # pyright: ignore[reportUnsupportedDunderAll]  # it reads the stub

warn_of_debug_code(BUILD)

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
