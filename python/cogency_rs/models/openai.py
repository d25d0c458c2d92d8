"""Models of OpenAI, and of every server that speaks its API for completions; needs the extra `openai`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from ..checks import check_text
from ..errors import ConfigError
from ..redaction import Secrets, check_url, in_proxies, in_url, key, shown_url
from .chat_completions import ChatCompletions
from .clients import Clients, import_sdk, is_local
from .failures import Service
from .plain_completions import PlainCompletions, Template
from .served import Endpoint, ServedModel

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["OpenAIModel"]

_OPENAI = "https://api.openai.com/v1"


class OpenAIModel(ServedModel):
    """A model of OpenAI, or of a server that speaks chat completions: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter.

    Needs the extra `openai`.

    Args:
        name: the model's name at the server.
        base_url: where the API is, including its `/v1`; `OPENAI_BASE_URL` or OpenAI's own if not given.
        api_key: the key; `OPENAI_API_KEY` if not given. A server on this machine or in a private network needs none.
        client: an `AsyncOpenAI` of your own, instead of `base_url` and `api_key`; it stays yours to close.
        endpoint: `"chat"`, or `"completions"` for prompts that the caller writes.
        template: with `endpoint="completions"`, writes the prompt of a request from its messages.
        reasoning_key: the field in which an assistant's reasoning goes back to the server with the next question, such
            as `"reasoning_content"`. Some models want it while they call tools; others refuse it, so it is left out
            unless it is named.
        structured_output: whether `Agent(output_type=...)`, with the driver `"native"`, sends the schema of the answer
            as `response_format`; the prompt asks for it in words in any case. If not given, only OpenAI itself gets the
            schema: with it, other servers often keep the model from calling tools. A server that refuses the schema
            does not get it again.
        settings: sent with every question: `temperature`, `max_tokens`, `top_k` and any other setting of the server.
            `max_retries` (2) and `timeout` (seconds; 600), `extra_headers`, `extra_query` and `extra_body` are options
            of the SDK.

    Raises:
        ConfigError: the SDK is not installed, there is no key, or the arguments do not go together.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: AsyncOpenAI | None = None,
        endpoint: Literal["chat", "completions"] = "chat",
        template: Template | None = None,
        reasoning_key: str | None = None,
        structured_output: bool | None = None,
        **settings: Any,
    ) -> None:
        check_text("name", name, what="the name of a model")
        if client is not None and (base_url is not None or api_key is not None):
            raise ConfigError("client has its own base_url and api_key: leave them away beside it")
        sdk = import_sdk("openai")
        url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        check_url("base_url", url)
        given = api_key or os.environ.get("OPENAI_API_KEY")
        used = given or ("none" if is_local(url) else None)
        if client is None and used is None:
            raise ConfigError(f"{shown_url(url)} needs a key: set OPENAI_API_KEY, or give api_key=")
        secrets = Secrets(key("api_key", given), in_url(url), in_proxies())
        clients = Clients(lambda: sdk.AsyncOpenAI(base_url=url, api_key=used), secrets, client)
        if structured_output and endpoint != "chat":
            raise ConfigError('structured_output goes with endpoint="chat"')
        served_at = str(clients.first.base_url).rstrip("/")
        if structured_output is None:
            structured_output = endpoint == "chat" and served_at == _OPENAI
        super().__init__(
            structured_output=structured_output,
            provider="openai",
            service=Service(sdk, name, shown_url(served_at), key="OPENAI_API_KEY"),
            endpoint=_endpoint(endpoint, template, reasoning_key, is_local(served_at)),
            clients=clients,
            settings=settings,
        )


def _endpoint(
    endpoint: Literal["chat", "completions"],
    template: Template | None,
    reasoning_key: str | None,
    counts_along: bool,
) -> Endpoint:
    if endpoint == "chat":
        if template is not None:
            raise ConfigError(
                'template goes with endpoint="completions": a chat\'s server has its own'
            )
        return ChatCompletions(reasoning_key, counts_along=counts_along)
    if endpoint != "completions":
        raise ConfigError(f'endpoint must be "chat" or "completions", got {endpoint!r}')
    if template is None:
        raise ConfigError(
            'endpoint="completions" needs template=, a function from messages to the prompt'
        )
    if reasoning_key is not None:
        raise ConfigError(
            'reasoning_key goes with endpoint="chat": the template writes reasoning itself'
        )
    return PlainCompletions(template, counts_along=counts_along)
