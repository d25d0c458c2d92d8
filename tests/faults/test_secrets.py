"""No secret comes out, wherever it was configured and whatever fails: each failure here says all that it can."""

from __future__ import annotations

import gc
import json
import logging
import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")
pytest.importorskip("mcp")
pytest.importorskip("opentelemetry.sdk")

from cogency_rs import Agent, AnthropicModel, MCPServer, OpenAIModel, PostgreSQL
from cogency_rs.errors import ConfigError, StorageError
from cogency_rs.servers import load_mcp_config
from cogency_rs.telemetry import Telemetry
from cogency_rs.testing import ModelServer, Reply, ScriptedModel, sse
from support import commands
from support.mcp_servers import HERE
from support.ports import free_port
from support.seeded_secrets import Outcome, Seeds
from support.traces import Traces, text_of

pytestmark = pytest.mark.timeout(120)

CLIENT_LOGGERS = ("httpx", "httpx2", "openai", "anthropic", "mcp", "cogency_rs", "asyncio")


@pytest.fixture
def seeds() -> Seeds:
    return Seeds()


@pytest.fixture
def traces() -> Traces:
    return Traces()


@pytest.fixture(autouse=True)
def everything_is_logged(caplog, monkeypatch):
    for name in CLIENT_LOGGERS:
        caplog.set_level(logging.DEBUG, name)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def environment(seeds, monkeypatch) -> None:
    """A secret in each variable that this package or an SDK reads."""
    for name in (
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "OPENAI_WEBHOOK_SECRET",
        "ANTHROPIC_AUTH_TOKEN",
        "PGPASSWORD",
    ):
        monkeypatch.setenv(name, seeds(name))
    monkeypatch.setenv(
        "ANTHROPIC_CUSTOM_HEADERS", f"x-gateway-key: {seeds('ANTHROPIC_CUSTOM_HEADERS')}"
    )
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={seeds('OTLP headers')}")
    proxy = f"http://ada:{seeds.in_url('proxy')}@127.0.0.1:{free_port()}"
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy)


def address(seeds: Seeds, place: str, root: str, path: str = "/mcp") -> str:
    """An address with a secret wherever it can have one."""
    scheme, _, host = root.partition("://")
    user, part, query = (seeds.in_url(f"{place} {each}") for each in ("user", "path", "query"))
    return f"{scheme}://ada:{user}@{host}/{part}{path}?key={query}"


async def come_of(
    agent: Agent[Any, Any], outcome: Outcome, traces: Traces, caplog: Any, text: str = "Hi."
) -> None:
    """Run an agent; take its events, its result or its error, its rows, its spans and the log."""
    try:
        stream = agent.run(text, conversation_id="c")
        async for event in stream:
            outcome.add(event)
        outcome.add(stream.result)
    except Exception as error:
        outcome.add(error)
    outcome.add(*(await agent.storage.read("c")).rows, *(await agent.storage.calls("c")))
    outcome.add(agent, text_of(traces), *map(logging.Formatter().format, caplog.records))


# Models


def nowhere(_: Seeds) -> str:
    return f"http://127.0.0.1:{free_port()}"


MODELS: dict[str, Callable[..., Any]] = {"openai": OpenAIModel, "anthropic": AnthropicModel}


def model_at(provider: str, seeds: Seeds, root: str, **options: Any) -> Any:
    """A model with a secret in each of its options."""
    return MODELS[provider](
        "m",
        base_url=address(seeds, "model", root, "/v1" if provider == "openai" else ""),
        api_key=seeds("api_key"),
        extra_headers={"x-team-key": seeds("extra_headers")},
        extra_query={"token": seeds("extra_query")},
        extra_body={"routing": {"api_key": seeds("extra_body")}},
        **{"max_retries": 0, **options},
    )


NOT_SENT = {
    "openai": ("ANTHROPIC", "OPENAI_WEBHOOK_SECRET", "PG", "OTLP"),
    "anthropic": ("OPENAI", "ANTHROPIC", "PG", "OTLP"),
}
"""The variables of which a service is sent nothing, so that it cannot repeat them."""


