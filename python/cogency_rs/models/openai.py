"""Models of OpenAI, and of every server that speaks its API for completions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from .._core import Detection, Dialect
from ..errors import ConfigError
from ..guards import misnamed
from ..guards.arguments import check_text
from ..guards.misnamed import refuses_misnamed
from ..guards.secrets import check_url, shown_url
from .chat_completions import ChatCompletions
from .completions import Template
from .connection import Connection, StatusError, TransportError
from .failures import Service
from .http import HttpConnection, Key, is_local
from .known_settings import OpenAISettings, check_settings
from .served_model import Endpoint, ServedModel
from .settings import ANY_VALUE, ModelSettings, timeout_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI
else:  # of an extra
    AsyncOpenAI = Any

__all__ = ["OpenAIModel"]

_OPENAI = "https://api.openai.com/v1"


class OpenAIModel(ServedModel):
    """A model of OpenAI, or of a server that speaks chat completions: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter.

    Args:
        name: the model's name at the server.
        base_url: the API's address, including its `/v1`; `OPENAI_BASE_URL` or OpenAI's own if not given.
        api_key: the key, or an async function that returns one before each request; `OPENAI_API_KEY` if not given.
            A server on this machine or in a private network needs none.
        organization: the organization to bill; `OPENAI_ORG_ID` if not given.
        project: the project; `OPENAI_PROJECT_ID` if not given.
        proxy: the address of a proxy; by default the environment's; "" for none.
        verify: a PEM file of certificates to trust in place of the machine's.
        client: your own `AsyncOpenAI`, instead of all these; needs the extra `openai`. It stays yours to
            close.
        endpoint: `"chat"`, or `"completions"` for prompts that the caller writes.
        template: with `endpoint="completions"`, writes the prompt of a request from its messages.
        reasoning_key: the field in which an assistant's reasoning goes back to the server with the next question, such
            as `"reasoning_content"`. Some models want it while they call tools; others refuse it, so it is left out
            unless it is named.
        structured_output: whether `Agent(output_type=...)`, with the driver `"native"`, sends the schema of the answer
            as `response_format`; the prompt asks for it in any case. If not given, only OpenAI itself gets the
            schema: with it, other servers often keep the model from calling tools. A server that refuses the schema
            does not get it again.
        ask_template: whether an agent that was given no dialect asks the server for its chat template, at `/props`,
            before its first step, and renders it to detect the dialect. If not given, it asks a server on this machine
            or in a private network. It takes at most half of `timeout={"total": …}`, and counts in it.
        settings: sent with every request, see `OpenAISettings`. A field that only your server has goes into
            `extra_body`. `max_retries` is 2 if not given.

    Attributes:
        detection: what the server's chat template shows of the dialect; `None` until that is known.
        dialect: how the model writes its calls, as the template shows; `None` until that is known.
        tells_template: whether an agent that was given no dialect asks for the template before its first step: it may,
            by `ask_template`, and the server has not said that it does not tell it.

    Raises:
        ConfigError: there is no key, the arguments contradict each other, or the SDK of `client` is not installed.
    """

    detection: Detection | None = None

    @refuses_misnamed("OpenAIModel", misnamed.MODEL)
    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: Key | None = None,
        organization: str | None = None,
        project: str | None = None,
        proxy: str | None = None,
        verify: str | PathLike[str] | None = None,
        client: AsyncOpenAI | None = None,
        endpoint: Literal["chat", "completions"] = "chat",
        template: Template | None = None,
        reasoning_key: str | None = None,
        structured_output: bool | None = None,
        ask_template: bool | None = None,
        **settings: Unpack[OpenAISettings],
    ) -> None:
        if not settings.keys() <= ANY_VALUE:
            check_settings("OpenAIModel", settings, OpenAISettings)
        check_text("name", name, what="the name of a model")
        of_client = ModelSettings(settings).of_client
        reached = (base_url, api_key, organization, project, proxy, verify)
        connection: Connection
        if client is None:
            url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
            check_url("base_url", url)
            used = api_key or os.environ.get("OPENAI_API_KEY")
            if used is None and not is_local(url):
                raise ConfigError(
                    f"{shown_url(url)} needs a key: set OPENAI_API_KEY, or give api_key="
                )
            account = {
                "openai-organization": organization or os.environ.get("OPENAI_ORG_ID"),
                "openai-project": project or os.environ.get("OPENAI_PROJECT_ID"),
            }
            connection = HttpConnection(
                url,
                used,
                lambda key: _headers(key, account),
                models_path="/models",
                proxy=proxy,
                verify=verify,
                timeout=timeout_of(of_client),
            )
        elif any(argument is not None for argument in reached):
            raise ConfigError(
                "client has its own base_url and api_key: pass either client or these, not both"
            )
        else:
            from .sdk import SdkConnection  # here and below, since most programs need neither

            connection = SdkConnection("openai", client)
        if structured_output and endpoint != "chat":
            raise ConfigError('structured_output goes with endpoint="chat"')
        if structured_output is None:
            structured_output = endpoint == "chat" and connection.url == _OPENAI
        self.calls_natively = endpoint == "chat" and connection.url == _OPENAI
        self._http = connection if isinstance(connection, HttpConnection) else None
        may_ask = is_local(connection.url) if ask_template is None else ask_template
        self.tells_template = self._http is not None and may_ask
        self._total = timeout_of(of_client).total
        super().__init__(
            structured_output=structured_output,
            provider="openai",
            service=Service(connection, name, shown_url(connection.url), key="OPENAI_API_KEY"),
            endpoint=_endpoint(endpoint, template, reasoning_key, is_local(connection.url)),
            settings=settings,
        )

    @property
    def dialect(self) -> Dialect | None:
        """See the attributes."""
        return self.detection and self.detection.dialect

    async def detect_dialect(self) -> Detection | None:
        """Ask the server for its model's chat template, and detect the dialect; see `Dialect.detect`.

        llama.cpp's server shows the template at `/props`. What is found is kept: an agent created afterwards
        speaks this dialect.

        Returns:
            The dialect with its evidence; `None` if the server does not answer, shows no template, or one without a
            known dialect.
        """
        if self.detection is None and self._http is not None:
            try:
                told = await self._http.properties(self._total)
                # In a thread: to render it may take longer than a loop may be held.
                self.detection = await asyncio.to_thread(Dialect.detect, _configuration(told))
                self.tells_template = self.detection is not None
            except TransportError:
                pass  # the question will say what is wrong
            except StatusError as error:
                # While it loads the model, the server answers with 503.
                self.tells_template = self.tells_template and error.status_code == 503
            except (ValueError, ConfigError):
                self.tells_template = False
        return self.detection


def _configuration(told: Any) -> dict[str, Any]:
    """What a server reports of itself, as far as it is in a `tokenizer_config.json`.

    Raises:
        ValueError: it is not an object.
    """
    if not isinstance(told, dict):
        raise ValueError("not an object")
    page = cast("dict[str, Any]", told)
    templates = {"default": "chat_template", "tool_use": "chat_template_tool_use"}
    named = [
        {"name": name, "template": page[key]} for name, key in templates.items() if page.get(key)
    ]
    return {
        "chat_template": named,
        "bos_token": page.get("bos_token"),
        "eos_token": page.get("eos_token"),
    }


def _headers(key: str | None, account: Mapping[str, str | None]) -> dict[str, str]:
    given = {"authorization": f"Bearer {key}" if key else None, **account}
    return {name: value for name, value in given.items() if value}


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
    from .plain_completions import PlainCompletions

    return PlainCompletions(template, counts_along=counts_along)
