"""An `AnthropicModel`, and a server that answers it as Anthropic's API does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cogency_rs import AnthropicModel
from cogency_rs.models import Finish, ModelRequest, ToolDeclaration, Usage
from cogency_rs.testing import ModelServer, ReceivedRequest, Reply, sse

__all__ = [
    "ADD",
    "ENDING",
    "ESTIMATE",
    "HI",
    "MARK",
    "answer",
    "ask",
    "block",
    "body",
    "end",
    "event",
    "key_of",
    "plain_environment",
    "served",
    "start",
    "text",
    "thinking",
    "tool_use",
]

HI = [{"role": "user", "content": "Hi"}]
ADD = ToolDeclaration("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch, tmp_path):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_PROFILE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # the SDK looks for keys there, too


def event(type: str, **fields: Any) -> bytes:
    return sse({"type": type, **fields}, type)


def start(**counts: int) -> bytes:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1, **counts},
    }  # fmt: skip
    return event("message_start", message=message)


def block(index: int, content: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[bytes]:
    return [
        event("content_block_start", index=index, content_block=content),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def text(index: int, *pieces: str) -> list[bytes]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking(index: int, signature: str, *pieces: str) -> list[bytes]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = {"type": "signature_delta", "signature": signature}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)


def tool_use(index: int, id: str, *pieces: str, **given: Any) -> list[bytes]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": id, "name": "add", "input": given}, *deltas)


def end(reason: str = "end_turn", *, details: Any = None, **counts: Any) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    usage = {"output_tokens": 7, **counts}
    return [event("message_delta", delta=delta, usage=usage), event("message_stop")]


ESTIMATE = Usage(5, 1, is_estimate=True)
ENDING = [Usage(5, 7), Finish("stop")]


@asynccontextmanager
async def served(
    *replies: Reply, **settings: Any
) -> AsyncIterator[tuple[ModelServer, AnthropicModel]]:
    options = {"max_retries": 0, **settings}
    async with (
        ModelServer(replies) as server,
        AnthropicModel("m", base_url=server.url, **options) as model,
    ):
        yield server, model


async def ask(
    model: AnthropicModel, messages: Sequence[Mapping[str, Any]] = HI, **fields: Any
) -> list[Any]:
    return [piece async for piece in model.stream(ModelRequest(messages, **fields))]


async def answer(*pieces: bytes) -> list[Any]:
    async with served(Reply(pieces)) as (_, model):
        return await ask(model)


async def body(
    messages: Sequence[Mapping[str, Any]] = HI,
    *,
    model: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The body that is sent for a request; without cache marks, unless they are asked for."""
    options = {"cache": False, **(model or {})}
    async with served(Reply([start(), *end()]), **options) as (server, asked):
        await ask(asked, messages, **fields)
    sent = server.requests[0].body
    assert sent.pop("stream") is True
    return sent


def key_of(asked: ReceivedRequest) -> str:
    """The API key of a request; versions of the SDK send it in different headers."""
    return asked.headers.get("x-api-key") or asked.headers["authorization"].removeprefix("Bearer ")
