"""What a model can be told besides its name: the settings that type checkers know, and the check of those given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import ArgumentError
from ..guards.arguments import refused
from ..loading.plain_data import TypedDict
from .settings import ModelSettings

__all__ = [
    "AnthropicSettings",
    "LocalSettings",
    "OpenAISettings",
    "RequestSettings",
    "check_settings",
]


class RequestSettings(TypedDict, total=False):
    """How a question is sent.

    Attributes:
        timeout: seconds, or `{"connect": 10, "read": 600, "total": None}`: until there is a connection, between two
            pieces of the answer, and in all; `None` for no limit but that of the connection.
        max_retries: how often the question is sent again, until an answer begins.
        extra_headers: further headers.
        extra_query: further parameters of the address.
        extra_body: fields that only your server has.
        extra_fields: whether fields of the answer that have no delta of their own come as `ExtraDelta`. If not given,
            they do where `logprobs` are asked for.
    """

    timeout: float | Mapping[str, float | None] | None
    max_retries: int
    extra_headers: Mapping[str, str]
    extra_query: Mapping[str, Any]
    extra_body: Mapping[str, Any]
    extra_fields: bool


class Sampling(RequestSettings, total=False):
    """What OpenAI's API, and servers that speak it, call the settings of every model."""

    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    stop: str | Sequence[str]
    presence_penalty: float
    frequency_penalty: float
    logit_bias: Mapping[str, float]
    logprobs: bool
    top_logprobs: int
    top_k: int
    min_p: float
    repeat_penalty: float


class LocalSettings(Sampling, total=False):
    """The settings of llama.cpp."""

    dry_multiplier: float
    typical_p: float
    mirostat: int
    cache_prompt: bool


class OpenAISettings(Sampling, total=False):
    """The settings of OpenAI's chat completions, and those that other servers add."""

    max_completion_tokens: int
    reasoning_effort: str
    verbosity: str
    service_tier: str
    tool_choice: Any
    parallel_tool_calls: bool
    response_format: Any
    metadata: Mapping[str, str]
    store: bool
    user: str
    safety_identifier: str
    prompt_cache_key: str
    repetition_penalty: float
    skip_special_tokens: bool


class AnthropicSettings(RequestSettings, total=False):
    """The settings of Anthropic's messages."""

    temperature: float
    top_p: float
    top_k: int
    stop_sequences: Sequence[str]
    tool_choice: Any
    metadata: Mapping[str, str]
    service_tier: str
    output_config: Mapping[str, Any]


_KINDS: Mapping[Any, tuple[type | tuple[type, ...], str]] = {
    "float": ((int, float), "a number"),
    "int": (int, "a whole number"),
    "bool": (bool, "True or False"),
    "str": (str, "a str"),
}
"""What is checked of a value, by its hint as it is written; the server checks the others."""


def check_settings(model: str, given: Mapping[str, Any], known: type) -> None:
    """Refuse settings that a model of this class does not have, or that have another type; `None` is not given.

    Raises:
        ArgumentError: the message says what to write instead.
        ConfigError: it is a part of each request, and no setting.
    """
    ModelSettings(given)  # refuses those that are parts of a request
    hints: Mapping[str, Any] = known.__annotations__
    for name, value in given.items():
        if name not in hints:
            raise ArgumentError(
                f"{model} has no setting {name}: write {_nearest(name, hints)}extra_body={{{name!r}: …}} for a field "
                "that only your server has"
            )
        hint = hints[name]
        kind, wanted = _KINDS.get(getattr(hint, "__forward_arg__", hint), (object, ""))
        is_flag = isinstance(value, bool) and kind is not bool and kind is not object
        if value is not None and (is_flag or not isinstance(value, kind)):
            raise refused(name, value, wanted)


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # for an error only

    found = get_close_matches(name, known, 1)
    return f"{found[0]}=…, or " if found else ""
