"""Our own transport: what has come is kept until it is taken, and nothing is sent where it does not belong."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import zlib
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from cogency_rs import Agent, ConfigError, LLMError, ModelRequest, OpenAIModel, Telemetry, TextDelta
from cogency_rs.models.connection import StatusError, TransportError
from cogency_rs.models.retries import seconds_before_retry
from cogency_rs.models.settings import ModelSettings
from cogency_rs.testing import HOLD, ModelServer, Pause, Reply, ScriptedModel
from cogency_rs.testing.server import LocalServer
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
from support.programs import environment, program
from support.waiting import until

pytestmark = pytest.mark.timeout(60)

HELLO = reply(delta(content="Hello"), STOP, DONE)


def text_of(pieces: list[Any]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


async def error_of(model: OpenAIModel) -> LLMError:
    with pytest.raises(LLMError) as raised:
        await ask(model)
    assert "\n" not in str(raised.value)
    return raised.value


# What has come is kept


async def test_a_wait_that_is_cancelled_loses_nothing():
    words = [f"w{number} " for number in range(40)]
    pieces = [piece for word in words for piece in (delta(content=word), Pause(0.005))]
    async with served(reply(*pieces, STOP, DONE)) as (_, model):
        body = model._endpoint.body(ModelRequest(HI))
        began = await model._connection.ask(
            model._endpoint.operation, {"model": "m", **body}, ModelSettings(), []
        )
        text, is_over = "", False
        while not is_over:
            if (read := began.take()) is not None:
                text += text_of(read.deltas)
                is_over = read.is_over
                continue
            waiting = asyncio.ensure_future(began.more())
            await asyncio.wait([waiting], timeout=0.002)
            waiting.cancel()
        await began.aclose()
    assert text == "".join(words)


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


# Loops and threads


class Proactor(asyncio.SelectorEventLoop):
    """A loop that does not wait for sockets, as Windows' own does not."""

    def add_reader(self, *_: Any) -> None:
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


# Where a request goes


async def test_a_redirect_to_another_server_is_not_followed():
    async with ModelServer() as other:
        moved = Reply([], 308, {"location": f"{other.url}/v1/chat/completions?secret=abcdef"})
        async with served(moved, api_key="sk-very-secret") as (server, model):
            error = await error_of(model)
        assert other.requests == []
    assert str(error) == (
        f"{server.url}/v1 points to {other.url}/v1/chat/completions?…, where a request with a key is not sent; "
        "if that is the API, give it as base_url"
    )


async def test_a_redirect_of_the_same_server_is_followed():
    moved = Reply([], 307, {"location": "/v2/chat/completions"})
    async with served(moved, HELLO, api_key="k") as (server, model):
        assert text_of(await ask(model)) == "Hello"
    assert [asked.path for asked in server.requests] == [
        "/v1/chat/completions",
        "/v2/chat/completions",
    ]
    assert server.requests[1].headers["authorization"] == "Bearer k"
    assert server.requests[1].body == server.requests[0].body


async def test_a_redirect_in_a_circle_is_one_error():
    moved = Reply([], 307, {"location": "/v1/chat/completions"})
    async with served(*[moved] * 6, api_key="k") as (_, model):
        assert "points to" in str(await error_of(model))


async def test_a_proxy_is_asked_for_the_whole_address(monkeypatch):
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.delenv("no_proxy")
    async with ModelServer([HELLO, HELLO]) as proxy:
        named = OpenAIModel("m", base_url="http://api.invalid/v1", api_key="k", proxy=proxy.url)
        assert text_of(await ask(named)) == "Hello"
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        found = OpenAIModel("m", base_url="http://api.invalid/v1", api_key="k")
        assert text_of(await ask(found)) == "Hello"
        monkeypatch.setenv("NO_PROXY", "api.invalid")
        without = OpenAIModel("m", base_url="http://api.invalid/v1", api_key="k", max_retries=0)
        assert "no server answers at http://api.invalid/v1" in str(await error_of(without))
    assert {asked.path for asked in proxy.requests} == {"http://api.invalid/v1/chat/completions"}


async def test_a_proxy_that_refuses_is_one_error():
    refusing = Reply([b"not for you"], 403)
    async with ModelServer([refusing]) as proxy:
        url = "https://api.invalid/v1"
        model = OpenAIModel("m", base_url=url, api_key="k", proxy=proxy.url, max_retries=0)
        error = str(await error_of(model))
        proxy.replies.clear()
    assert error.startswith(f"the proxy did not connect to {url} (")
    assert error.endswith("); correct proxy=, or HTTPS_PROXY and NO_PROXY")


async def test_the_key_is_asked_for_before_each_request():
    keys = iter(["first-key", "second-key", "third-key"])

    async def key() -> str:
        await asyncio.sleep(0)
        return next(keys)

    busy = Reply({"error": {"message": "busy"}}, 503, {"retry-after-ms": "1"})
    refused = Reply({"error": {"message": "no third-key"}}, 401)
    async with served(busy, HELLO, refused, api_key=key, max_retries=1) as (server, model):
        await ask(model)
        error = await error_of(model)
    sent = [asked.headers["authorization"] for asked in server.requests]
    assert sent == ["Bearer first-key", "Bearer second-key", "Bearer third-key"]
    assert "third-key" not in str(error)


async def test_the_headers_are_those_of_the_account():
    async with served(HELLO, api_key="k", organization="org-1", project="proj-1") as (
        server,
        model,
    ):
        await ask(model)
    headers = server.requests[0].headers
    assert headers["openai-organization"] == "org-1"
    assert headers["openai-project"] == "proj-1"
    assert headers["user-agent"].startswith("cogency-rs/")


