"""What a model writes and reads: text to events, and calls and results to text."""

from .._core import CallGrammar, Limits
from .codec import (
    format_call_agent,
    format_result_agent,
    format_results_array,
    parse_tool_call,
    parse_tool_result,
    tool_instructions,
)
from .parser import parse_execute_block

__all__ = [
    "CallGrammar",
    "Limits",
    "format_call_agent",
    "format_result_agent",
    "format_results_array",
    "parse_execute_block",
    "parse_tool_call",
    "parse_tool_result",
    "tool_instructions",
]