def error_of(message: str, status: int) -> Callable[[], Reply]:
    return lambda: Reply({"type": "error", "error": {"message": message, "type": "odd"}}, status)


def replies(echo: str) -> dict[str, Callable[[], Reply]]:
    """What a careless service answers."""
    broken = {"type": "error", "error": {"message": echo, "type": "api_error"}}
    return {
        "401": error_of(echo, 401),
        "404": error_of(echo, 404),
        "429": error_of(echo, 429),
        "500": error_of(echo, 500),
        "a long one": error_of("x" * 280 + echo, 400),
        "a page": lambda: Reply([f"<html>{echo}</html>".encode()], 502),
        "a redirect": lambda: Reply([], 302, {"location": f"http://127.0.0.1:1/?{echo[:60]}"}),
        "in a stream": lambda: Reply([sse(broken, "error")]),
        "a page with 200": lambda: Reply(
            [f"<html>{'x' * 60}{echo}</html>".encode()], 200, {"content-type": "text/html"}
        ),
        "an error with 200": lambda: Reply(broken),
        "JSON with 200": lambda: Reply({"answer": echo}),
        "not JSON in a stream": lambda: Reply([sse(f"{{{echo}")]),
    }


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("kind", replies(""))
@pytest.mark.usefixtures("environment")
async def test_a_service_that_repeats_what_it_was_sent(seeds, traces, caplog, provider, kind):
    outcome = Outcome()
    async with ModelServer() as server:
        async with model_at(provider, seeds, server.url) as model:
            server.replies += [
                replies(seeds.echo(*NOT_SENT[provider]))[kind]()
            ] * 2  # the second answers what models there are
            agent = Agent(model, telemetry=Telemetry(traces.provider, capture_content=True))
            await come_of(agent, outcome, traces, caplog)
            outcome.add(model)
        server.replies.clear()
    assert seeds.found_in(str(outcome)) == []
    assert "Error" in str(outcome)


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("failure", ["refused", "no such host", "not TLS", "too slow"])
@pytest.mark.usefixtures("environment")
async def test_a_service_that_cannot_be_reached(seeds, traces, caplog, provider, failure):
    outcome = Outcome()
    # The system takes connections for the silent one.
    async with ModelServer([Reply([])]) as server:
        silent = socket.create_server(("127.0.0.1", 0))
        root, options = {
            "refused": (nowhere(seeds), {}),
            "no such host": ("http://nowhere.invalid", {}),
            "not TLS": (server.url.replace("http:", "https:"), {}),
            "too slow": (f"http://127.0.0.1:{silent.getsockname()[1]}", {"timeout": 0.05}),
        }[failure]
        async with model_at(provider, seeds, root, **options) as model:
            agent = Agent(model, telemetry=Telemetry(traces.provider, capture_content=True))
            await come_of(agent, outcome, traces, caplog)
        silent.close()
        server.replies.clear()
    assert seeds.found_in(str(outcome)) == []
    assert "LLMError" in str(outcome)


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.usefixtures("environment")
async def test_a_client_of_the_callers_own(seeds, traces, caplog, provider):
    import anthropic
    import openai

    outcome = Outcome()
    make: Any = {"openai": openai.AsyncOpenAI, "anthropic": anthropic.AsyncAnthropic}[provider]
    async with ModelServer() as server:
        client = make(
            base_url=address(seeds, "client", server.url),
            api_key=seeds("client's key"),
            default_headers={"x-team-key": seeds("default_headers")},
            default_query={"token": seeds("default_query")},
            max_retries=0,
        )
        server.replies.append(error_of(seeds.echo(*NOT_SENT[provider]), 400)())
        agent = Agent(
            MODELS[provider]("m", client=client),
            telemetry=Telemetry(traces.provider, capture_content=True),
        )
        await come_of(agent, outcome, traces, caplog)
        await client.close()
    assert seeds.found_in(str(outcome)) == []
    assert "refused the request (400: " in str(outcome)


