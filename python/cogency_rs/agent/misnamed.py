"""Arguments that other frameworks, or earlier versions, call otherwise: one sentence says what to write here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from ..errors import ArgumentError

__all__ = ["MISNAMED_IN_AGENT", "MISNAMED_IN_RUN", "refuses_misnamed"]

P = ParamSpec("P")
R = TypeVar("R")

_STEPS = "limits=RunLimits(steps=…)"
_INSTRUCTIONS = "instructions=…"
_OUTPUT = "output_type=…"
_STORAGE = "storage=…"
_MODEL = "the model, as the first argument"
_TOOLS = "tools=[…], which takes functions with @tool, MCP servers and agents"
_OF_RUN = "agent.run(…, {}=…)"


def _same(value: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, value)


MISNAMED_IN_AGENT: Mapping[str, str] = {
    **_same(_STEPS, "max_turns", "max_steps", "max_iterations", "max_iter", "request_limit"),
    **_same("limits=RunLimits(…)", "usage_limits", "run_limits"),
    **_same("limits=RunLimits(same_errors=…)", "recovery", "same_error_limit"),
    **{
        name: f"limits=RunLimits({name}=…)"
        for name in ("require_tool", "stop_at_tools", "finish_reasons", "on_busy")
    },
    **_same(_INSTRUCTIONS, "system_prompt", "system", "system_message", "identity", "prompt"),
    **_same(_TOOLS, "servers", "mcp_servers", "toolsets", "functions", "handoffs", "sub_agents"),
    **_same(_OUTPUT, "result_type", "response_format", "response_model", "output_schema"),
    **_same(_STORAGE, "memory", "session", "checkpointer", "log", "db"),
    **_same(_MODEL, "llm", "client"),
    **_same(
        "OpenAIModel(…) or another model with this argument",
        *("temperature", "max_tokens", "api_key", "base_url", "seed"),
    ),
    **_same("calls=CallOptions(timeout=…)", "tool_timeout"),
    **{
        name: f"calls=CallOptions({name}=…)"
        for name in ("batch_timeout", "max_concurrency", "on_failure", "on_block", "eager")
    },
    **_same("@tool(retries=…) at the tool", "retries", "max_retries", "tool_retries"),
    **_same("approve=Approval(…, timeout=…)", "approval_timeout"),
    **_same("hooks=[…]", "middleware", "callbacks", "capabilities"),
    **_same("history=History(…)", "history_processors", "history_window"),
    **_same("driver=TextDriver(lenient=…)", "lenient"),
    **_same("telemetry=…", "instrument", "tracing", "tracer_provider"),
    **{
        name: f"tools=in_sandbox(tools, {name}=…) of cogency_rs.compat"
        for name in ("sandbox_dir", "access")
    },
    **_same(_OF_RUN.format("deps"), "deps", "deps_type", "context"),
    **_same(_OF_RUN.format("conversation_id"), "conversation_id", "session_id", "thread_id"),
    **_same(_OF_RUN.format("user_id"), "user_id"),
}
"""What to write in place of arguments that `Agent` does not have."""

MISNAMED_IN_RUN: Mapping[str, str] = {
    **_same(_STEPS, "max_turns", "max_steps", "max_iterations", "request_limit"),
    **_same("limits=RunLimits(…)", "usage_limits"),
    **_same("limits=RunLimits(seconds=…)", "timeout"),
    **_same("deps=…", "context"),
    **_same("conversation_id=…", "session_id", "thread_id", "session"),
    **_same("conversation_id=…, whose messages are in the log", "message_history", "messages"),
    **_same("async for event in agent.run(…)", "stream"),
    **_same("Agent(…, instructions=…)", "system_prompt", "instructions"),
    **_same("Agent(…, output_type=…)", "output_type"),
}
"""What to write in place of arguments that `Agent.run` does not have."""


def refuses_misnamed(
    owner: str, names: Mapping[str, str]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse arguments of these names in one sentence, and leave all else to the function.

    Type checkers and `inspect.signature` see the function's own signature.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name in names:
                    raise ArgumentError(f"{owner} has no argument {name}; write {names[name]}")
            return function(*args, **kwargs)

        return checked

    return decorate
