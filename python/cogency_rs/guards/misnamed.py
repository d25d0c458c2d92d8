"""Arguments with other names in other frameworks or earlier versions: one sentence says what to write here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from ..errors import ArgumentError

__all__ = [
    "ACCUMULATOR",
    "AGENT",
    "HOOKS",
    "LIMITS",
    "METHODS",
    "MODEL",
    "RUN",
    "TOOL",
    "refuse_misnamed",
    "refuses_misnamed",
]

P = ParamSpec("P")
R = TypeVar("R")

_STEPS = "limits=RunLimits(steps=…)"
_INSTRUCTIONS = "instructions=…"
_OUTPUT = "output_type=…"
_STORAGE = "storage=…"
_MODEL = "the model, as the first argument"
_TOOLS = "tools=[…], which takes functions with @tool, MCP servers and agents"
_RETRIES = "idempotent=Retries(…)"
_AGAIN = f"@tool({_RETRIES}) calls a tool again with the same arguments"
_FAULTY = "RunLimits(same_errors=…) limits how often the model may be wrong"
_OF_RUN = "agent.run(…, {}=…)"


def _same(value: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, value)


_OF_CALLS = {
    "tool_timeout": "calls=CallOptions(timeout=…)",
    **{
        name: f"calls=CallOptions({name}=…)"
        for name in ("batch_timeout", "max_concurrency", "on_failure", "on_block", "eager")
    },
}

AGENT: Mapping[str, str] = {
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
    **_OF_CALLS,
    **_same(
        f"limits=RunLimits(same_errors=…); {_AGAIN}",
        *("retries", "max_retries", "tool_retries"),
    ),
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
    **_same(_OF_RUN.format("user_id"), "user_id", "user"),
    **_same("limits=RunLimits(seconds=…)", "timeout"),
}
"""What to write in place of arguments that `Agent` does not have."""

RUN: Mapping[str, str] = {
    **_same(_STEPS, "max_turns", "max_steps", "max_iterations", "request_limit"),
    **_same("limits=RunLimits(…)", "usage_limits"),
    **_same("limits=RunLimits(seconds=…)", "timeout"),
    **_same("deps=…", "context"),
    **_same("user_id=…", "user"),
    **_same(
        "Agent(…, calls=CallOptions(…)), or run.events(calls=…) for when calls are shown",
        "calls",
    ),
    **_same("the question, as the first argument", "input", "prompt", "query"),
    **_same("conversation_id=…", "session_id", "thread_id", "session"),
    **_same("conversation_id=…, whose messages are in the log", "message_history", "messages"),
    **_same("async for event in agent.run(…)", "stream"),
    **_same("Agent(…, instructions=…)", "system_prompt", "instructions"),
    **_same("Agent(…, output_type=…)", "output_type"),
    **_same("Agent(model, …), made in a function of the model", "model", "model_settings"),
    **_same("Agent(…, tools=[…]), made in a function of the tools", "tools", "toolsets"),
}
"""What to write in place of arguments that `Agent.run` does not have."""

METHODS: Mapping[str, str] = {
    **_same("Agent(…, tools=[…])", "tool", "tool_plain", "add_tool", "toolset"),
    **_same("Agent(…, instructions=…), which may be a function", "system_prompt", "instructions"),
    **_same(
        "async for event in agent.run(…)", "stream", "run_stream", "run_streamed", "iter", "astream"
    ),
    **_same("await agent.run(…), or agent.run_sync(…)", "invoke", "ainvoke"),
    **_same(
        "a function that makes an agent for each model or setting", "override", "clone", "copy"
    ),
    **_same(
        "@tool(ends_run=True), which raises ToolError for a wrong answer",
        "output_validator",
        "result_validator",
    ),
}
"""What to write in place of methods that an agent does not have."""

ACCUMULATOR: Mapping[str, str] = {
    **_OF_CALLS,
    **_same("execution=Execution(tools=…)", "tools"),
    **_same("execution=Execution(storage=…)", "storage"),
    **_same("hooks=[…]", "middleware"),
    **_same("approve=Approval(…, timeout=…)", "approval_timeout"),
}
"""What to write in place of arguments that `Accumulator` does not have."""

MODEL: Mapping[str, str] = {
    **_same(
        "base_url=…",
        *("api_base", "openai_api_base", "endpoint_url", "url", "host", "server_url"),
    ),
    **_same("api_key=…", "openai_api_key", "anthropic_api_key", "token"),
    **_same("the model's name, as the first argument", "model", "model_name", "model_id"),
    **_same("the path of the file, as the first argument", "model_path", "gguf"),
    **_same("organization=…", "org", "organization_id"),
    **_same("context=…", "n_ctx", "num_ctx", "context_length", "max_context"),
    **_same("gpu_layers=…", "n_gpu_layers", "num_gpu"),
    **_same("threads=…", "n_threads", "num_threads"),
    **_same("slots=…", "n_parallel", "parallel"),
    **_same("max_tokens=…", "num_predict", "n_predict", "max_new_tokens", "max_output_tokens"),
    **_same("extra_headers=…", "headers", "default_headers"),
    **_same("verify=…, a file of certificates", "ssl_verify", "ca_bundle"),
    **_same("client=…", "http_client", "openai_client"),
}
"""What to write in place of arguments that a model does not have."""

HOOKS: Mapping[str, str] = _same(
    "async def around_call(self, invocation, next)",
    *("before_tool_execute", "before_tool_call", "before_tool", "on_tool_start"),
    *("after_tool_execute", "after_tool_call", "after_tool", "on_tool_end", "on_tool_error"),
)
"""What to write in place of methods that `Hooks` does not have."""

LIMITS: Mapping[str, str] = {
    **_same("steps=…", "max_turns", "max_steps", "max_iterations", "request_limit"),
    **_same("tool_calls=…", "tool_calls_limit", "max_tool_calls"),
    **_same("total_tokens=…", "total_tokens_limit", "max_tokens"),
    **_same("seconds=…", "timeout"),
    **_same("same_errors=…", "same_error_limit"),
}
"""What to write in place of limits that `RunLimits` does not have."""

TOOL: Mapping[str, str] = {
    **_same("requires_approval=…", "needs_approval", "approve", "confirm"),
    **_same("ends_run=True", "return_direct", "ends"),
    **_same(f"{_RETRIES} to repeat a call as it is; {_FAULTY}", "retries", "max_retries"),
    **_same("Agent(…, history=History(tool_result_chars={…}))", "max_result_chars"),
    **_same("requires_approval=Preview(…)", "preview"),
    **_same("a plain def, which runs in a thread", "blocking"),
    **_same("visible=…", "is_enabled", "hidden", "prepare"),
    **_same("name=…", "name_override"),
    **_same("description=…", "description_override", "desc"),
    **_same("hints at the function's parameters", "args_schema", "parameters", "schema"),
}
"""What to write in place of options that `@tool` does not have."""


def refuse_misnamed(owner: str, given: Iterable[str], names: Mapping[str, str]) -> None:
    """Refuse arguments that have other names here.

    Raises:
        ArgumentError: one of them is among these names.
    """
    for name in given:
        if name in names:
            raise ArgumentError(f"{owner} has no argument {name}; write {names[name]}") from None


def refuses_misnamed(
    owner: str, names: Mapping[str, str]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse arguments of these names in one sentence, and leave all else to the function.

    Type checkers and `inspect.signature` see the function's own signature.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError:  # as Python raises for an argument of another name
                refuse_misnamed(owner, kwargs, names)
                raise

        return checked

    return decorate
