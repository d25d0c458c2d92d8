"""An `OpenAIModel`, and a server that answers it as OpenAI's API does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cogency_rs import OpenAIModel
from cogency_rs.models import ModelRequest, ToolDeclaration
from cogency_rs.testing import ModelServer, Reply, sse

__all__ = [
    "ADD",
    "DONE",
    "HI",
    "STOP",
    "answer",
    "ask",
    "body",
    "call",
    "calls",
    "delta",
    "plain_environment",
    "reply",
    "served",
    "usage",
]

HI = [{"role": "user", "content": "Hi"}]
ADD = ToolDeclaration("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
STOP = sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
DONE = sse("[DONE]")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def delta(reason: str | None = None, **fields: Any) -> bytes:
    return sse({"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]})


def call(index: int | None = None, id: str | None = None, **function: Any) -> dict[str, Any]:
    piece: dict[str, Any] = {"index": index, "id": id, "type": "function", "function": function}
    return {key: value for key, value in piece.items() if value is not None}


def calls(*pieces: dict[str, Any]) -> bytes:
    return delta(tool_calls=list(pieces))


def usage(**counts: Any) -> bytes:
    return sse({"choices": [], "usage": counts})


def reply(*pieces: Any, **options: Any) -> Reply:
    return Reply([*pieces], **options)


@asynccontextmanager
async def served(
    *replies: Reply, **settings: Any
) -> AsyncIterator[tuple[ModelServer, OpenAIModel]]:
    options = {"max_retries": 0, **settings}
    async with (
        ModelServer(replies) as server,
        OpenAIModel("m", base_url=f"{server.url}/v1", **options) as model,
    ):
        yield server, model


async def ask(
    model: OpenAIModel, messages: Sequence[Mapping[str, Any]] = HI, **fields: Any
) -> list[Any]:
    return [piece async for piece in model.stream(ModelRequest(messages, **fields))]


async def answer(*pieces: Any, **settings: Any) -> list[Any]:
    async with served(reply(*pieces), **settings) as (_, model):
        return await ask(model)


async def body(
    messages: Sequence[Mapping[str, Any]] = HI, *, model: Any = (), **fields: Any
) -> dict[str, Any]:
    """The body that is sent for a request, without the fields that every request has."""
    async with served(reply(STOP, DONE), **dict(model)) as (server, asked):
        await ask(asked, messages, **fields)
    sent = server.requests[0].body
    assert sent.pop("stream") is True
    return sent
