"""Failures of a model's service: one line that says what to do, for both providers, with their SDKs or without."""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from cogency_rs import AnthropicModel, OpenAIModel
from cogency_rs.errors import LLMError
from cogency_rs.guards.json import read_json
from cogency_rs.models import Finish, ModelRequest, TextDelta, ToolCallDelta, http, service_answer
from cogency_rs.testing import ModelServer, Reply, sse
from support.chunks import joined

HI = ModelRequest([{"role": "user", "content": "Hi"}])


def chunk(reason: str | None = None, **fields: Any) -> bytes:
    return sse({"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]})


def event(type: str, **fields: Any) -> bytes:
    return sse({"type": type, **fields}, type)


@dataclass(frozen=True)
class Provider:
    """A provider: its model, and the messages of its server.

    Attributes:
        text: the pieces of an answer with the text "Hi", without its end.
        call: the pieces of an answer that stops in the middle of a call.
        reason: the piece with the reason why an answer ended.
        error: the body that reports an error.
        broken: the piece that reports an error inside a stream.
    """

    model: Callable[..., Any]
    path: str
    text: tuple[bytes, ...]
    call: tuple[bytes, ...]
    reason: bytes
    error: Callable[[str, str], dict[str, Any]]
    broken: Callable[[str, str], bytes]


START = event("message_start", message={"usage": {"input_tokens": 1, "output_tokens": 1}})
OPENAI = Provider(
    OpenAIModel,
    "/v1",
    (chunk(content="Hi"),),
    (chunk(tool_calls=[{"index": 0, "id": "x", "function": {"name": "add", "arguments": '{"a'}}]),),
    chunk("stop"),
    lambda kind, message: {"error": {"message": message, "type": kind, "code": None}},
    lambda kind, message: sse({"error": {"message": message, "type": kind}}),
)
ANTHROPIC = Provider(
    AnthropicModel,
    "",
    (
        START,
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"}),
    ),
    (
        START,
        event(
            "content_block_start",
            index=0,
            content_block={"type": "tool_use", "id": "x", "name": "add", "input": {}},
        ),
        event(
            "content_block_delta",
            index=0,
            delta={"type": "input_json_delta", "partial_json": '{"a'},
        ),
    ),
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}),
    lambda kind, message: {"type": "error", "error": {"type": kind, "message": message}},
    lambda kind, message: event("error", error={"type": kind, "message": message}),
)


def over_sdk(provider: Provider) -> Provider:
    """The same provider, asked through a client of its SDK."""
    name = "openai" if provider is OPENAI else "anthropic"
    sdk = pytest.importorskip(name)
    make = {"openai": "AsyncOpenAI", "anthropic": "AsyncAnthropic"}[name]

    class OverSdk(provider.model):  # type: ignore[misc,name-defined]
        def __init__(self, model: str, *, base_url: str, api_key: str, **settings: Any) -> None:
            self.client = getattr(sdk, make)(base_url=base_url, api_key=api_key)
            super().__init__(model, client=self.client, **settings)

        async def aclose(self) -> None:
            await super().aclose()
            await self.client.close()

    return replace(provider, model=OverSdk)


providers = pytest.mark.parametrize(
    "provider",
    [OPENAI, ANTHROPIC, over_sdk(OPENAI), over_sdk(ANTHROPIC)],
    ids=["openai", "anthropic", "openai's SDK", "anthropic's SDK"],
)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@asynccontextmanager
async def served(
    provider: Provider, *replies: Reply, **settings: Any
) -> AsyncIterator[tuple[ModelServer, Any]]:
    options = {"max_retries": 0, "api_key": "k", **settings}
    async with (
        ModelServer(replies) as server,
        provider.model("m", base_url=server.url + provider.path, **options) as model,
    ):
        yield server, model


async def failure_of(model: Any) -> tuple[LLMError, list[Any]]:
    """Asks a question that fails; returns the error, and what was received before it."""
    seen: list[Any] = []
    with pytest.raises(LLMError) as raised:
        async for delta in model.stream(HI):
            if isinstance(delta, TextDelta | ToolCallDelta):
                seen.append(delta)  # noqa: PERF401  # keeps what was received before the error
    assert "\n" not in str(raised.value)
    assert raised.value.cause is raised.value.__cause__
    assert isinstance(raised.value.cause, Exception)
    return raised.value, seen


# There is no answer