@pytest.mark.parametrize("provider", MODELS)
def test_a_model_that_cannot_be_made(seeds, monkeypatch, provider):
    outcome = Outcome()
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    for base_url in (
        seeds("key as address"),
        f"ftp://{seeds('ftp')}",
        f"http://ada:{seeds('unquoted')}@host/v1",
        f"http://ada:s3cret{seeds('port')}/x@host",
        address(seeds, "model", "https://a.example"),  # it lacks a key
    ):
        with pytest.raises(ConfigError) as raised:
            MODELS[provider]("m", base_url=base_url)
        outcome.add(raised.value)
    proxy = f"odd://ada:{seeds.in_url('odd proxy')}@proxy"
    monkeypatch.setenv("ALL_PROXY", proxy)
    for options in ({}, {"proxy": proxy}):
        with pytest.raises(ConfigError, match="is not the address of a proxy") as raised:
            MODELS[provider]("m", api_key=seeds("api_key"), **options)
        outcome.add(raised.value)
    assert seeds.found_in(str(outcome)) == []


# MCP servers


async def of_calls(
    server: MCPServer, names: list[str], outcome: Outcome, traces: Traces, caplog: Any
) -> None:
    """An agent calls tools of a server. What its model is sent counts, too."""
    calls = [[{"name": name, "args": {}}] for name in names]
    model = ScriptedModel([*(f"<execute>{json.dumps(call)}</execute>" for call in calls), "Done."])
    agent = Agent(
        model,
        tools=[server],
        telemetry=Telemetry(traces.provider, capture_content=True),
    )
    await come_of(agent, outcome, traces, caplog)
    outcome.add(server, *model.requests)


def over_stdio(seeds: Seeds, habit: str, *tools: str, **options: Any) -> MCPServer:
    """A server with a secret in each argument and variable."""
    return MCPServer.stdio(
        *(sys.executable, "-I", "-S", str(HERE / "mcp_small.py"), habit, *tools, "--"),
        *(
            "--api-key",
            seeds("argument"),
            f"--token={seeds('option')}",
            f"-p{seeds('short option')}",
        ),
        f"postgresql://ada:{seeds.in_url('address in an argument')}@db/notes",
        env={
            "NOTES_TOKEN": seeds("environment"),
            "NOTES": seeds("plain environment"),
            "PEM": f"-----BEGIN-----\n{seeds('line')}\n-----END-----",
        },
        approve="never",
        **options,
    )


LEAKS = ["leak", "leak_refuse", "leak_die"]


async def test_a_server_that_shows_its_arguments_and_its_environment(seeds, traces, caplog):
    outcome = Outcome()
    await of_calls(over_stdio(seeds, "plain", *LEAKS), LEAKS, outcome, traces, caplog)
    assert seeds.found_in(str(outcome)) == []
    for words in (
        "refused 'leak_refuse': ",
        "its last output: ",
        "[environment variable NOTES_TOKEN]",
    ):
        assert words in str(outcome)


async def test_a_server_that_ends_at_its_start_and_shows_them(seeds, traces, caplog):
    outcome = Outcome()
    await of_calls(over_stdio(seeds, "leaky"), [], outcome, traces, caplog)
    assert seeds.found_in(str(outcome)) == []
    assert "ended before it answered; its last output: " in str(outcome)
    assert "[environment variable NOTES_TOKEN]" in str(outcome)


async def test_a_long_line_of_a_server_s_standard_error_is_not_cut_inside_a_secret(
    seeds, caplog, tmp_path
):
    program = tmp_path / "program.py"
    for before in range(1970, 2010, 3):
        program.write_text(
            f"import os, sys; sys.exit({'x' * before!r} + os.environ['TOKEN'] + 'y' * 5000)"
        )
        server = MCPServer.stdio(sys.executable, str(program), env={"TOKEN": seeds("token")})
        with pytest.raises(ConfigError) as raised:
            await server.__aenter__()
        outcome = Outcome()
        outcome.add(raised.value, *map(logging.Formatter().format, caplog.records))
        assert seeds.found_in(str(outcome)) == []
        caplog.clear()


