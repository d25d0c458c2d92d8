"""Our own transport: what has come is kept until it is taken, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import gc
import itertools
import socket
import threading
import zlib
from contextlib import aclosing, suppress
from typing import Any

import pytest

from cogency_rs import Agent, OpenAIModel
from cogency_rs.errors import ConfigError, LLMError
from cogency_rs.models import ModelRequest, TextDelta
from cogency_rs.models.connection import Question, StatusError, TransportError
from cogency_rs.models.failures import seconds_before_retry
from cogency_rs.models.http import inbox_of_loop
from cogency_rs.models.settings import ModelSettings
from cogency_rs.telemetry import Telemetry
from cogency_rs.testing import HOLD, ModelServer, Pause, Reply, ScriptedModel
from cogency_rs.testing.server import LocalServer, _send, read_request
from support.chunks import joined
from support.openai_served import (
    DONE,
    HI,
    STOP,
    ask,
    delta,
    plain_environment,  # noqa: F401  # a fixture of every test
    reply,
    served,
)
from support.transport import HELLO, error_of, text_of
from support.waiting import until

pytestmark = pytest.mark.timeout(60)

# What has come is kept


async def test_a_wait_that_is_cancelled_loses_nothing():
    words = [f"w{number} " for number in range(40)]
    pieces: list[Any] = []
    for word in words:
        pieces += [delta(content=word), Pause(0.005)]
    async with served(reply(*pieces, STOP, DONE)) as (_, model):
        body = {"model": "m", **model._endpoint.body(ModelRequest(HI))}
        asked = Question(model._endpoint.operation, body, ModelSettings(), [])
        began = await model._connection.ask(asked)
        text, is_over = "", False
        while not is_over:
            reading = asyncio.ensure_future(began.read())
            await asyncio.wait([reading], timeout=0.002)
            reading.cancel()
            with suppress(asyncio.CancelledError):
                read = await reading
                text += text_of(read.deltas)
                is_over = read.is_over
        await began.aclose()
    assert text == "".join(words)


async def test_a_reader_hides_the_secrets_of_its_own_request(monkeypatch):
    model = OpenAIModel("m", base_url="http://127.0.0.1:1/v1", api_key="sk-0123456789")
    hidden: list[list[str]] = []

    async def ask_none(question: Question) -> Any:
        hidden.append([text for text, _ in question.secrets])
        raise TransportError("broken", "")

    monkeypatch.setattr(model._connection, "ask", ask_none)
    for team in ("red-secret", "red-secret", "blue-secret"):
        with pytest.raises(LLMError):
            await ask(model, settings={"extra_headers": {"x-team-key": team}})
    assert all("sk-0123456789" in texts for texts in hidden)
    teams = [[text for text in texts if text.endswith("-secret")] for texts in hidden]
    assert teams == [["red-secret"], ["red-secret"], ["blue-secret"]]


async def test_who_is_slow_stops_the_reading_of_its_own_answer_and_of_no_other():
    long = [delta(content="x" * 60_000)] * 400
    written = 0

    class Counting(ModelServer):
        async def serve(self, reader: Any, writer: Any) -> None:
            write = writer.write

            def counted(data: bytes) -> None:
                nonlocal written
                written += len(data)
                write(data)

            writer.write = counted
            await super().serve(reader, writer)

    async with (
        Counting([reply(*long, STOP, DONE), *[HELLO] * 20]) as server,
        OpenAIModel("m", base_url=f"{server.url}/v1") as model,
        aclosing(model.stream(ModelRequest(HI))) as slow,
    ):
        first = await anext(slow)
        assert isinstance(first, TextDelta)
        for _ in range(20):
            assert text_of(await ask(model)) == "Hello"
        assert written < 12_000_000  # of 24 MB; the system holds a few
        rest = [piece async for piece in slow]
    assert len(text_of([first, *rest])) == 400 * 60_000


async def test_an_answer_that_nobody_closes_is_closed_when_it_is_collected():
    async with served(reply(delta(content="Hi"), HOLD)) as (server, model):
        stream = model.stream(ModelRequest(HI))
        assert await anext(stream) == TextDelta("Hi")
        del stream
        gc.collect()
        await server.left()


async def test_closing_an_answer_before_it_begins_ends_the_request():
    class Silent(LocalServer):
        """Reads, and never answers."""

        received = b""

        async def serve(self, reader: Any, writer: Any) -> None:
            while data := await reader.read(65536):
                self.received += data

    async with Silent() as server:
        asking = asyncio.create_task(ask(OpenAIModel("m", base_url=f"{server.url}/v1")))
        await until(lambda: server.received, "no request came")
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.closed()


async def test_an_answer_may_be_compressed_and_comes_as_it_is_sent():
    packed = zlib.compressobj(wbits=31)
    first = packed.compress(delta(content="Hello ☃")) + packed.flush(zlib.Z_SYNC_FLUSH)
    rest = packed.compress(STOP + DONE) + packed.flush()
    headers = {"content-encoding": "gzip"}
    async with served(reply(first, HOLD, headers=headers)) as (server, model):
        async with aclosing(model.stream(ModelRequest(HI))) as stream:
            assert await anext(stream) == TextDelta("Hello ☃")
        server.replies.append(reply(first, rest, headers=headers))
        assert text_of(await ask(model)) == "Hello ☃"
    assert "gzip" in server.requests[0].headers["accept-encoding"]


async def test_a_compressed_line_without_an_end_is_one_error_and_is_not_held():
    packed = zlib.compressobj(wbits=31)
    bomb = packed.compress(b'data: {"x": "') + b"".join(
        packed.compress(b"x" * (1 << 20)) for _ in range(200)
    )
    async with served(reply(bomb + packed.flush(), headers={"content-encoding": "gzip"})) as (
        _,
        model,
    ):
        error = await error_of(model)
    assert "broke off (" in str(error)
    assert "16777216 bytes" in str(error)


def bomb_of(first: bytes) -> Reply:
    """100 MB of white space in an answer of 100 KB, which come at once and take a second to decompress."""
    packed = zlib.compressobj(wbits=31)
    begun = packed.compress(first) + packed.flush(zlib.Z_FULL_FLUSH)
    block = packed.compress(b"\n" * (1 << 20)) + packed.flush(zlib.Z_FULL_FLUSH)
    return reply(begun + block * 100, headers={"content-encoding": "gzip"})


async def test_a_compressed_bomb_holds_up_no_other_answer():
    async with (
        served(bomb_of(delta(content="Hi")), HELLO) as (_, model),
        aclosing(model.stream(ModelRequest(HI))) as stream,
    ):
        assert await anext(stream) == TextDelta("Hi")
        rest = asyncio.ensure_future(anext(stream))
        assert text_of(await ask(model)) == "Hello"
        assert not rest.done()
        rest.cancel()
        await asyncio.wait([rest])


async def test_a_compressed_bomb_takes_no_longer_than_timeout_says():
    async with served(bomb_of(delta(content="Hi")), timeout={"total": 0.1}) as (_, model):
        error = await error_of(model)
    assert "broke off (the whole answer took too long)" in str(error)


# Loops and threads


class Proactor(asyncio.SelectorEventLoop):
    """A loop that does not wait for sockets, as Windows' own does not."""

    def add_reader(self, *_: Any) -> Any:
        raise NotImplementedError

    remove_reader = add_reader


