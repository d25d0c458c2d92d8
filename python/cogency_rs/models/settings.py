"""The settings of a question, sorted by who reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..errors import ConfigError
from ..guards.arguments import check_count

__all__ = ["ANY_VALUE", "RETRIES", "ModelSettings", "Timeout", "limit_in", "timeout_of"]

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