def over_http(seeds: Seeds, root: str) -> MCPServer:
    """A server with a secret in each part of its address and in its headers."""
    headers = {"Authorization": f"Bearer {seeds('bearer')}", "X-Team": seeds("header")}
    return MCPServer.http(
        address(seeds, "server", root), headers=headers, start_timeout=20, approve="never"
    )


@pytest.mark.parametrize("kind", replies(""))
@pytest.mark.usefixtures("environment")
async def test_a_server_over_http_that_repeats_what_it_was_sent(seeds, traces, caplog, kind):
    outcome = Outcome()
    async with ModelServer() as web:
        server = over_http(seeds, web.url)
        web.replies += [
            replies(seeds.echo("OPENAI", "ANTHROPIC", "PG", "OTLP"))[kind]() for _ in range(4)
        ]
        await of_calls(server, [], outcome, traces, caplog)
        web.replies.clear()
    assert seeds.found_in(str(outcome)) == []
    assert "could not be started: http://127.0.0.1:" in str(outcome)


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # an HTTP client leaves a socket
@pytest.mark.parametrize("failure", ["refused", "no such host", "not TLS"])
@pytest.mark.usefixtures("environment")
async def test_a_server_over_http_that_cannot_be_reached(seeds, traces, caplog, failure):
    outcome = Outcome()
    async with ModelServer() as web:
        root = {
            "refused": nowhere(seeds),
            "no such host": "http://nowhere.invalid",
            "not TLS": web.url.replace("http:", "https:"),
        }[failure]
        await of_calls(over_http(seeds, root), [], outcome, traces, caplog)
    gc.collect()  # the socket that is left after a failure of TLS
    assert seeds.found_in(str(outcome)) == []
    assert "could not be started" in str(outcome)


@pytest.mark.parametrize(
    "content",
    [
        '{{"mcpServers": {{"a": {{"command": "x", "env": {{"K": "{0}"}}',
        '{{"mcpServers": "{0}"}}',
        '{{"mcpServers": {{"a": "{0}"}}}}',
        '{{"mcpServers": {{"a": {{"command": ["{0}"]}}}}}}',
        '{{"mcpServers": {{"a": {{"command": "x", "args": "{0}"}}}}}}',
        '{{"mcpServers": {{"a": {{"command": "x", "args": [["{0}"]]}}}}}}',
        '{{"mcpServers": {{"a": {{"command": "x", "env": ["{0}"]}}}}}}',
        '{{"mcpServers": {{"a": {{"command": "x", "env": {{"K": ["{0}"]}}}}}}}}',
        '{{"mcpServers": {{"a": {{"url": "{0}"}}}}}}',
        '{{"mcpServers": {{"a": {{"url": "${{SECRET}}"}}}}}}',
        '{{"mcpServers": {{"a": {{"url": "http://ada:{0}@host/mcp"}}}}}}',
        '{{"mcpServers": {{"a": {{"url": "https://a.example", "headers": ["{0}"]}}}}}}',
        '{{"mcpServers": {{"a": {{"command": "${{SECRET}}", "env": {{"K": "${{MISSING}}"}}}}}}}}',
        "\xff{0}",
    ],
)
def test_a_file_of_servers_that_cannot_be_used(seeds, tmp_path, content):
    path = tmp_path / "mcp.json"
    path.write_bytes(content.format(seeds("file")).encode("latin-1"))
    with pytest.raises(ConfigError) as raised:
        load_mcp_config(path, environment={"SECRET": seeds("variable")})
    outcome = Outcome()
    outcome.add(raised.value)
    assert seeds.found_in(str(outcome)) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda secret: MCPServer.stdio("x", env={"K": [secret]}),
        lambda secret: MCPServer.stdio("x", env={"K": secret, 5: secret}),
        lambda secret: MCPServer.stdio("x", "--key", [secret]),
        lambda secret: MCPServer.http(secret),
        lambda secret: MCPServer.http("https://a.example", headers={"K": [secret]}),
    ],
)
def test_a_server_that_is_made_wrongly(seeds, make):
    with pytest.raises(ConfigError) as raised:
        make(seeds("option"))
    outcome = Outcome()
    outcome.add(raised.value)
    assert seeds.found_in(str(outcome)) == []


# Databases and clusters