def new_uvloop() -> asyncio.AbstractEventLoop:
    return pytest.importorskip("uvloop").new_event_loop()


LOOPS = {
    "selector": asyncio.SelectorEventLoop,
    "proactor": Proactor,
    "uvloop": new_uvloop,
}


@pytest.mark.parametrize("make", LOOPS.values(), ids=LOOPS)
def test_every_event_loop_is_woken(make):
    async def main(url: str) -> list[str]:
        async with OpenAIModel("m", base_url=f"{url}/v1") as model:
            answers = await asyncio.gather(*(ask(model) for _ in range(30)))
        return [text_of(pieces) for pieces in answers]

    with ModelServer([HELLO] * 30) as server, asyncio.Runner(loop_factory=make) as runner:
        assert runner.run(main(server.url)) == ["Hello"] * 30


@pytest.mark.parametrize("make", LOOPS.values(), ids=LOOPS)
def test_a_loop_has_no_task_of_ours_that_a_program_could_wait_for_or_cancel(make):
    async def main(url: str) -> list[str]:
        texts: list[str] = []
        async with OpenAIModel("m", base_url=f"{url}/v1") as model:
            for _ in range(2):
                texts.append(text_of(await ask(model)))
                assert asyncio.all_tasks() == {asyncio.current_task()}
        return texts

    with ModelServer([HELLO] * 2) as server, asyncio.Runner(loop_factory=make) as runner:
        assert runner.run(main(server.url)) == ["Hello"] * 2


