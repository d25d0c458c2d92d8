"""The public names of the package, for type checkers: the same as in the table of `__init__.py`."""

from ._core import Dialect as Dialect, Parser as Parser, __version__ as __version__
from .agent.agent import Agent as Agent
from .compat.dropin import install as install
from .context.assembly import assemble as assemble, system_prompt as system_prompt
from .context.history import History as History
from .errors import CogencyError as CogencyError
from .execution.executor import execute_tools as execute_tools
from .execution.scheduling import CallOptions as CallOptions
from .hooks.approval import Approval as Approval
from .hooks.hooks import Hooks as Hooks
from .models.anthropic import AnthropicModel as AnthropicModel
from .models.local import LocalModel as LocalModel
from .models.openai import OpenAIModel as OpenAIModel
from .protocol import parse_tokens as parse_tokens
from .runs.context import RunLimits as RunLimits
from .runs.result import RunResult as RunResult, Step as Step
from .servers.mcp import MCPServer as MCPServer
from .storage.memory import Memory as Memory
from .storage.postgres import PostgreSQL as PostgreSQL
from .storage.sqlite import SQLite as SQLite
from .tools.context import ToolContext as ToolContext
from .tools.function_tool import tool as tool
from .turn.accumulator import Accumulator as Accumulator
from .types import (
    Event as Event,
    Execution as Execution,
    ToolCall as ToolCall,
    ToolResult as ToolResult,
)