@pytest.mark.parametrize("key", ["two\nlines", "nul\0", "caf\N{SNOWMAN}\r"])
async def test_a_key_that_no_header_can_have_is_one_error_without_it(key):
    async with ModelServer() as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", api_key=key)
        error = await error_of(model)
    assert "the header authorization has characters that a header cannot have" in str(error)
    assert key not in str(error)


# Certificates


@asynccontextmanager
async def over_tls(tmp_path: Any, *replies: Reply, **options: Any) -> AsyncIterator[Any]:
    certificates = pytest.importorskip("support.certificates")
    context, path = certificates.certificate(tmp_path, **options)
    async with ModelServer(replies, tls=context) as server:
        yield server, path


async def test_a_certificate_is_trusted_that_verify_names(tmp_path, monkeypatch):
    async with over_tls(tmp_path, HELLO, HELLO) as (server, path):
        model = OpenAIModel("m", base_url=f"{server.url}/v1", verify=path)
        assert text_of(await ask(model)) == "Hello"
        assert text_of(await ask(model)) == "Hello"
        assert server.connections == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "UnknownIssuer"),
        ({"host": "127.0.0.9"}, "not valid for name"),
        ({"days": -1}, "expired"),
    ],
    ids=["unknown", "of another address", "ended"],
)
async def test_a_certificate_that_is_wrong_is_one_error(tmp_path, options, words):
    async with over_tls(tmp_path, **options) as (server, path):
        verify = {"verify": path} if options else {}
        model = OpenAIModel("m", base_url=f"{server.url}/v1", api_key="sk-secret", **verify)
        error = await error_of(model)
        assert server.requests == []
    assert f"{server.url}/v1 has a certificate that is not trusted here (" in str(error)
    assert words in str(error)
    assert "give the file of certificates that it goes with as verify=" in str(error)


ASKS_AS_ITS_MACHINE_TRUSTS = """
async def main(url):
    model = OpenAIModel("m", base_url=url, api_key="k", max_retries=0)
    try:
        print("".join([piece async for piece in model([]) if isinstance(piece, str)]))
    except LLMError as error:
        print(error)
asyncio.run(main(sys.argv[1]))
"""


async def asked_where(variables: dict[str, str], url: str) -> str:
    """What a program says that asks there, with these variables."""
    command = program(ASKS_AS_ITS_MACHINE_TRUSTS, url)
    process = await asyncio.create_subprocess_exec(
        *command, env={**environment(), **variables}, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode().strip()


async def test_the_variables_of_openssl_name_what_is_trusted(tmp_path):
    async with over_tls(tmp_path, HELLO) as (server, path):
        assert await asked_where({"SSL_CERT_FILE": str(path)}, f"{server.url}/v1") == "Hello"


async def test_on_a_machine_without_certificates_plain_http_works_and_browsers_roots_count(
    tmp_path,
):
    none = {"SSL_CERT_FILE": str(tmp_path / "no.pem"), "SSL_CERT_DIR": str(tmp_path / "no")}
    async with ModelServer([HELLO]) as server:
        assert await asked_where(none, f"{server.url}/v1") == "Hello"
    async with over_tls(tmp_path) as (server, _):
        said = await asked_where(none, f"{server.url}/v1")
    assert "has a certificate that is not trusted here" in said


async def test_a_connection_that_stops_within_a_record_of_tls_is_broken_off(tmp_path):
    async with over_tls(tmp_path, reply(delta(content="Hi"), HOLD)) as (server, path):
        cut = asyncio.Event()

        async def forwarded(reader: Any, writer: Any) -> None:
            port = int(server.url.rpartition(":")[2])
            upstream, downstream = await asyncio.open_connection("127.0.0.1", port)

            async def up() -> None:
                while data := await reader.read(65536):
                    downstream.write(data)

            sending = asyncio.ensure_future(up())
            while not cut.is_set():
                data = await upstream.read(65536)
                if b"\x17\x03\x03" in data and server.requests:  # a record of data
                    writer.write(data[: len(data) - 3])
                    cut.set()
                else:
                    writer.write(data)
            sending.cancel()
            downstream.close()
            writer.close()

        async with await asyncio.start_server(forwarded, "127.0.0.1", 0) as front:
            port = front.sockets[0].getsockname()[1]
            url = f"https://127.0.0.1:{port}/v1"
            model = OpenAIModel("m", base_url=url, verify=path, max_retries=0)
            error = str(await error_of(model))
    assert "broke off" in error


def test_a_file_of_certificates_that_is_none_is_refused(tmp_path):
    (tmp_path / "empty.pem").write_text("nothing\n")
    for path, words in [
        (tmp_path / "empty.pem", "it is empty"),
        (tmp_path / "none.pem", "No such"),
    ]:
        with pytest.raises(ConfigError, match="verify cannot be used: ") as raised:
            OpenAIModel("m", base_url="https://localhost/v1", verify=path)
        assert words in str(raised.value)


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
        """Closes a connection as soon as a second request comes over it."""

        async def serve(self, reader: Any, writer: Any) -> None:
            reply, *self.replies = self.replies
            from cogency_rs.testing.server import _send, read_request

            self.connections += 1
            self.requests.append(await read_request(reader))
            await _send(reply, reader, writer)
            await reader.readexactly(1)

    async with Closing([HELLO] * 3) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", max_retries=0)
        assert [text_of(await ask(model)) for _ in range(3)] == ["Hello"] * 3
        assert server.connections == 3


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
