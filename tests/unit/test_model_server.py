"""`ModelServer`, which answers a program's tests as a model's service does."""

from __future__ import annotations

import asyncio
import socket

import pytest

from cogency_rs import Agent, OpenAIModel
from cogency_rs.testing import HOLD, ModelServer, Pause, Reply, sse
from support.openai_served import ask, plain_environment  # noqa: F401  # a fixture of every test
from support.waiting import until


def chunk(text: str, reason: str | None = None) -> bytes:
    return sse({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]})


STREAM = [chunk("Hel"), chunk("lo", "stop"), sse("[DONE]")]


def model_at(url: str) -> OpenAIModel:
    return OpenAIModel("m", base_url=f"{url}/v1", api_key="k", max_retries=0)


def test_without_a_loop_it_runs_in_a_thread_of_its_own():
    with ModelServer([Reply(STREAM), Reply(STREAM)]) as server:
        for _ in range(2):
            assert (
                Agent(model_at(server.url), instructions="Greet.").run_sync("Hi").output == "Hello"
            )
    [first, second] = server.requests
    assert first.path == second.path == "/v1/chat/completions"
    assert first.body["messages"][-1]["content"] == "Hi"
    assert "authorization" in first.headers


def test_a_port_that_is_taken_is_an_error_where_the_server_is_started():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"), ModelServer(port=taken.getsockname()[1]):
            pass


@pytest.mark.parametrize("left", [1, 2])
def test_a_reply_that_is_not_asked_for_fails_the_test(left):
    with (
        pytest.raises(AssertionError, match=f"{left} replies were not asked for"),
        ModelServer([Reply()] * left),
    ):
        pass
    # An error of the test itself is not hidden by that.
    with pytest.raises(ZeroDivisionError), ModelServer([Reply()] * left):
        _ = 1 / 0


async def test_a_recorded_body_comes_in_events_and_may_pause(tmp_path):
    recorded = tmp_path / "answer.sse"
    recorded.write_bytes(b"".join(STREAM) + b": the end")
    whole = Reply.from_file(recorded)
    assert whole.pieces == [*STREAM, b": the end"]
    slow = Reply([STREAM[0], Pause(0), *STREAM[1:]])
    async with ModelServer([whole, slow]) as server, model_at(server.url) as model:
        first, second = await ask(model), await ask(model)
        assert "".join(getattr(delta, "text", "") for delta in first) == "Hello"
        assert first[-1] == second[-1]


async def test_held_it_waits_for_the_client_to_leave():
    async with ModelServer([Reply([STREAM[0], HOLD])]) as server, model_at(server.url) as model:
        waiting = asyncio.create_task(ask(model))
        await until(lambda: server.requests, "the request never comes")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await model.aclose()
        await server.left()