@providers
async def test_an_address_without_a_server_is_an_error(provider):
    async with ModelServer() as server:
        url = server.url + provider.path
    async with provider.model("m", base_url=url, api_key="k", max_retries=0) as model:
        error, seen = await failure_of(model)
    assert str(error).startswith(f"no server answers at {url} (")
    assert str(error).endswith("); is the server running there?")
    assert seen == []


@providers
async def test_a_server_that_does_not_answer_in_time_is_an_error(provider):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system takes connections for it
        url = f"http://127.0.0.1:{silent.getsockname()[1]}{provider.path}"
        async with provider.model(
            "m", base_url=url, api_key="k", max_retries=0, timeout=0.05
        ) as model:
            error, _ = await failure_of(model)
    assert str(error).startswith(f"no answer from {url} in time; try again")


@providers
@pytest.mark.parametrize(
    ("status", "type", "words", "message"),
    [
        (400, "invalid_request_error", "bad top_k", "refused the request (400: bad top_k); correct the settings"),
        (400, "invalid_request_error", "prompt is too long: 9", "refused a prompt that is too long (400: prompt is"),
        (400, "context_length_exceeded", "no room", "refused a prompt that is too long (400: no room); send less"),
        (400, "invalid_request_error", "Missing `reasoning_content` field",
         "wants its reasoning back, or does not take it (400: Missing `reasoning_content` field); "
         'OpenAIModel(…, reasoning_key="reasoning_content") sends it back'),
        (401, "authentication_error", "bad key", "refused the key (401: bad key); set {KEY}, or give api_key="),
        (402, "billing_error", "pay", "asks for payment first (402: pay); add credit"),
        (403, "permission_error", "not you", "does not allow this key to do that (403: not you); use another key"),
        (413, "request_too_large", "too much", "refused a prompt that is too long (413: too much); send less"),
        (418, "odd", "a\n  teapot", "refused the request (418: a teapot); correct"),
        (429, "rate_limit_error", "slowly", "limits how often it may be asked (429: slowly); try again later"),
        (429, "insufficient_quota", "no quota", "asks for payment first (429: no quota); add credit"),
        (500, "api_error", "oops", "failed (500: oops); nothing is wrong with the request: try again later"),
        (503, "overloaded", "busy", "is overloaded (503: busy); try again later"),
        (504, "timeout_error", "slow", "took too long (504: slow); try again, or give it more time"),
        (529, "overloaded_error", "busy", "is overloaded (529: busy); try again later"),
    ],
)  # fmt: skip
async def test_a_status_says_what_to_do(provider, status, type, words, message):
    async with served(provider, Reply(provider.error(type, words), status)) as (server, model):
        error, _ = await failure_of(model)
    key = "OPENAI_API_KEY" if provider.path == OPENAI.path else "ANTHROPIC_API_KEY"
    assert str(error).startswith(f"{server.url}{provider.path} {message.replace('{KEY}', key)}")
    assert error.auth_failed == (status in (401, 403))
    assert error.rate_limited == (type == "rate_limit_error")


@providers
async def test_a_long_message_of_a_service_is_cut(provider):
    async with served(provider, Reply(provider.error("odd", "x" * 5000), 400)) as (_, model):
        error, _ = await failure_of(model)
    assert "x" * 300 + "…" in str(error)
    assert len(str(error)) < 500
    assert "x" * 5000 in str(error.cause)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": "model is loading"}, "model is loading"),
        ({"object": "error", "message": "no such thing", "code": 400}, "no such thing"),
        (
            {"detail": [{"loc": ["body", "x"], "msg": "extra"}]},
            "[{'loc': ['body', 'x'], 'msg': 'extra'}]",
        ),
    ],
    ids=["Ollama", "vLLM", "FastAPI"],
)
async def test_the_message_is_found_in_the_error_bodies_of_other_servers(body, words):
    async with served(OPENAI, Reply(body, 400)) as (_, model):
        error, _ = await failure_of(model)
    assert f"refused the request (400: {words}); " in str(error)


async def test_the_error_s_type_counts_if_its_code_only_repeats_the_status():
    details = {"code": 400, "type": "exceed_context_size_error", "message": "request (9 tokens)"}
    async with served(OPENAI, Reply({"error": details}, 400)) as (_, model):
        error, _ = await failure_of(model)
    assert "refused a prompt that is too long (400: request (9 tokens)); send less" in str(error)


