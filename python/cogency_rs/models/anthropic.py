"""Models of Anthropic: its Messages API, and a conversation in the form that this takes.

In Anthropic's messages, turns alternate and are texts or lists of blocks; the results of calls are the first blocks of
the user's next turn; and the system prompt is a separate field.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from ..errors import ConfigError
from ..guards.arguments import MODEL_NAMES, check_text, refuses_misnamed
from ..guards.json import read_json
from ..guards.secrets import check_url, shown_url
from .connection import Connection, Operation, SdkConnection
from .failures import Service
from .http import HttpConnection, Key, is_local
from .openai import is_refusal_of, joined
from .request import REDACTED, ModelRequest, SpecificTool, ToolDeclaration
from .schema_forms import closed, of_object, without_bounds
from .served_model import ServedModel
from .settings import ANY_VALUE, AnthropicSettings, ModelSettings, check_settings, timeout_of

_SPOKEN = ("user", "assistant")

_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")

Block = dict[str, Any]


def system_of(messages: Sequence[Mapping[str, Any]]) -> list[Block]:
    """The system prompt: the text of every system message, wherever it is."""
    return [
        block
        for message in messages
        if message["role"] == "system"
        for block in _blocks(message.get("content"))
    ]


def messages_of(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All other messages, with neighbours of one role as one message. Text that stands alone stays as it is."""
    turns: list[Mapping[str, Any]] = []
    mixed: list[list[Block]] = []  # what may have results after other blocks
    last = ""
    for message in messages:
        role = message["role"]
        if role == "system":
            continue
        content = message.get("content")
        if (
            role != last
            and type(content) is str
            and len(message) == 2
            and role in _SPOKEN
            and content
            and not content.isspace()
        ):
            turns.append(message)  # most are
            last = role
            continue
        blocks = list(_BLOCKS.get(role, _of_user)(message))
        role = role if role == "assistant" else "user"
        if role == last:
            mixed.append(blocks_of(turns, -1))
            mixed[-1].extend(blocks)
        elif blocks:
            turns.append({"role": role, "content": blocks})
            mixed.append(blocks)
            last = role
    for blocks in mixed:
        blocks.sort(key=_is_not_a_result)  # stable: the results, and the others, keep their order
    if last == "assistant":
        _trim(blocks_of(turns, -1))
    return turns


