"""Models of OpenAI, and of every server that speaks its APIs for completions, with a chat and with plain text."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from .._core import Detection, Dialect
from ..errors import ConfigError
from ..guards.arguments import MODEL_NAMES, check_text, refuses_misnamed
from ..guards.secrets import check_url, shown_url
from .connection import Connection, Operation, StatusError, TransportError
from .failures import Service
from .http import HttpConnection, Key, is_local
from .request import ModelRequest, SpecificTool, ToolDeclaration
from .schema_forms import closed, is_strict, of_object, with_items
from .served_model import Endpoint, ServedModel
from .settings import ANY_VALUE, ModelSettings, OpenAISettings, check_settings, timeout_of

logger: logging.Logger = logging.getLogger(__name__)

Template = Callable[[Sequence[Mapping[str, Any]]], str]
"""Writes messages as the text of a prompt, up to where the model goes on."""

_MAY_BE_REFUSED = {
    ("stream_options",): ("stream_options", "include_usage", "continuous_usage_stats"),
    ("grammar", "structured_outputs", "ebnf"): ("grammar", "structured_outputs", "ebnf"),
    ("response_format",): ("response_format", "json_schema", "grammar"),
}
"""Fields of a request that not every server knows, each with words in a refusal that name it as the cause."""


def grammar_fields(grammar: str) -> dict[str, Any]:
    """A grammar where llama.cpp's server, vLLM and SGLang look for it, since each ignores the fields of the others."""
    return {"grammar": grammar, "structured_outputs": {"grammar": grammar}, "ebnf": grammar}


def joined(
    body: Mapping[str, Any], of_service: Mapping[str, Any], *names: str
) -> dict[str, list[Any]]:
    """The lists of these names that both a request and the caller's settings have: a driver needs its own."""
    lists: dict[str, list[Any]] = {}
    for name in names:
        own, given = body.get(name), of_service.get(name)
        if own and given is not None:
            added = [given] if isinstance(given, str) else given
            lists[name] = [*own, *(each for each in added if each not in own)]
    return lists


class SharedFields:
    """The fields that both have: the usage, the form of the answer. One that was refused is left out afterwards.

    Args:
        counts_along: whether to ask for the usage in each chunk, which vLLM and SGLang can give, so that it is also
            known for an answer that is closed before its end.
    """

    def __init__(self, *, counts_along: bool = False) -> None:
        self._counts_along = counts_along
        self._refused: set[str] = set()

    def complete(self, body: Mapping[str, Any], of_service: Mapping[str, Any]) -> dict[str, Any]:
        """See `Endpoint`."""
        usage = {"include_usage": True}
        if self._counts_along:
            usage["continuous_usage_stats"] = True
        whole = {"stream_options": usage, **body}
        sent = {name: value for name, value in whole.items() if name not in self._refused}
        return {**sent, **of_service, **joined(sent, of_service, "stop", "tools")}

    def learns_from(
        self, error: Exception, sent: Mapping[str, Any], of_service: Mapping[str, Any]
    ) -> bool:
        """See `Endpoint`."""
        refused = _refused_fields(error, sent.keys() - of_service.keys())
        if not refused:
            return False
        if "stream_options" in refused and self._counts_along:
            self._counts_along = False
        else:
            self._refused.update(refused)
        if "grammar" in refused:
            logger.warning(
                "The server refused a grammar, and is sent none from now on: nothing constrains the model %s, "
                "and its calls are read as it writes them",
                sent.get("model"),
            )
        return True


def _refused_fields(error: Exception, sent: Set[str]) -> Sequence[str]:
    """The fields for which a server refused a request, if it is some of these."""
    return next(
        (
            names
            for names, words in _MAY_BE_REFUSED.items()
            if not sent.isdisjoint(names) and is_refusal_of(error, words)
        ),
        (),
    )


def is_refusal_of(error: Exception, words: Iterable[str]) -> bool:
    """Whether a service refused a request with a message that has one of these words."""
    message = f"{error} {getattr(error, 'body', '')}"
    status = getattr(error, "status_code", None)
    return status in (400, 422) and any(word in message for word in words)