@providers
async def test_a_page_that_is_not_an_api_is_an_error_of_the_service(provider):
    async with served(provider, Reply([b"<html>\n<b>502</b> Bad Gateway</html>"], 502)) as (
        _,
        model,
    ):
        error, _ = await failure_of(model)
    assert "failed (502: " in str(error)


@providers
async def test_the_error_for_an_unknown_model_lists_the_known_ones(provider):
    missing = Reply(provider.error("not_found_error", "model: m"), 404)
    names = ["qwen3", "m-large", *(f"other-{n}" for n in range(10))]
    offers = Reply({"data": [{"id": name, "type": "model"} for name in names], "has_more": False})
    async with served(provider, missing, offers) as (server, model):
        error, _ = await failure_of(model)
    assert str(error) == (
        f"{server.url}{provider.path} does not know the model m; it offers "
        "qwen3, m-large, other-0, other-1, other-2, other-3, other-4, other-5, other-6, other-7 and 2 more"
    )
    assert server.requests[1].path == "/v1/models"


async def test_the_nearest_name_is_listed_first():
    missing = Reply(OPENAI.error("model_not_found", "no such model"), 404)
    offers = Reply({"data": [{"id": "llama3"}, {"id": "qwen3:8b"}]})
    async with (
        ModelServer([missing, offers]) as server,
        OpenAIModel("qwen3", base_url=f"{server.url}/v1", max_retries=0) as model,
    ):
        error, _ = await failure_of(model)
    assert str(error).endswith("does not know the model qwen3; it offers qwen3:8b, llama3")


async def test_of_many_models_few_are_compared_and_a_long_name_is_cut(monkeypatch):
    compared = []

    def close_matches(wanted, names, **options):
        compared.extend([wanted, *names])
        return []

    monkeypatch.setattr("difflib.get_close_matches", close_matches)
    missing = Reply(OPENAI.error("model_not_found", "no such model"), 404)
    names = ["x" * 500_000, *(f"3newq-{number}" for number in range(20_000))]
    offers = Reply({"data": [{"id": name} for name in names]})
    async with (
        ModelServer([missing, offers]) as server,
        OpenAIModel("qwen3", base_url=f"{server.url}/v1", max_retries=0) as model,
    ):
        error, _ = await failure_of(model)
    assert len(compared) <= 501
    assert sum(map(len, compared)) < 20_000
    assert len(str(error)) < 500
    assert str(error).endswith(" and 19991 more")


@pytest.mark.parametrize(
    "body", ["[" + "1," * 1_000_000 + "1]", '{"error": {"message": "' + "a" * 2_000_000 + '"}}']
)
@pytest.mark.parametrize("status", [400, 200])
async def test_of_a_long_error_only_the_beginning_is_read(monkeypatch, body, status):
    read = []
    for module in (http, service_answer):
        monkeypatch.setattr(module, "read_json", lambda text: read.append(text) or read_json(text))
    frames = [f"data: {body}\n\n".encode()] if status == 200 else [body.encode()]
    async with served(OPENAI, Reply(frames, status)) as (_, model):
        error, _ = await failure_of(model)
    assert len(str(error)) < 1_000
    assert len(str(getattr(error.__cause__, "body", ""))) <= 65_600
    assert max(map(len, read), default=0) <= 65_536


@providers
async def test_the_error_for_an_address_without_the_api_asks_for_the_missing_path(provider):
    nothing = Reply([b"404 page not found"], 404)
    async with served(provider, nothing, nothing) as (server, model):
        error, _ = await failure_of(model)
    assert str(error).startswith(f"{server.url}{provider.path} has no such API (404: ")
    assert str(error).endswith("does base_url lack its path, such as /v1?")


@providers
async def test_a_known_model_that_is_not_found_is_an_error_of_the_settings(provider):
    missing = Reply(provider.error("not_found_error", "no file x"), 404)
    async with served(provider, missing, Reply({"data": [{"id": "m", "type": "model"}]})) as (
        _,
        model,
    ):
        error, _ = await failure_of(model)
    assert "did not find what it was asked for (no file x); correct the settings" in str(error)


# Retries