def blocks_of(turns: list[Mapping[str, Any]], place: int) -> list[Block]:
    """The content of the message at this place as blocks, which can be changed; the caller's message is replaced."""
    content: Any = turns[place]["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
        turns[place] = {"role": turns[place]["role"], "content": content}
    return cast("list[Block]", content)


def tools_used(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the tools that were called, each once."""
    names = (
        block["name"]
        for message in messages
        if not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == "tool_use"
    )
    return list(dict.fromkeys(names))


def _of_user(message: Mapping[str, Any]) -> list[Block]:
    return _blocks(message.get("content"))


def _of_assistant(message: Mapping[str, Any]) -> Iterator[Block]:
    reasoning = [_thinking(block) for block in message.get("reasoning") or ()]
    text = _blocks(message.get("content"))
    calls = [_tool_use(call) for call in message.get("tool_calls") or ()]
    returned: Mapping[str, Any] = message.get("returned") or {}
    order: Sequence[tuple[str, str]] = returned.get("order") or ()
    if order and _is_order_of(order, reasoning, text, calls):
        parts = {"reasoning": iter(reasoning), "call": iter(calls)}
        for kind, words in order:
            yield from _blocks(words) if kind == "text" else filter(None, (next(parts[kind]),))
        return
    yield from filter(None, reasoning)
    yield from text
    yield from calls


def _is_order_of(
    order: Sequence[tuple[str, str]],
    reasoning: Sequence[object],
    text: Sequence[Block],
    calls: Sequence[object],
) -> bool:
    """Whether these are still the parts of the answer: a hook may have changed them since, and the log joins texts."""
    kinds = [kind for kind, _ in order]
    written = "".join(words for _, words in order).split()
    shown = "".join(block.get("text", "") for block in text).split()
    return (
        kinds.count("reasoning") == len(reasoning)
        and kinds.count("call") == len(calls)
        and "".join(written) == "".join(shown)
    )


def _thinking(block: Mapping[str, Any]) -> Block | None:
    signature = block.get("signature") or ""
    if signature.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": signature.removeprefix(REDACTED)}
    if signature:
        return {"type": "thinking", "thinking": block["text"], "signature": signature}
    return None  # it is another provider's, and would be refused


def _tool_use(call: Mapping[str, Any]) -> Block:
    function = call["function"]
    return {
        "type": "tool_use",
        "id": _id(call["id"]),
        "name": function["name"],
        "input": _input(function.get("arguments")),
    }


def _of_tool(message: Mapping[str, Any]) -> Iterator[Block]:
    block: Block = {"type": "tool_result", "tool_use_id": _id(message["tool_call_id"])}
    if content := _blocks(message.get("content")):
        block["content"] = content
    if message.get("is_error"):
        block["is_error"] = True
    yield block


_BLOCKS = {"assistant": _of_assistant, "tool": _of_tool}


def _id(id: str) -> str:
    """An id in the form that the API accepts; equal ids stay equal."""
    return _NOT_IN_IDS.sub("_", id)


def _input(arguments: str | None) -> dict[str, Any]:
    """Arguments as the object that the API wants; arguments that are not an object are kept as text."""
    try:
        value: Any = read_json(arguments or "{}")
    except ValueError:
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"arguments": arguments}


def _blocks(content: object) -> list[Block]:
    """Content as blocks. Text of nothing but white space is left out, since the API refuses it."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    parts = cast("Sequence[Mapping[str, Any]]", content or ())
    blocks = (_block(part) for part in parts)
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


def _block(part: Mapping[str, Any]) -> Block:
    """A part of a message; a part that is not one of chat completions is taken for a block of the API's own."""
    if part["type"] != "image_url":
        return dict(part)
    url: str = part["image_url"]["url"]
    data = re.fullmatch(r"data:([\w/.+-]+);base64,(.*)", url, re.DOTALL)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    source = {"type": "base64", "media_type": data[1], "data": data[2]}
    return {"type": "image", "source": source}


def _is_not_a_result(block: Block) -> bool:
    return str(block["type"]) != "tool_result"


def _trim(blocks: list[Block]) -> None:
    """Cut white space from the end of an answer that the model must continue; the API refuses it."""
    if blocks[-1]["type"] == "text":
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()


Cache = bool | Literal["5m", "1h"]
"""Whether the provider should keep what it has read, and for how long."""

MAX_TOKENS = 8192
"""How long an answer may be if the caller does not say: the API requires a length."""

_OF_FORM = ("output_config", "output_format", "structured output", "json_schema")
"""Words in a refusal that show that it is about the form of the answer."""

_REMEMBERED = 100
"""How many forms that were refused are not sent again; a model that takes none refuses each of them once."""

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


class Messages:
    """The endpoint `/v1/messages`.

    Args:
        cache: whether to mark the prefixes that a later question shares.
    """

    operation = Operation(
        "messages", "/v1/messages", "messages", ("model", "max_tokens", "messages")
    )

    def __init__(self, cache: Cache) -> None:
        self._mark: dict[str, Any] | None = None
        if cache:
            self._mark = {"type": "ephemeral"} | ({} if cache is True else {"ttl": cache})
        self._refused: list[Any] = []  # the forms of answers that were refused

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request."""
        messages = messages_of(request.messages)
        body: dict[str, Any] = {"messages": messages}
        if system := system_of(request.messages):
            body["system"] = system
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = _choice(request)
        elif used := tools_used(messages):
            # The API refuses calls of tools that it was not told of.
            body["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in used]
            body["tool_choice"] = {"type": "none"}
        if stop := [text for text in request.stop if text.strip()]:
            # The API refuses stop sequences of nothing but white space; our parser stops at them as well.
            body["stop_sequences"] = stop
        if request.output_schema is not None:
            enforced = without_bounds(closed(request.output_schema, requires_all=False))
            form = {"type": "json_schema", "schema": enforced}
            body["output_config"] = {"format": form}
        if self._mark is not None:
            _mark_prefixes(body, self._mark)
        return body

    def complete(self, body: Mapping[str, Any], of_service: Mapping[str, Any]) -> dict[str, Any]:
        """See `Endpoint`."""
        merged = joined(body, of_service, "stop_sequences", "tools")
        whole = {"max_tokens": MAX_TOKENS, **body, **of_service, **merged}
        form: Mapping[str, Any] = body.get("output_config", {})
        if form.get("format") in self._refused:
            form = {}
        # The effort is the caller's setting.
        output = {**form, **of_service.get("output_config", {})}
        whole.pop("output_config", None)
        return {**whole, "output_config": output} if output else whole

    def learns_from(
        self, error: Exception, sent: Mapping[str, Any], of_service: Mapping[str, Any]
    ) -> bool:
        """See `Endpoint`."""
        config: Mapping[str, Any] = sent.get("output_config", {})
        given: Mapping[str, Any] = of_service.get("output_config", {})
        if "format" not in config or "format" in given or not is_refusal_of(error, _OF_FORM):
            return False
        self._refused.append(config["format"])
        del self._refused[:-_REMEMBERED]
        return True


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": of_object(tool.parameters),
    }


def _choice(request: ModelRequest) -> dict[str, Any]:
    choice: dict[str, Any] = (
        {"type": "tool", "name": request.tool_choice.name}
        if isinstance(request.tool_choice, SpecificTool)
        else {"type": _CHOICES[request.tool_choice]}
    )
    if not request.parallel_tool_calls and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return choice


def _mark_prefixes(body: dict[str, Any], mark: dict[str, Any]) -> None:
    """Mark the ends of the parts that the next question repeats: tools, system, and the last two user turns.

    The API takes four marks. The mark before the last one finds what the previous question left in the cache.
    """
    messages: list[Mapping[str, Any]] = body["messages"]
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    last = [blocks_of(messages, place) for place in users[-2:]]
    for blocks in (body.get("tools"), body.get("system"), *last):
        if blocks:
            blocks[-1]["cache_control"] = mark


if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
else:  # of an extra
    AsyncAnthropic = Any


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

    @refuses_misnamed("AnthropicModel", MODEL_NAMES)
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
            asked["thinking"] = _thinking_of(thinking, asked.get("max_tokens", MAX_TOKENS))
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


def _thinking_of(thinking: int | Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
    if isinstance(thinking, Mapping):
        return dict(thinking)
    if not 1024 <= thinking < max_tokens:
        raise ConfigError(
            f"thinking must be a number of tokens of at least 1024 and below max_tokens ({max_tokens}), got {thinking}"
        )
    return {"type": "enabled", "budget_tokens": thinking}
