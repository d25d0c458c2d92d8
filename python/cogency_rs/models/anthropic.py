"""Models of Anthropic; needs the extra `anthropic`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..checks import check_text
from ..errors import ConfigError
from ..redaction import Secrets, check_url, in_proxies, in_url, key, shown_url
from .anthropic_messages import Cache, Messages
from .clients import Clients, import_sdk, is_local
from .failures import Service
from .served import ServedModel

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

__all__ = ["AnthropicModel"]

_ANTHROPIC = "https://api.anthropic.com"


class AnthropicModel(ServedModel):
    """A model of Anthropic, or of a server that speaks its Messages API.

    Needs the extra `anthropic`.

    Args:
        name: the model's name at the provider.
        max_tokens: how long an answer may be, thinking included; the API requires it.
        thinking: how many tokens the model may think before it answers, from 1024 on and fewer than `max_tokens`; or
            the API's own form of it, such as `{"type": "adaptive"}`. `None` asks for no thinking.
        cache: whether the provider keeps what it has read, so that the next question pays less for it; `"1h"` keeps it
            for an hour instead of five minutes.
        structured_output: whether `Agent(output_type=...)`, with the driver `"native"`, sends the schema of the answer
            as `output_config`; the prompt asks for it in words in any case. If not given, only Anthropic itself gets
            the schema. A model that refuses the schema does not get it again.
        base_url: where the API is; `ANTHROPIC_BASE_URL` or Anthropic's own if not given.
        api_key: the key; if not given, `ANTHROPIC_API_KEY`, or other credentials that the SDK finds. A server on this
            machine or in a private network needs none.
        client: an `AsyncAnthropic` of your own, instead of `base_url` and `api_key`; it stays yours to close.
        settings: sent with every question: `temperature`, `top_k`, `metadata` and any other setting of the API.
            `max_retries` (2) and `timeout` (seconds; 600), `extra_headers`, `extra_query` and `extra_body` are options
            of the SDK.

    Raises:
        ConfigError: the SDK is not installed, there is no key, or the arguments do not go together.
    """

    def __init__(
        self,
        name: str,
        *,
        max_tokens: int = 8192,
        thinking: int | Mapping[str, Any] | None = None,
        cache: Cache = True,
        structured_output: bool | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        client: AsyncAnthropic | None = None,
        **settings: Any,
    ) -> None:
        check_text("name", name, what="the name of a model")
        if client is not None and (base_url is not None or api_key is not None):
            raise ConfigError("client has its own base_url and api_key: leave them away beside it")
        if thinking is not None:
            settings["thinking"] = _thinking(thinking, max_tokens)
        sdk = import_sdk("anthropic")
        url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or _ANTHROPIC
        check_url("base_url", url)
        used = api_key
        if used is None and is_local(url) and not _has_key():
            used = "none"
        secrets = Secrets(key("api_key", api_key), in_url(url), in_proxies())
        clients = Clients(lambda: sdk.AsyncAnthropic(base_url=url, api_key=used), secrets, client)
        if not _can_ask(clients.first):
            raise ConfigError(
                f"{shown_url(url)} needs a key: set ANTHROPIC_API_KEY, or give api_key="
            )
        served_at = str(clients.first.base_url).rstrip("/")
        super().__init__(
            structured_output=(
                served_at == _ANTHROPIC if structured_output is None else structured_output
            ),
            provider="anthropic",
            service=Service(sdk, name, shown_url(served_at), key="ANTHROPIC_API_KEY"),
            endpoint=Messages(cache),
            clients=clients,
            settings={"max_tokens": max_tokens, **settings},
        )


def _thinking(thinking: int | Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
    if isinstance(thinking, Mapping):
        return dict(thinking)
    if not 1024 <= thinking < max_tokens:
        raise ConfigError(
            f"thinking must be a number of tokens from 1024 on and below max_tokens ({max_tokens}), got {thinking}"
        )
    return {"type": "enabled", "budget_tokens": thinking}


def _has_key() -> bool:
    return any(os.environ.get(name) for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))


def _can_ask(client: Any) -> bool:
    """Whether a client has a key, or knows where to get one."""
    return any(getattr(client, name, None) for name in ("api_key", "auth_token", "credentials"))