DSNS = {
    "a password": "postgresql://ada:{0}@127.0.0.1:{port}/notes",
    "a query": "postgresql://127.0.0.1:{port}/notes?user=ada&password={0}",
    "an @ in the password": "postgresql://ada:p@{0}@127.0.0.1:{port}/notes",
    "no such host": "postgresql://ada:{0}@nowhere.invalid:{port}/notes",
}
WRONG_DSNS = {
    "keywords": "host=127.0.0.1 port={port} user=ada password={0}",
    "one slash": "postgresql:/ada:{0}@127.0.0.1:{port}/notes",
    "no port": "postgresql://ada:x/{0}@127.0.0.1/notes",
}


def dsn_of(template: str, seeds: Seeds) -> str:
    return template.format(seeds.in_url("password"), port=free_port())


@pytest.mark.parametrize("kind", DSNS)
@pytest.mark.usefixtures("environment")
async def test_a_database_that_cannot_be_reached(seeds, caplog, kind):
    pytest.importorskip("asyncpg")
    outcome = Outcome()
    async with PostgreSQL(dsn_of(DSNS[kind], seeds)) as log:
        outcome.add(log, log.place)
        agent = Agent(ScriptedModel(["Hi."]), storage=log)
        with pytest.raises(StorageError) as raised:
            await agent.run("Hi.")
        outcome.add(raised.value, *map(logging.Formatter().format, caplog.records))
    assert seeds.found_in(str(outcome)) == []


@pytest.mark.parametrize("kind", WRONG_DSNS)
def test_text_that_is_not_the_address_of_a_database(seeds, kind):
    pytest.importorskip("asyncpg")
    with pytest.raises(ConfigError) as raised:
        PostgreSQL(dsn_of(WRONG_DSNS[kind], seeds))
    outcome = Outcome()
    outcome.add(raised.value)
    assert seeds.found_in(str(outcome)) == []


@pytest.mark.parametrize(
    "address", ["ray://ada:{0}@127.0.0.1:1", "{0}@127.0.0.1:1", "ray://127.0.0.1:1?token={0}"]
)
def test_text_that_is_not_the_address_of_a_cluster(seeds, address):
    pytest.importorskip("ray")
    from cogency_rs.executors.ray import RayExecutor

    with pytest.raises(ConfigError) as raised:
        RayExecutor(address.format(seeds.in_url("cluster")))
    outcome = Outcome()
    outcome.add(raised.value)
    assert seeds.found_in(str(outcome)) == []


# The command line


@pytest.mark.parametrize("kind", {**DSNS, **WRONG_DSNS})
@pytest.mark.parametrize(
    "command",
    [
        ["show", "DSN"],
        ["doctor", "--db", "DSN"],
        ["copy", "DSN", "copied.db"],
        ["ask", "Hi.", "--model", "m", "--db", "DSN"],
    ],
    ids=lambda command: command[0],
)
def test_commands_that_are_given_the_address_of_a_database(seeds, tmp_path, command, kind):
    dsn = dsn_of((DSNS | WRONG_DSNS)[kind], seeds)
    ended = commands.run(
        *[dsn if each == "DSN" else each for each in command],
        cwd=tmp_path,
        OPENAI_API_KEY=seeds("OPENAI_API_KEY"),
    )
    assert ended.code in (1, 2)
    assert seeds.found_in(ended.out + ended.err) == []


def test_a_question_to_a_model_and_with_servers_that_cannot_be_reached(seeds, tmp_path):
    root = nowhere(seeds)
    entry = {"url": address(seeds, "server", root), "headers": {"Authorization": "B ${SECRET}"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"a": entry}}))
    model = ["--model", "m", "--base-url", address(seeds, "model", root, "/v1")]
    given = {"OPENAI_API_KEY": seeds("OPENAI_API_KEY"), "SECRET": seeds("SECRET")}
    for args in ([], ["--mcp", "mcp.json"]):
        ended = commands.run("ask", "Hi.", *model, *args, cwd=tmp_path, **given)
        assert ended.code in (1, 2)
        assert seeds.found_in(ended.out + ended.err) == []