@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("make", LOOPS.values(), ids=LOOPS)
def test_a_first_request_that_is_cancelled_leaves_the_loop_to_the_next(make, steps):
    async def main(url: str) -> list[str]:
        begun = asyncio.create_task(inbox_of_loop())
        for _ in range(steps):
            await asyncio.sleep(0)
        begun.cancel()
        async with OpenAIModel("m", base_url=f"{url}/v1") as model:
            answers = await asyncio.gather(*(ask(model) for _ in range(3)))
        return [text_of(pieces) for pieces in answers]

    with ModelServer([HELLO] * 3) as server, asyncio.Runner(loop_factory=make) as runner:
        assert runner.run(main(server.url)) == ["Hello"] * 3


def test_a_model_may_be_asked_in_several_loops_at_the_same_time():
    with ModelServer([HELLO] * 80) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        texts: list[str] = []

        async def ten() -> None:
            answers = await asyncio.gather(*(ask(model) for _ in range(10)))
            texts.extend(map(text_of, answers))

        threads = [threading.Thread(target=asyncio.run, args=[ten()]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert texts == ["Hello"] * 80


def test_a_loop_may_be_closed_while_answers_are_open():
    with ModelServer([reply(delta(content="Hi"), HOLD), HELLO]) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        loop = asyncio.new_event_loop()
        stream = model.stream(ModelRequest(HI))
        assert loop.run_until_complete(anext(stream)) == TextDelta("Hi")
        loop.close()  # without an end to its generators
        del stream
        assert text_of(asyncio.run(ask(model))) == "Hello"


# How long it may take


async def test_nothing_may_come_for_as_long_as_timeout_says():
    async with served(reply(delta(content="Hi"), HOLD), timeout={"read": 0.05}) as (_, model):
        error = await error_of(model)
    assert "broke off (nothing came for too long)" in str(error)


async def test_an_answer_may_take_as_long_as_timeout_says_in_all():
    slow = [piece for _ in range(400) for piece in (delta(content="a"), Pause(0.01))]
    async with served(reply(*slow), timeout={"total": 0.1}) as (_, model):
        error = await error_of(model)
    assert "broke off (the whole answer took too long)" in str(error)


async def test_nobody_who_answers_is_waited_for_as_long_as_timeout_says():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        model = OpenAIModel("m", base_url=url, max_retries=1, timeout=0.05)
        assert str(await error_of(model)).startswith(f"no answer from {url} in time")


class Silent(LocalServer):
    """Reads requests, and answers those at the beginning only, with the status 503."""

    def __init__(self, busy: int = 0) -> None:
        super().__init__()
        self.requests = 0
        self._busy = busy

    async def serve(self, reader: Any, writer: Any) -> None:
        while True:
            await read_request(reader)
            self.requests += 1
            if self.requests > self._busy:
                await reader.read()
                return
            writer.write(b"HTTP/1.1 503 Busy\r\nretry-after-ms: 1\r\ncontent-length: 0\r\n\r\n")


@pytest.mark.parametrize("busy", [0, 1])
async def test_all_tries_together_take_no_longer_than_timeout_says(busy):
    async with Silent(busy) as server:
        url = f"{server.url}/v1"
        model = OpenAIModel("m", base_url=url, max_retries=5, timeout={"total": 0.2})
        assert str(await error_of(model)).startswith(f"no answer from {url} in time")
        assert server.requests == busy + 1


async def test_a_wait_that_would_take_longer_than_timeout_says_is_not_begun():
    busy = Reply({"error": {"message": "later"}}, 503, {"retry-after": "50"})
    async with served(busy, timeout={"total": 40}, max_retries=5) as (server, model):
        assert (await error_of(model)).status == 503
    assert len(server.requests) == 1


async def test_the_words_of_an_error_may_take_as_long_as_timeout_says():
    trickle: Any = itertools.cycle([b".", Pause(0.01)])
    async with served(reply(status=500), timeout=1) as (server, model):
        server.replies[0].pieces = trickle
        error = await error_of(model)
    assert (error.status, str(error).startswith(f"{server.url}/v1 failed (500: .")) == (500, True)


@pytest.mark.parametrize("timeout", [1e300, 10**400, {"connect": 1e300, "total": 1e300}])
async def test_a_long_timeout_is_for_ever(timeout):
    async with served(HELLO, timeout=timeout) as (_, model):
        assert text_of(await ask(model)) == "Hello"


@pytest.mark.parametrize(
    "timeout", [0, -1, "5", True, {"reed": 5}, {"connect": None}, {"read": 0}, float("nan")]
)
def test_a_timeout_that_is_none_is_refused(timeout):
    with pytest.raises(ConfigError, match="timeout must be a number of seconds above 0"):
        OpenAIModel("m", base_url="http://localhost/v1", timeout=timeout)


@pytest.mark.parametrize(
    ("error", "least", "most"),
    [
        (StatusError(429, "", {"retry-after": "7"}), 7, 7),
        (StatusError(429, "", {"retry-after-ms": "70", "retry-after": "7"}), 0.07, 0.07),
        (StatusError(503, "", {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), 0, 0),
        (StatusError(503, "", {"retry-after": "soon"}), 0.375, 0.5),
        (StatusError(500, "", {}), 0.375, 0.5),
        (StatusError(408, "", {}), 0.375, 0.5),
        (StatusError(400, "", {"x-should-retry": "true"}), 0.375, 0.5),
        (TransportError("unreachable", ""), 0.375, 0.5),
        (TransportError("broken", ""), 0.375, 0.5),
    ],
)  # fmt: skip
def test_a_request_is_sent_again_after_a_while(error, least, most):
    assert least <= (seconds_before_retry(error, 0) or 0) <= most


@pytest.mark.parametrize(
    "error",
    [
        StatusError(400, "", {}),
        StatusError(401, "", {"retry-after": "1"}),
        StatusError(500, "", {"x-should-retry": "false"}),
        StatusError(429, "", {"retry-after": "3600"}),  # the caller decides whether to wait so long
        TransportError("certificate", ""),
        TransportError("redirect", ""),
        TransportError("slow_in_all", ""),
        ValueError("no setting"),
    ],
)
def test_where_it_would_not_help_a_request_is_not_sent_again(error):
    assert seconds_before_retry(error, 0) is None


def test_a_service_may_name_the_date_at_which_to_ask_again(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1445412450.0)
    date = StatusError(503, "", {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    assert seconds_before_retry(date, 0) == 30


def test_the_wait_grows_up_to_eight_seconds():
    waits = [seconds_before_retry(StatusError(500, "", {}), attempt) or 0 for attempt in range(9)]
    bounds = [0.5, 1, 2, 4, 8, 8, 8, 8, 8]
    assert all(0.75 * most <= wait <= most for wait, most in zip(waits, bounds, strict=True))


# What an error has


async def test_an_error_has_the_status_the_headers_and_the_id_of_its_request():
    sent = Reply({"error": {"message": "busy"}}, 503, {"x-request-id": "req-7", "X-Region": "eu"})
    async with served(sent, api_key="sk-secret") as (_, model):
        error = await error_of(model)
    assert (error.status, error.request_id, error.headers["x-region"]) == (503, "req-7", "eu")


async def test_without_an_answer_it_has_none():
    async with ModelServer() as server:
        url = server.url
    error = await error_of(OpenAIModel("m", base_url=f"{url}/v1", max_retries=0))
    assert (error.status, error.request_id, dict(error.headers)) == (None, None, {})


async def test_a_name_that_is_none_is_one_error():
    error = await error_of(
        OpenAIModel("m", base_url="http://nowhere.invalid/v1", api_key="k", max_retries=0)
    )
    assert str(error).startswith("no server answers at http://nowhere.invalid/v1 (")


async def test_a_connection_that_the_server_has_closed_meanwhile_is_no_failure():
    class Closing(ModelServer):
        """Closes a connection once the answer has been read."""

        async def serve(self, reader: Any, writer: Any) -> None:
            reply, *self.replies = self.replies
            self.connections += 1
            self.requests.append(await read_request(reader))
            await _send(reply, reader, writer)

    async with Closing([HELLO] * 3) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", max_retries=0)
        for _ in range(3):
            assert text_of(await ask(model)) == "Hello"
            await server.closed()
        assert server.connections == 3


class Ending(ModelServer):
    """Reads the second request, wholly or its first byte, and ends without an answer."""

    reads_all: bool

    async def serve(self, reader: Any, writer: Any) -> None:
        self.connections += 1
        is_second = self.connections == 2
        if is_second and not self.reads_all:
            await reader.readexactly(1)
            return
        self.requests.append(await read_request(reader))
        if not is_second:
            reply, *self.replies = self.replies
            await _send(reply, reader, writer)


@pytest.mark.parametrize("reads_all", [True, False])
async def test_a_request_that_a_server_may_have_read_is_not_sent_again_unasked(reads_all):
    async with Ending([HELLO]) as server:
        server.reads_all = reads_all
        model = OpenAIModel("m", base_url=f"{server.url}/v1", max_retries=0)
        assert text_of(await ask(model)) == "Hello"
        assert "broke off before an answer" in str(await error_of(model))
        assert len(server.requests) == 1 + reads_all


async def test_a_retry_of_such_a_request_counts_as_one():
    async with Ending([HELLO] * 2) as server:
        server.reads_all = True
        model = OpenAIModel("m", base_url=f"{server.url}/v1", max_retries=1)
        assert [text_of(await ask(model)) for _ in range(2)] == ["Hello"] * 2
        assert len(server.requests) == 3


async def test_a_request_that_a_new_connection_does_not_answer_is_not_sent_again():
    class Dropping(ModelServer):
        """Answers the first request, and closes each connection."""

        async def serve(self, reader: Any, writer: Any) -> None:
            self.requests.append(await read_request(reader))
            if self.replies:
                await _send(self.replies.pop(), reader, writer)

    closing = reply(delta(content="Hello"), STOP, DONE, headers={"connection": "close"})
    async with Dropping([closing]) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", max_retries=0)
        assert text_of(await ask(model)) == "Hello"
        assert "broke off before an answer" in str(await error_of(model))
        assert len(server.requests) == 2


async def test_the_pieces_that_came_together_are_one():
    many = b"".join(delta(content=f"{number} ") for number in range(1000))
    async with served(reply(many, STOP, DONE)) as (_, model):
        pieces = await ask(model)
    assert text_of(pieces) == "".join(f"{number} " for number in range(1000))
    assert len(pieces) < 50
    assert joined(pieces)[-1] == pieces[-1]


# What is said of it


async def test_a_request_says_which_span_it_belongs_to_where_telemetry_is_on():
    pytest.importorskip("opentelemetry.sdk")
    from support.traces import Traces

    traces = Traces()
    async with served(HELLO, HELLO) as (server, model):
        await Agent(model, telemetry=Telemetry(traces.provider)).run("Hi")
        await Agent(model).run("Hi")
    traced, plain = (asked.headers for asked in server.requests)
    [span] = [each for each in traces.spans if each.name.startswith("chat")]
    context = span.get_span_context()
    assert traced["traceparent"].startswith(f"00-{context.trace_id:032x}-{context.span_id:016x}-")
    assert "traceparent" not in plain


def test_an_agent_says_what_it_talks_to_and_how():
    model = OpenAIModel("m", base_url="http://ada:secret@localhost:1/v1")
    assert Agent(model, dialect="hermes").describe() == {
        "model": "m",
        "provider": "openai",
        "address": "http://localhost:1/v1",
        "transport": "http",
        "driver": "text",
        "dialect": "hermes",
    }
    assert Agent(model, driver="native").describe()["driver"] == "native"
    openai = pytest.importorskip("openai")
    client = openai.AsyncOpenAI(api_key="k")
    described = Agent(OpenAIModel("m", client=client)).describe()
    assert (described["transport"], described["address"]) == ("openai", "https://api.openai.com/v1")
    assert Agent(ScriptedModel(["Hi"])).describe()["transport"] == "python"
