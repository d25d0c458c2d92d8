"""What a model writes and reads: text to events, and calls and results to text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import CallGrammar, Limits
from ..loading import lazy_names

if TYPE_CHECKING:
    from .codec import (
        format_call_agent as format_call_agent,
        format_result_agent as format_result_agent,
        format_results_array as format_results_array,
        parse_tool_call as parse_tool_call,
        parse_tool_result as parse_tool_result,
        tool_instructions as tool_instructions,
    )
    from .parser import parse_execute_block as parse_execute_block

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".codec": (
            "format_call_agent",
            "format_result_agent",
            "format_results_array",
            "parse_tool_call",
            "parse_tool_result",
            "tool_instructions",
        ),
        ".parser": ("parse_execute_block",),
    },
)