_OURS = frozenset({"is_error", "reasoning", "returned", "tool_execution_id"})
"""The fields of our messages that the API does not have."""


class ChatCompletions(SharedFields):
    """The endpoint `/chat/completions`.

    Args:
        reasoning_key: the field of an assistant's message in which its reasoning is sent back; `None` to leave it out.
        counts_along: see `SharedFields`.
    """

    operation = Operation(
        "completions", "/chat/completions", "chat.completions", ("model", "messages")
    )

    def __init__(self, reasoning_key: str | None = None, *, counts_along: bool = False) -> None:
        super().__init__(counts_along=counts_along)
        self._reasoning_key = reasoning_key

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request."""
        body: dict[str, Any] = {"messages": [self._message(each) for each in request.messages]}
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = (
                {"type": "function", "function": {"name": request.tool_choice.name}}
                if isinstance(request.tool_choice, SpecificTool)
                else request.tool_choice
            )
            if not request.parallel_tool_calls:  # true is the default, and some refuse the setting
                body["parallel_tool_calls"] = False
        if request.stop:
            body["stop"] = list(request.stop)
        if request.output_schema is not None:
            body["response_format"] = _response_format(request.output_schema)
        if request.grammar is not None:
            body |= grammar_fields(request.grammar)
        return body

    def _message(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        if _OURS.isdisjoint(message) and "tool_calls" not in message:  # most are
            return message
        sent = {key: value for key, value in message.items() if key not in _OURS}
        if sent.get("tool_calls") and sent.get("content") == "":
            sent["content"] = (
                None  # as OpenAI's own client sends it; some services refuse an empty text
            )
        if returned := message.get("returned"):
            _give_back(sent, returned)
        reasoning = "".join(part["text"] for part in message.get("reasoning") or ())
        if self._reasoning_key is not None and reasoning:
            sent[self._reasoning_key] = reasoning
        return sent


def _give_back(message: dict[str, Any], returned: Mapping[str, Any]) -> None:
    """Put opaque fields where they were, in a message of which only the dict itself may be changed."""
    for name, value in returned["fields"].items():
        message.setdefault(name, value)
    calls, fields = message.get("tool_calls") or (), returned["calls"]
    if len(calls) == len(fields):  # else a hook left some out
        message["tool_calls"] = [{**own, **call} for call, own in zip(calls, fields, strict=True)]


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": with_items(of_object(tool.parameters)),
    }
    return {"type": "function", "function": function}


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    strict = closed(schema, requires_all=True)
    form = {"name": "answer", "schema": dict(schema), "strict": False}
    if is_strict(strict):
        form |= {"schema": strict, "strict": True}
    return {"type": "json_schema", "json_schema": form}


class PlainCompletions(SharedFields):
    """The endpoint `/completions`.

    Args:
        template: writes the prompt.
        counts_along: see `SharedFields`.
    """

    operation = Operation("completions", "/completions", "completions", ("model", "prompt"))

    def __init__(self, template: Template, *, counts_along: bool = False) -> None:
        super().__init__(counts_along=counts_along)
        self._template = template

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request.

        Raises:
            ConfigError: the request declares tools or an output schema, which this API does not have.
        """
        if request.tools:
            raise ConfigError(
                "plain completions take no declared tools: list them in the prompt, as a dialect does, "
                'or use endpoint="chat"'
            )
        if request.output_schema is not None:
            raise ConfigError(
                'plain completions take no output_schema: use endpoint="chat", or the setting of your server for it'
            )
        body: dict[str, Any] = {"prompt": self._template(request.messages)}
        if request.stop:
            body["stop"] = list(request.stop)
        if request.grammar is not None:
            body |= grammar_fields(request.grammar)
        return body


if TYPE_CHECKING:
    from openai import AsyncOpenAI
else:  # of an extra
    AsyncOpenAI = Any


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

    @refuses_misnamed("OpenAIModel", MODEL_NAMES)
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
            from .connection import (
                SdkConnection,  # here and below, since most programs need neither
            )

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

    return PlainCompletions(template, counts_along=counts_along)
