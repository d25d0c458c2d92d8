"""A server that repeats the key in fields that nobody thinks of: no error, result, row, trace or log record has it."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")
pytest.importorskip("opentelemetry.sdk")

from cogency_rs import Agent, AnthropicModel, OpenAIModel, tool
from cogency_rs.telemetry import Telemetry
from cogency_rs.testing import ModelServer, Reply, sse
from support.traces import Traces, text_of

pytestmark = pytest.mark.timeout(60)

KEY = "sk-plain-0123456789abcdef"

COMPLETIONS: dict[str, Any] = {
    "id": {"id": KEY},
    "model": {"model": f"m-{KEY}"},
    "fingerprint": {"system_fingerprint": KEY},
    "an unknown field": {KEY: KEY},
    "finish_reason": {"choices": [{"delta": {"content": "a"}, "finish_reason": KEY}]},
    "a part of finish_reason": {"choices": [{"delta": {}, "finish_reason": f"because {KEY}!"}]},
    "refusal": {"choices": [{"delta": {"refusal": f"No, {KEY}."}, "finish_reason": "stop"}]},
    "logprobs": {"choices": [{"delta": {"content": "a"}, "logprobs": {"token": KEY}}]},
    "usage": {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": KEY}},
    "the id of a call": {
        "choices": [
            {"delta": {"tool_calls": [{"index": 0, "id": KEY, "function": {"name": "add"}}]}}
        ]
    },
    "the name of a call": {
        "choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": KEY}}]}}]
    },
    "reasoning that is encrypted": {
        "choices": [
            {"delta": {"reasoning_details": [{"type": "reasoning.encrypted", "data": KEY}]}}
        ]
    },
}

START = {"type": "message_start", "message": {"id": "i", "model": "m", "usage": {}}}


def block(**fields: Any) -> list[dict[str, Any]]:
    return [
        START,
        {"type": "content_block_start", "index": 0, "content_block": fields},
        {"type": "content_block_stop", "index": 0},
    ]


MESSAGES: dict[str, list[Any]] = {
    "id": [{"type": "message_start", "message": {"id": KEY, "model": "m", "usage": {}}}],
    "model": [{"type": "message_start", "message": {"id": "i", "model": KEY, "usage": {}}}],
    "usage": [{"type": "message_start", "message": {"id": "i", "usage": {"service_tier": KEY}}}],
    "an unknown event": [START, {"type": KEY, KEY: KEY}],
    "an unknown block": block(type=KEY, text=KEY),
    "the id of a call": block(type="tool_use", id=KEY, name="add", input={}),
    "the name of a call": block(type="tool_use", id="c", name=KEY, input={}),
    "redacted reasoning": block(type="redacted_thinking", data=KEY),
    "stop_reason": [START, {"type": "message_delta", "delta": {"stop_reason": KEY}}],
    "stop_details": [
        START,
        {
            "type": "message_delta",
            "delta": {"stop_reason": "refusal", "stop_details": {"explanation": KEY}},
        },
    ],
}

FIELDS = [
    *(pytest.param("openai", [event], id=f"openai, {name}") for name, event in COMPLETIONS.items()),
    *(
        pytest.param("anthropic", events, id=f"anthropic, {name}")
        for name, events in MESSAGES.items()
    ),
]
ENDS = {
    "openai": [b"data: [DONE]\n\n"],
    "anthropic": [sse({"type": "message_stop"}, "message_stop")],
}
WAYS = ["http", "sdk"]


@tool
def add(a: int = 1) -> int:
    """Add."""
    return a


def model_at(provider: str, way: str, url: str) -> tuple[Any, Any]:
    """A model, and what must be closed."""
    import anthropic
    import openai

    kind, address = (OpenAIModel, f"{url}/v1") if provider == "openai" else (AnthropicModel, url)
    if way == "http":
        model = kind("m", base_url=address, api_key=KEY, max_retries=0, extra_fields=True)
        return model, model.aclose
    client: Any = openai.AsyncOpenAI if provider == "openai" else anthropic.AsyncAnthropic
    made = client(base_url=address, api_key=KEY, max_retries=0)
    return kind("m", client=made, extra_fields=True), made.close


def everything_of(error: BaseException | None) -> str:
    """An error, all that led to it, and what each of them keeps of the answer."""
    texts = ""
    while error is not None:
        kept = {name: value for name, value in vars(error).items() if name != "request"}
        response = getattr(error, "response", None)
        headers = [*response.headers.items()] if response is not None else []
        texts += f"{error} {error!r} {kept!r} {headers!r}\n"
        error = error.__cause__ or error.__context__
    return texts


async def shown_by(
    provider: str, way: str, replies: list[Reply], caplog: pytest.LogCaptureFixture
) -> str:
    """All that comes out of a run of an agent, and of a question to the model alone."""
    caplog.set_level(logging.DEBUG)
    traces = Traces()
    texts: list[Any] = []
    async with ModelServer([*replies, *replies]) as server:
        model, close = model_at(provider, way, server.url)
        mine = Agent(
            model,
            tools=[add],
            driver="native",
            telemetry=Telemetry(traces.provider, capture_content=True),
        )
        try:
            run = mine.run("?", conversation_id="c")
            texts += [event async for event in run]
            texts.append(run.result)
        except Exception as error:
            texts.append(everything_of(error))
        texts += [dict(row) for row in (await mine.storage.read("c")).rows]
        texts += await mine.storage.calls("c")
        server.replies.clear()
        server.replies += replies
        try:
            texts += [piece async for piece in model([{"role": "user", "content": "?"}])]
        except Exception as error:
            texts.append(everything_of(error))
        server.replies.clear()
        await close()
    texts += map(logging.Formatter().format, caplog.records)
    return "\n".join(map(repr, texts)) + text_of(traces)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("provider", "events"), FIELDS)
async def test_an_answer_shows_no_key_whatever_its_field(provider, way, events, caplog):
    said = [
        sse(event, event.get("type", "")) if provider == "anthropic" else sse(event)
        for event in events
    ]
    replies = [Reply([*said, *ENDS[provider]])]
    shown = await shown_by(provider, way, replies, caplog)
    assert KEY not in shown


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (400, {"error": {"message": "no"}}, {"x-debug": KEY}),
        (400, {"error": {"message": "no"}}, {f"x-{KEY}": "1"}),
        (401, {"error": {"message": "no", "code": KEY, "type": KEY, "param": KEY}}, {}),
        (429, {"error": {"message": "no"}}, {"x-request-id": KEY, "retry-after": KEY}),
        (500, {"detail": [{"loc": [KEY]}]}, {"set-cookie": f"a={KEY}"}),
        (503, {"other": {KEY: 1}}, {"server": KEY}),
    ],
    ids=[
        "a header",
        "a header's name",
        "fields of the error",
        "the request's id",
        "detail",
        "other",
    ],
)
async def test_a_refusal_shows_no_key_and_keeps_no_header_with_it(
    provider, way, status, body, headers, caplog
):
    replies = [Reply({"type": "error", **body}, status, headers)] * 2
    shown = await shown_by(provider, way, replies, caplog)
    assert "LLMError" in shown
    assert KEY not in shown


@pytest.mark.parametrize("word", ["stop", "tool_calls", "add"])
async def test_a_key_that_is_a_word_changes_no_answer(word):
    call = {"index": 0, "id": "c", "function": {"name": "add", "arguments": "{}"}}
    asked = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    answer = {"choices": [{"delta": {"content": "1"}, "finish_reason": "stop"}]}
    replies = [Reply([sse(each), *ENDS["openai"]]) for each in (asked, answer)]
    async with ModelServer(replies) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", api_key=word)
        result = await Agent(model, tools=[add], driver="native").run("?")
    assert (result.output, result.steps[0].executions[0].status) == ("1", "success")


def test_the_table_has_the_key_in_every_case():
    for case in FIELDS:
        assert KEY in json.dumps(case.values)
