"""Models of Anthropic."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from ..errors import ConfigError
from ..guards import misnamed
from ..guards.arguments import check_text
from ..guards.misnamed import refuses_misnamed
from ..guards.secrets import check_url, shown_url
from .anthropic_messages import MAX_TOKENS, Cache, Messages
from .connection import Connection
from .failures import Service
from .http import HttpConnection, Key, is_local
from .known_settings import AnthropicSettings, check_settings
from .sdk import SdkConnection
from .served_model import ServedModel
from .settings import ANY_VALUE, ModelSettings, timeout_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
else:  # of an extra
    AsyncAnthropic = Any

__all__ = ["AnthropicModel"]

_ANTHROPIC = "https://api.anthropic.com"
_VERSION = "2023-06-01"
"""The version of the API: the only one that has messages."""


class AnthropicModel(ServedModel):
    """A model of Anthropic, or of a server that speaks its Messages API.

    Args:
        name: the model's name at the provider.
        max_tokens: how long an answer may be, thinking included. The API requires it, so that 8192 is sent if it is not
            given; an agent goes on with an answer that is cut there.
        thinking: how many tokens the model may think before it answers, at least 1024 and fewer than `max_tokens`; or
            the API's own form of it, such as `{"type": "adaptive"}`. `None` asks for no thinking.
        cache: whether the provider caches what it has read, so that the next request pays less for it; `"1h"` keeps it
            for an hour instead of five minutes.
        structured_output: whether `Agent(output_type=...)`, with the driver `"native"`, sends the schema of the answer
            as `output_config`; the prompt asks for it in any case. If not given, only Anthropic itself gets
            the schema. A model that refuses the schema does not get it again.
        base_url: the API's address; `ANTHROPIC_BASE_URL` or Anthropic's own if not given.
        api_key: the key, or an async function that returns one before each request; `ANTHROPIC_API_KEY` if not
            given, or the token `ANTHROPIC_AUTH_TOKEN`. A server on this machine or in a private network needs none.
        proxy: the address of a proxy; by default the environment's; "" for none.
        verify: a PEM file of certificates to trust in place of the machine's.
        client: your own `AsyncAnthropic`, instead of all these; needs the extra `anthropic`. It stays yours
            to close.
        settings: sent with every request, see `AnthropicSettings`. Any other field of the API goes into `extra_body`.

    Raises:
        ConfigError: there is no key, the arguments contradict each other, or the SDK of `client` is not installed.
    """

    @refuses_misnamed("AnthropicModel", misnamed.MODEL)
    def __init__(
        self,
        name: str,
        *,
        max_tokens: int | None = None,
        thinking: int | Mapping[str, Any] | None = None,
        cache: Cache = True,
        structured_output: bool | None = None,
        base_url: str | None = None,
        api_key: Key | None = None,
        proxy: str | None = None,
        verify: str | PathLike[str] | None = None,
        client: AsyncAnthropic | None = None,
        **settings: Unpack[AnthropicSettings],
    ) -> None:
        if not settings.keys() <= ANY_VALUE:
            check_settings("AnthropicModel", settings, AnthropicSettings)
        check_text("name", name, what="the name of a model")
        asked: dict[str, Any] = {**settings}
        if max_tokens is not None:
            asked["max_tokens"] = max_tokens
        if thinking is not None:
            asked["thinking"] = _thinking(thinking, asked.get("max_tokens", MAX_TOKENS))
        of_client = ModelSettings(asked).of_client
        connection: Connection
        if client is None:
            url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or _ANTHROPIC
            check_url("base_url", url)
            used = api_key or os.environ.get("ANTHROPIC_API_KEY")
            token = None if used else os.environ.get("ANTHROPIC_AUTH_TOKEN")
            if not (used or token or is_local(url)):
                raise ConfigError(
                    f"{shown_url(url)} needs a key: set ANTHROPIC_API_KEY, or give api_key="
                )
            connection = HttpConnection(
                url,
                used or token,
                lambda key: _headers(key, is_token=used is None),
                models_path="/v1/models",
                proxy=proxy,
                verify=verify,
                timeout=timeout_of(of_client),
            )
        elif any(argument is not None for argument in (base_url, api_key, proxy, verify)):
            raise ConfigError(
                "client has its own base_url and api_key: pass either client or these, not both"
            )
        else:
            connection = SdkConnection("anthropic", client)
        self.calls_natively = True
        super().__init__(
            structured_output=(
                connection.url == _ANTHROPIC if structured_output is None else structured_output
            ),
            provider="anthropic",
            service=Service(connection, name, shown_url(connection.url), key="ANTHROPIC_API_KEY"),
            endpoint=Messages(cache),
            settings=asked,
        )


def _headers(key: str | None, *, is_token: bool) -> dict[str, str]:
    version = {"anthropic-version": _VERSION}
    if not key:
        return version
    return version | ({"authorization": f"Bearer {key}"} if is_token else {"x-api-key": key})


def _thinking(thinking: int | Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
    if isinstance(thinking, Mapping):
        return dict(thinking)
    if not 1024 <= thinking < max_tokens:
        raise ConfigError(
            f"thinking must be a number of tokens of at least 1024 and below max_tokens ({max_tokens}), got {thinking}"
        )
    return {"type": "enabled", "budget_tokens": thinking}
