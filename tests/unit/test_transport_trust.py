"""Where our own transport sends a request, and whom it trusts."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cogency_rs import OpenAIModel
from cogency_rs.errors import ArgumentError, ConfigError, LLMError
from cogency_rs.testing import HOLD, ModelServer, Reply
from support.openai_served import (
    ask,
    delta,
    plain_environment,  # noqa: F401  # a fixture of every test
    reply,
    served,
)
from support.programs import environment, program
from support.transport import HELLO, error_of, text_of

pytestmark = pytest.mark.timeout(60)


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


@pytest.mark.parametrize("status", [300, 304])
async def test_a_status_that_points_nowhere_says_so(status):
    async with served(Reply([], status), api_key="k") as (server, model):
        error = await error_of(model)
    assert str(error) == (
        f"{server.url}/v1 gave neither an answer nor the address of one (status {status}); "
        "is base_url the address of an API, with its path, such as /v1?"
    )
    assert error.status == status


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


@pytest.mark.parametrize(
    ("host", "variables", "is_proxy"),
    [
        ("api.invalid", {"http_proxy": ""}, True),
        ("api.invalid", {"all_proxy": ""}, True),
        ("api.invalid", {"http_proxy": "", "no_proxy": "invalid"}, False),
        ("127.0.0.1", {"http_proxy": "", "no_proxy": "10.0.0.1, 127.0.0.0/8"}, False),
        ("api.invalid", {"https_proxy": ""}, False),
    ],
)
async def test_a_proxy_where_nothing_listens_is_what_does_not_answer(
    monkeypatch, host, variables, is_proxy
):
    async with ModelServer() as gone:
        dead = gone.url
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value or dead)
    url = f"http://{host}:{dead.rpartition(':')[2]}/v1"
    error = str(await error_of(OpenAIModel("m", base_url=url, api_key="k", max_retries=0)))
    if is_proxy:
        assert error.startswith(f"the proxy did not connect to {url} (")
        assert error.endswith("); correct proxy=, or HTTP_PROXY and NO_PROXY")
    else:
        assert error.startswith(f"no server answers at {url} (")
    named = OpenAIModel("m", base_url=url, api_key="k", proxy=dead, max_retries=0)
    assert str(await error_of(named)).startswith(f"the proxy did not connect to {url} (")


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


@pytest.mark.parametrize("given", [False, True, 1])
def test_certificates_are_always_checked(given: Any):
    with pytest.raises(ArgumentError) as raised:
        OpenAIModel("m", base_url="https://localhost/v1", verify=given)
    assert str(raised.value) == (
        f"verify must be the path of a PEM file of certificates, got {given}; certificates are always checked: "
        "give the file of the one that the server has"
    )


async def test_a_key_stays_hidden_while_requests_with_later_keys_are_sent():
    keys = iter(["sk-first-of-two", "sk-second-of-two"])
    later: list[LLMError] = []

    async def key() -> str:
        return next(keys)

    async def refused(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        sent = re.findall("sk-[a-z-]+", head)[0]
        if sent == "sk-first-of-two":  # answered after the request with the next key
            later.append(await error_of(model))
        body = json.dumps({"error": {"message": f"Incorrect API key provided: {sent}"}})
        writer.write(
            f"HTTP/1.1 401 No\r\nx-key: {sent}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
        )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refused, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        model = OpenAIModel("m", base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0)
        first = await error_of(model)
    for error in (first, *later):
        shown = f"{error} {dict(error.headers)} {error.__cause__!r} {error.__context__!r}"
        assert "[api_key]" in shown
        assert "sk-" not in shown
    assert len(later) == 1
