"""Refuses wrong arguments: one sentence that names the argument, what was given, and what is accepted.

Every sentence has the same form, `name must be …, got …`, and every check is here, so that an argument with one meaning
is refused in the same words wherever it is given.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .._core import Dialect
from ..errors import ArgumentError, ConfigError
from ..types import Dialects

MAX_SECONDS = 366 * 24 * 3600.0

_LONGEST = 100


def refused(name: str, given: Any, accepted: str, advice: str = "") -> ArgumentError:
    """Make the error for an argument of the wrong type.

    Args:
        name: the argument's name.
        given: what was given; shown in at most 100 characters.
        accepted: what the argument must be, with its article.
        advice: what to write instead.
    """
    sentence = _sentence(name, given, accepted)
    return ArgumentError(f"{sentence}; {advice}" if advice else sentence)


def out_of_range(name: str, given: Any, accepted: str) -> ConfigError:
    """Make the error for an argument of the right type whose value cannot work; else as `refused`."""
    return ConfigError(_sentence(name, given, accepted))


def _sentence(name: str, given: Any, accepted: str) -> str:
    return f"{name} must be {accepted}, got {_shown(given)}"


def _shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of an object that cannot even say what it is
        return f"an object of the class {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def check_text(name: str, given: Any, *, what: str = "text", or_none: bool = False) -> None:
    """Check a text.

    Raises:
        ArgumentError: it is not a `str`.
    """
    if not (isinstance(given, str) or (or_none and given is None)):
        raise refused(name, given, f"{what} (a str){', or None' if or_none else ''}")


def check_flag(name: str, given: Any) -> None:
    """Check a `bool`.

    Raises:
        ArgumentError: it is something else.
    """
    if not isinstance(given, bool):
        raise refused(name, given, "True or False")


def check_choice(name: str, given: Any, *choices: str) -> None:
    """Check a word.

    Raises:
        ConfigError: it is not one of the choices; an `ArgumentError` if it is not a `str`.
    """
    if not (isinstance(given, str) and given in choices):
        wrong = out_of_range if isinstance(given, str) else refused
        raise wrong(name, given, " or ".join(f'"{choice}"' for choice in choices))


def check_seconds(name: str, seconds: Any) -> None:
    """Check a time limit; `None` means no limit.

    Raises:
        ConfigError: it is not above 0 and at most a year; an `ArgumentError` if it is not a number.
    """
    if seconds is None:
        return
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (is_number and 0 < seconds <= MAX_SECONDS):
        wrong = out_of_range if is_number else refused
        raise wrong(name, seconds, "above 0 seconds and at most a year")


def check_count(
    name: str, count: Any, *, least: int = 1, most: float = sys.maxsize, or_none: bool = True
) -> None:
    """Check a number of things; `None` means no bound.

    Raises:
        ConfigError: it is not from `least` to `most`; an `ArgumentError` if it is not a whole number.
    """
    if count is None and or_none:
        return
    whole = count if isinstance(count, int) and not isinstance(count, bool) else None
    if whole is None or not least <= whole <= most:
        wrong = refused if whole is None else out_of_range
        raise wrong(
            name, count, f"a whole number of at least {least}{', or None' if or_none else ''}"
        )


def check_instance(name: str, given: Any, kind: type[Any], *, article: str = "a") -> None:
    """Check an object's class.

    Raises:
        ArgumentError: it is not an instance of `kind`.
    """
    if not isinstance(given, kind):
        raise refused(name, given, f"{article} {kind.__name__}")


def check_execution(given: Any) -> None:
    """Check what gives a batch its log and its tools: an `Execution`, ours or cogency's.

    Raises:
        ArgumentError: it is something else.
    """
    if not (hasattr(given, "tools") and hasattr(given, "storage")):
        raise refused("execution", given, "an Execution")


def check_function(name: str, given: Any, what: str = "a function, or None") -> None:
    """Check a function of the caller's; `None` is accepted.

    Raises:
        ArgumentError: it is not callable.
    """
    if not (given is None or callable(given)):
        raise refused(name, given, what)


def check_list(name: str, given: Any, of: str, advice: str = "") -> list[Any]:
    """Read any iterable of things.

    Args:
        name: the argument's name.
        given: the iterable.
        of: what it is a list of, in the plural.
        advice: what to write instead.

    Raises:
        ArgumentError: it is one thing, a text, or not an iterable.
    """
    if type(given) is list or type(given) is tuple:  # almost always, and quick
        return [*given]
    checked: object = given
    if isinstance(checked, str | bytes | Mapping) or not isinstance(checked, Iterable):
        raise refused(name, given, f"a list of {of}", advice)
    return list(given)


def check_names(name: str, given: Any) -> frozenset[str]:
    """Read an iterable of texts.

    Raises:
        ArgumentError: it is one text, not an iterable, or something in it is not a `str`.
    """
    names = check_list(
        name, given, "texts", f"write {name}=[{given!r}]" if isinstance(given, str) else ""
    )
    for each in names:
        if not isinstance(each, str):
            raise refused(name, given, "a list of texts")
    return frozenset(names)


def check_mapping(name: str, given: Any, what: str) -> None:
    """Check a dict, or what reads like one; `None` is accepted.

    Raises:
        ArgumentError: it is something else.
    """
    if not (given is None or isinstance(given, Mapping)):
        raise refused(name, given, what)


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

AGENT_NAMES: Mapping[str, str] = {
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

RUN_NAMES: Mapping[str, str] = {
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

METHOD_NAMES: Mapping[str, str] = {
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

ACCUMULATOR_NAMES: Mapping[str, str] = {
    **_OF_CALLS,
    **_same("execution=Execution(tools=…)", "tools"),
    **_same("execution=Execution(storage=…)", "storage"),
    **_same("hooks=[…]", "middleware"),
    **_same("approve=Approval(…, timeout=…)", "approval_timeout"),
}
"""What to write in place of arguments that `Accumulator` does not have."""

MODEL_NAMES: Mapping[str, str] = {
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

HOOK_NAMES: Mapping[str, str] = _same(
    "async def around_call(self, invocation, next)",
    *("before_tool_execute", "before_tool_call", "before_tool", "on_tool_start"),
    *("after_tool_execute", "after_tool_call", "after_tool", "on_tool_end", "on_tool_error"),
)
"""What to write in place of methods that `Hooks` does not have."""

LIMIT_NAMES: Mapping[str, str] = {
    **_same("steps=…", "max_turns", "max_steps", "max_iterations", "request_limit"),
    **_same("tool_calls=…", "tool_calls_limit", "max_tool_calls"),
    **_same("total_tokens=…", "total_tokens_limit", "max_tokens"),
    **_same("seconds=…", "timeout"),
    **_same("same_errors=…", "same_error_limit"),
}
"""What to write in place of limits that `RunLimits` does not have."""

TOOL_NAMES: Mapping[str, str] = {
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


def unknown(name: str) -> ConfigError:
    """Make the error for a name that no preset has, with the nearest presets, or all if none is near.

    The core calls this, so that every door gives the same error.
    """
    nothing = f"there is no dialect {json.dumps(name, ensure_ascii=False)}"
    near = _near(name)
    if not near:
        return ConfigError(f"{nothing}; there are {', '.join(Dialect.presets())}")
    listed = [f'"{each.name}"' + (f" ({each.models})" if each.models else "") for each in near]
    are = "is" if len(listed) == 1 else "are"
    return ConfigError(
        f"{nothing}; the nearest {are} {', '.join(listed)}; docs/presets.md has those of all models"
    )


def check_dialect(dialect: Dialects) -> None:
    """Check the names of dialects.

    Raises:
        ConfigError: there is no such dialect.
    """
    for each in dialect if isinstance(dialect, tuple) else (dialect,):
        if isinstance(each, str):
            Dialect(each)


def _near(name: str) -> Sequence[Dialect]:
    """The presets of which this is a model, or the beginning of a model or of the name; or the most similar ones."""
    from difflib import get_close_matches  # for an error only

    given = _bare(name.rpartition("/")[2])  # a model's name may begin with its maker's
    if not given:
        return ()
    found: dict[str, list[Dialect]] = {}
    for each in map(Dialect, Dialect.presets()):
        for label in (each.name, *(each.models or "").split(",")):
            found.setdefault(_bare(label), []).append(each)
    keys = [key for key in found if len(key) > 2]
    near = [given] if given in found else [key for key in keys if key.startswith(given)]
    near = near or sorted(filter(given.startswith, keys), key=len)[-1:]
    near = near or get_close_matches(given, keys, _MOST, 0.75)
    return [*{each.name: each for key in near for each in found[key]}.values()][:_MOST]


_MOST = 3


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