@providers
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_request_is_sent_again_after_the_time_that_the_service_names(provider, status):
    wait = {"retry-after-ms": "1"}
    busy = Reply(provider.error("odd", "busy"), status, wait)
    answer = Reply([*provider.text, provider.reason])
    async with served(provider, busy, busy, answer, max_retries=2) as (server, model):
        seen = [delta async for delta in model.stream(HI)]
    assert [type(delta) for delta in seen if isinstance(delta, TextDelta | Finish)] == [
        TextDelta,
        Finish,
    ]
    assert len(server.requests) == 3


@providers
async def test_a_request_may_set_its_own_number_of_retries(provider):
    busy = Reply(provider.error("rate_limit_error", "slowly"), 429, {"retry-after-ms": "1"})
    async with served(provider, busy, busy) as (server, model):
        request = ModelRequest(HI.messages, settings={"max_retries": 1})
        with pytest.raises(LLMError, match="limits how often it may be asked"):
            async for _ in model.stream(request):
                pass
    assert len(server.requests) == 2


PASSING = {
    "too many requests": lambda provider: Reply([provider.broken("rate_limit_error", "slowly")]),
    "overloaded": lambda provider: Reply([b": wait\n\n", provider.broken("overloaded_error", "busy")]),
    "as JSON": lambda provider: Reply(provider.error("overloaded_error", "busy")),
    "by a number": lambda _: Reply([sse({"type": "error", "error": {"message": "bad", "code": 502}}, "error")]),
    "it ends": lambda _: Reply([], headers={"content-type": "text/event-stream"}),
    "it is dropped": lambda _: Reply([], ending="dropped"),
    "it is dropped after a comment": lambda _: Reply([b": wait\n\n"], ending="dropped"),
}  # fmt: skip


@pytest.fixture
def without_pauses(monkeypatch):
    monkeypatch.setattr("cogency_rs.models.failures._FIRST", 0.001)


@providers
@pytest.mark.parametrize("failing", PASSING.values(), ids=PASSING)
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.usefixtures("without_pauses")
async def test_an_answer_that_fails_before_its_first_word_is_asked_for_again(
    provider, failing, times
):
    replies = [failing(provider)] * times
    if times == 1:
        replies.append(Reply([*provider.text, provider.reason]))
    async with served(provider, *replies, max_retries=2) as (server, model):
        if times == 1:
            assert TextDelta("Hi") in [delta async for delta in model.stream(HI)]
        else:
            error, _ = await failure_of(model)
            assert "again" in str(error)
    assert len(server.requests) == len(replies)


@providers
@pytest.mark.parametrize("type", ["invalid_request_error", "odd"])
async def test_an_error_that_does_not_pass_is_not_asked_for_again(provider, type):
    async with served(provider, Reply([provider.broken(type, "no")]), max_retries=2) as (
        server,
        model,
    ):
        await failure_of(model)
    assert len(server.requests) == 1


@pytest.mark.usefixtures("without_pauses")
async def test_every_request_for_an_answer_counts():
    busy = Reply(OPENAI.error("odd", "busy"), 503, {"retry-after-ms": "1"})
    late = Reply([OPENAI.broken("overloaded_error", "busy")])
    async with served(OPENAI, busy, late, busy, max_retries=2) as (server, model):
        await failure_of(model)
    assert len(server.requests) == 3


async def test_no_answer_is_asked_for_again_when_its_time_is_over():
    late = Reply([OPENAI.broken("overloaded_error", "busy")])
    timeout = {"total": 0.2}
    async with served(OPENAI, late, max_retries=2, timeout=timeout) as (server, model):
        error, _ = await failure_of(model)
    assert "is overloaded" in str(error)
    assert len(server.requests) == 1


@providers
async def test_a_rate_limit_says_how_long_to_wait(provider):
    busy = Reply(provider.error("rate_limit_error", "slowly"), 429, {"retry-after": "20"})
    async with served(provider, busy) as (_, model):
        error, _ = await failure_of(model)
    assert str(error).endswith("(429: slowly); try again in 20 s")


# An answer breaks off


BROKE_OFF = "its answer is incomplete, so try again"


@providers
@pytest.mark.parametrize("ending", ["complete", "dropped"])
@pytest.mark.parametrize("where", ["text", "call"])
async def test_a_stream_that_breaks_off_is_not_asked_for_again(provider, ending, where):
    pieces = getattr(provider, where)
    async with served(provider, Reply(pieces, ending=ending), max_retries=2) as (server, model):
        error, seen = await failure_of(model)
    assert str(error).startswith(
        f"the stream of the model m at {server.url}{provider.path} broke off ("
    )
    assert str(error).endswith(BROKE_OFF)
    assert not error.rate_limited
    expected = [TextDelta("Hi")] if where == "text" else [ToolCallDelta(0, "x", "add", '{"a')]
    assert joined(seen) == expected
    assert len(server.requests) == 1


