"""The public names of the package, for type checkers: the same as in the table of `__init__.py`."""

from ._core import (
    CallGrammar as CallGrammar,
    CircuitBreaker as CircuitBreaker,
    Dialect as Dialect,
    Finish as Finish,
    Limits as Limits,
    Parser as Parser,
    Thought as Thought,
    __version__ as __version__,
)
from .agent import (
    Agent as Agent,
    Driver as Driver,
    NativeDriver as NativeDriver,
    ReActDriver as ReActDriver,
    Recovery as Recovery,
    RunHandle as RunHandle,
    Runtime as Runtime,
    ScriptedDriver as ScriptedDriver,
    TextDriver as TextDriver,
)
from .calls.records import ToolExecution as ToolExecution
from .compat.dropin import install as install, uninstall as uninstall
from .context.assembly import (
    assemble as assemble,
    system_prompt as system_prompt,
    to_messages as to_messages,
)
from .context.history import History as History
from .errors import (
    BlockTool as BlockTool,
    BusyError as BusyError,
    CogencyError as CogencyError,
    ConfigError as ConfigError,
    DeniedError as DeniedError,
    HookError as HookError,
    LLMError as LLMError,
    NoAnswerError as NoAnswerError,
    OwnerError as OwnerError,
    ProtocolError as ProtocolError,
    SkipTool as SkipTool,
    StopReason as StopReason,
    StopRun as StopRun,
    StorageError as StorageError,
    ToolError as ToolError,
    ToolParseError as ToolParseError,
    UnknownOutcome as UnknownOutcome,
)
from .execution.call_options import CallOptions as CallOptions
from .execution.executor import (
    execute_calls as execute_calls,
    execute_tool as execute_tool,
    execute_tools as execute_tools,
)
from .execution.workers import (
    set_worker_threads as set_worker_threads,
    worker_threads as worker_threads,
)
from .hooks import (
    Approval as Approval,
    AroundCall as AroundCall,
    HookContext as HookContext,
    Hooks as Hooks,
    Invocation as Invocation,
    Next as Next,
    ToolApproved as ToolApproved,
    ToolDenied as ToolDenied,
)
from .models import (
    AnthropicModel as AnthropicModel,
    Delta as Delta,
    LocalModel as LocalModel,
    Model as Model,
    ModelRequest as ModelRequest,
    OpenAIModel as OpenAIModel,
    ReasoningDelta as ReasoningDelta,
    SpecificTool as SpecificTool,
    TextDelta as TextDelta,
    ToolCallDelta as ToolCallDelta,
    ToolChoice as ToolChoice,
    ToolDeclaration as ToolDeclaration,
    Usage as Usage,
)
from .protocol.codec import (
    format_call_agent as format_call_agent,
    format_result_agent as format_result_agent,
    format_results_array as format_results_array,
    parse_tool_call as parse_tool_call,
    parse_tool_result as parse_tool_result,
    tool_instructions as tool_instructions,
)
from .protocol.parser import (
    parse_execute_block as parse_execute_block,
    parse_tokens as parse_tokens,
)
from .runs.context import RunContext as RunContext
from .runs.limits import UsageLimits as UsageLimits
from .runs.response import ModelResponse as ModelResponse
from .runs.run_result import RunResult as RunResult, Step as Step
from .servers import (
    MCPServer as MCPServer,
    MCPTool as MCPTool,
    ServerGroup as ServerGroup,
    load_mcp_config as load_mcp_config,
)
from .storage import (
    CallRecord as CallRecord,
    Conversation as Conversation,
    Log as Log,
    LogPage as LogPage,
    Memory as Memory,
    PostgreSQL as PostgreSQL,
    SQLite as SQLite,
)
from .telemetry import (
    Telemetry as Telemetry,
    instrument as instrument,
    uninstrument as uninstrument,
)
from .tools import ToolContext as ToolContext, ToolOptions as ToolOptions
from .tools.files import file_tools as file_tools
from .tools.function_tool import (
    FunctionTool as FunctionTool,
    Param as Param,
    tool as tool,
)
from .turn.accumulator import Accumulator as Accumulator
from .types import (
    Event as Event,
    Execution as Execution,
    Storage as Storage,
    StreamMode as StreamMode,
    Tool as Tool,
    ToolCall as ToolCall,
    ToolResult as ToolResult,
    TurnOutcome as TurnOutcome,
)
