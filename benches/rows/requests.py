"""The cost of turning a conversation into the request that is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from figures import Samples
from measure import AbsentError, Bench

from cogency_rs.models import ModelRequest
from cogency_rs.models.anthropic import Messages
from cogency_rs.models.http import json_of
from cogency_rs.models.openai import ChatCompletions

WORDS = "One sentence of a conversation, with a number in it: {number}. "
HEADERS = {"authorization": "Bearer k", "content-type": "application/json"}
ENDPOINTS: Mapping[str, Any] = {"chat": ChatCompletions(), "messages": Messages(cache=True)}


def conversation(count: int) -> list[dict[str, Any]]:
    """A system prompt, then questions and answers in turn."""
    turns = [
        {"role": ("user", "assistant")[number % 2], "content": WORDS.format(number=number) * 3}
        for number in range(count - 1)
    ]
    return [{"role": "system", "content": "Answer."}, *turns]


async def build(bench: Bench, endpoint: str, count: int) -> Samples:
    """From messages to bytes, next to `json.dumps` of the same messages and the SDKs' own client."""
    try:
        import httpx
    except ImportError as error:
        raise AbsentError("httpx is not installed") from error
    asked, messages = ModelRequest(conversation(count)), conversation(count)
    of = ENDPOINTS[endpoint]

    def ours() -> None:
        json_of({"model": "m", **of.complete(of.body(asked), {}), "stream": True})

    def floor() -> None:
        body = json.dumps({"model": "m", "messages": messages, "stream": True}).encode()
        httpx.Request("POST", "https://api.example.com/v1/messages", headers=HEADERS, content=body)

    return await bench.timed(ours=ours, floor=floor)
