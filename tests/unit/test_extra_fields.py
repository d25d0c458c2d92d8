"""Fields of an answer that have no delta of their own come to those who ask for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cogency_rs import Agent, OpenAIModel
from cogency_rs.errors import ArgumentError
from cogency_rs.models import ExtraDelta, Finish, ModelRequest, TextDelta
from cogency_rs.testing import ModelServer, ReplayModel, record, sse
from support.openai_served import (
    DONE,
    HI,
    STOP,
    plain_environment,  # noqa: F401  # a fixture of every test
    reply,
)

LIKELY = '{"content": [{"token": "a", "logprob": -0.1}]}'
FIELDS = [ExtraDelta("choices.logprobs", LIKELY), ExtraDelta("system_fingerprint", '"f"')]
CHOICE = {"index": 0, "delta": {"content": "a"}, "finish_reason": None}


def served() -> ModelServer:
    likely = {"content": [{"token": "a", "logprob": -0.1}]}
    chunk = sse({"choices": [{**CHOICE, "logprobs": likely}], "system_fingerprint": "f"})
    return ModelServer([reply(chunk, STOP, DONE)])


def over_http(server: ModelServer, **settings: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=f"{server.url}/v1", **settings)


@asynccontextmanager
async def over_the_sdk(server: ModelServer, **settings: Any) -> AsyncIterator[OpenAIModel]:
    openai = pytest.importorskip("openai")
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client:
        yield OpenAIModel("m", client=client, **settings)


WISHES: list[tuple[dict[str, Any], list[ExtraDelta]]] = [
    ({}, []),
    ({"logprobs": True}, FIELDS),
    ({"logprobs": False}, []),
    ({"extra_body": {"logprobs": 0}}, FIELDS),
    ({"extra_fields": True}, FIELDS),
    ({"logprobs": True, "extra_fields": False}, []),
]


@pytest.mark.parametrize("model_of", [over_http, over_the_sdk])
@pytest.mark.parametrize(("wish", "fields"), WISHES)
async def test_who_asks_for_them_gets_them(model_of, wish, fields):
    async with served() as server, model_of(server, **wish) as model:
        pieces = [piece async for piece in model.stream(ModelRequest(HI))]
    assert pieces == [TextDelta("a"), *fields, Finish("stop")]
    assert "extra_fields" not in server.requests[0].body


async def test_a_request_may_ask_for_them():
    async with served() as server, over_http(server) as model:
        request = ModelRequest(HI, settings={"extra_fields": True})
        assert [piece async for piece in model.stream(request)][1:3] == FIELDS


async def test_an_agent_leaves_them_to_who_looks_at_its_model(tmp_path):
    path = tmp_path / "answers.jsonl"
    for driver in ("text", "native"):
        async with served() as server, over_http(server, logprobs=True) as model:
            path.unlink(missing_ok=True)
            assert (await Agent(record(model, path), driver=driver).run("Hi")).output == "a"
        again = ReplayModel(path).stream(ModelRequest(server.requests[0].body["messages"]))
        assert [each async for each in again if isinstance(each, ExtraDelta)] == FIELDS


def test_the_wish_is_true_or_false():
    with pytest.raises(ArgumentError, match="extra_fields must be True or False"):
        OpenAIModel("m", base_url="http://localhost/v1", extra_fields="yes")