@providers
@pytest.mark.parametrize(
    ("type", "message"),
    [
        (
            "overloaded_error",
            " is overloaded in the middle of an answer (overloaded_error: busy); try again later",
        ),
        (
            "rate_limit_error",
            " limits how often it may be asked in the middle of an answer (rate_limit_error: busy)",
        ),
        ("odd", " failed in the middle of an answer (odd: busy); "),
    ],
)
async def test_an_error_inside_a_stream_says_what_to_do(provider, type, message):
    reply = Reply([*provider.text, provider.broken(type, "busy")])
    async with served(provider, reply) as (_, model):
        error, seen = await failure_of(model)
    assert message in str(error)
    assert seen == [TextDelta("Hi")]
    assert error.rate_limited == (type == "rate_limit_error")


@providers
@pytest.mark.parametrize(
    "nonsense",
    [sse("{not JSON", "message_delta"), sse({"choices": 3, "type": "message_delta"}, "message_delta"),
     b"event: message_delta\ndata: \xff\n\n"],
    ids=["not JSON", "another shape", "not UTF-8"],
)  # fmt: skip
async def test_nonsense_in_a_stream_is_an_error_of_the_service(provider, nonsense):
    async with served(provider, Reply([*provider.text, nonsense])) as (_, model):
        error, seen = await failure_of(model)
    assert str(error).endswith(BROKE_OFF)
    assert seen == [TextDelta("Hi")]


@pytest.mark.parametrize("reason", ["error", "abort"])
async def test_a_finish_reason_that_names_a_failure_counts_as_broken_off(reason):
    async with served(OPENAI, Reply([*OPENAI.text, chunk(reason)])) as (_, model):
        error, _ = await failure_of(model)
    assert f"broke off ({reason}); {BROKE_OFF}" in str(error)


# A status that says that all is well, and no stream

PAGE = b"<!doctype html><title>Sign in</title><p>Please sign in.</p>"
NO_STREAM = {
    "a page": (
        Reply([PAGE], headers={"content-type": "text/html; charset=utf-8"}),
        r"""with a page: "<!doctype html><title>Sign in</title>.*", declared as text/html;""",
    ),
    "a whole answer": (
        Reply({"object": "chat.completion", "choices": []}),
        r"""with JSON: "\{.*chat.completion.*\}", declared as application/json;""",
    ),
    "no body": (
        Reply([], headers={"content-type": "application/json"}),
        "with an empty body, declared as application/json;",
    ),
}


@providers
@pytest.mark.parametrize(("sent", "what"), NO_STREAM.values(), ids=NO_STREAM)
async def test_what_is_not_a_stream_is_told_as_such_and_not_to_be_asked_for_again(
    provider, sent, what
):
    async with served(provider, sent, max_retries=2) as (_, model):
        error, _ = await failure_of(model)
    assert re.search(rf"did not answer with a stream of events, but {what}", str(error))
    assert "is base_url the address" in str(error)
    assert "again" not in str(error)
    assert "broke off" not in str(error)


REPORTED = {
    "an error": ({"error": {"message": "no such key", "type": "authentication_error"}}, True),
    "a text": ({"error": "the model is not loaded"}, False),
    "details": ({"detail": "the model is not loaded"}, False),
    "an object": ({"object": "error", "message": "the model is not loaded", "code": 400}, False),
}


@providers
@pytest.mark.parametrize(("body", "is_key"), REPORTED.values(), ids=REPORTED)
async def test_an_error_with_the_status_of_a_success_is_that_error(provider, body, is_key):
    async with served(provider, Reply(body)) as (_, model):
        error, _ = await failure_of(model)
    assert ("refused the key" in str(error)) is error.auth_failed is is_key
    assert is_key or "the model is not loaded" in str(error)


@providers
async def test_a_stream_that_is_declared_to_be_json_is_read(provider):
    pieces = [*provider.text, provider.reason, sse("[DONE]")]
    sent = Reply(pieces, headers={"content-type": "application/json"})
    async with served(provider, sent) as (_, model):
        assert TextDelta("Hi") in [piece async for piece in model.stream(HI)]
