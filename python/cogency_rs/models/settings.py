"""What a model can be told besides its name, the check of what was given, and who reads each setting of a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..errors import ArgumentError, ConfigError
from ..guards.arguments import check_count, refused
from ..loading import TypedDict

RETRIES = 2
"""How often a question is sent again by default, until something of an answer is read."""

_OF_THE_CLIENT = ("max_retries", "timeout")
_OF_THE_CALL = ("extra_headers", "extra_query")
ANY_VALUE = frozenset({"extra_body", "extra_headers", "extra_query", "timeout"})
"""The settings of every model that `check_settings` has nothing to say about."""

_OURS = ("messages", "prompt", "stream")

_LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "n_predict",
    "num_predict",
)
"""What services call the setting that bounds the length of an answer."""


class ModelSettings:
    """The settings of a question, sorted by who reads them: what sends it, or the service.

    One that is `None` is as if it was not given; but see `timeout_of`. Later layers override earlier ones.

    Attributes:
        of_client: `max_retries` and `timeout`.
        of_call: `extra_headers` and `extra_query`.
        of_service: what goes into the body of the request.
        extra_fields: whether fields of the answer that have no delta of their own are kept: `extra_fields`, or else
            whether the service is asked for `logprobs`, which is such a field.

    Raises:
        ConfigError: the caller may not set one of them, or `max_retries` is not a whole number of at least 0.
    """

    def __init__(self, *layers: Mapping[str, Any]) -> None:
        merged: dict[str, Any] = {}
        for layer in layers:
            merged |= layer
        # A service need not take null. A timeout of `None` is one: for ever.
        merged = {n: value for n, value in merged.items() if value is not None or n == "timeout"}
        for name in _OURS:
            if name in merged:
                raise ConfigError(
                    f"{name} is not a setting of a model: messages are part of the request, and every answer streams"
                )
        check_count("max_retries", merged.get("max_retries", RETRIES), least=0, or_none=False)
        self.of_client = {name: merged.pop(name) for name in _OF_THE_CLIENT if name in merged}
        self.of_call = {name: merged.pop(name) for name in _OF_THE_CALL if name in merged}
        wanted = merged.pop("extra_fields", None)
        self.of_service: dict[str, Any] = {**merged.pop("extra_body", {}), **merged}
        logprobs = self.of_service.get("logprobs")
        asks = logprobs is not None and logprobs is not False
        self.extra_fields: bool = asks if wanted is None else wanted


def limit_in(*layers: Mapping[str, Any]) -> str | None:
    """The setting that bounds the length of an answer, such as "max_tokens=100"; `None` if no layer sets one.

    Raises:
        ConfigError: see `ModelSettings`.
    """
    asked = ModelSettings(*layers).of_service
    given = ((name, asked.get(name)) for name in _LIMITS)
    # llama.cpp takes -1 for no limit.
    return next((f"{name}={at}" for name, at in given if isinstance(at, int) and at > 0), None)


@dataclass(frozen=True)
class Timeout:
    """How many seconds a request may take; `None` for ever.

    Attributes:
        connect: until there is a connection.
        read: between two things that come.
        total: for the whole answer.
    """

    connect: float = 10.0
    read: float | None = 600.0
    total: float | None = None


_FOREVER = 1e9  # seconds: thirty years, which every clock can add


def timeout_of(of_client: Mapping[str, Any]) -> Timeout:
    """The setting `timeout`.

    It is a number of seconds, for the connection and between two things that come; a mapping with `connect`, `read` and
    `total`; or `None` for no limit but that of the connection.

    Raises:
        ConfigError: it is not one of these.
    """
    given: object = of_client.get("timeout", {})
    named: Mapping[str, Any] = {"connect": given, "read": given}
    if given is None:
        named = {"read": None}
    elif isinstance(given, Mapping):
        named = cast("Mapping[str, Any]", given)
    is_known = (
        named.keys() <= {"connect", "read", "total"} and named.get("connect", 1.0) is not None
    )
    if is_known and all(map(_is_time, named.values())):
        return Timeout(**{name: time and min(time, _FOREVER) for name, time in named.items()})
    raise ConfigError(
        'timeout must be a number of seconds above 0, or {"connect": 10, "read": 600, "total": None}, '
        f"got {given!r}"
    )


def _is_time(value: object) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0 < value < float("inf")
    return value is None


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
