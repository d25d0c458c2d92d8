"""MCP servers that cannot be started, never answer, end early or break the protocol; callers that are cancelled."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from cogency_rs import Execution, MCPServer, ToolCall
from cogency_rs.errors import ConfigError, ToolError
from cogency_rs.execution import execute_calls
from support.mcp_servers import HERE, is_running, listening, small
from support.ports import free_port
from support.waiting import until

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs the processes of POSIX")


async def call(server: MCPServer, *names: str) -> list[Any]:
    tools = await server.tools()
    return await execute_calls([ToolCall(n, {}) for n in names], execution=Execution(tools=tools))


async def process_of(server: MCPServer, tool: str = "a") -> int:
    """The id of the process that answers a call."""
    result = await server.call(tool, {})
    return int(json.loads(result.content)["process"])


async def until_ended(process: int) -> None:
    await until(lambda: not is_running(process), "the server does not end")


# Starts


def unused_address() -> str:
    return f"http://127.0.0.1:{free_port()}/mcp"


@pytest.mark.parametrize(
    ("server", "words"),
    [
        pytest.param(
            lambda: MCPServer.stdio("no-such-program", name="files"),
            "server 'files' could not be started: there is no program 'no-such-program' on PATH; "
            "install it, or give the path of the program",
            id="unknown program",
        ),
        pytest.param(
            lambda: MCPServer.stdio(sys.executable, cwd="/no/such/folder", name="files"),
            "server 'files' could not be started: its folder '/no/such/folder' does not exist",
            id="unknown folder",
        ),
        pytest.param(
            lambda: small(habit="broken", name="files"),
            f"server 'files' could not be started: {sys.executable!r} ended before it answered; "
            "its last output: no module named tools",
            id="ends at once",
        ),
        pytest.param(
            lambda: small(habit="mute", name="files", start_timeout=0.2),
            f"server 'files' could not be started: {sys.executable!r} did not answer within 0.2 s; "
            "is it an MCP server?",
            id="never answers",
        ),
        pytest.param(
            lambda: MCPServer.http(unused_address(), name="files"),
            "did not answer as an MCP server does: All connection attempts failed",
            id="nothing listens",
        ),
    ],
)
async def test_a_server_that_cannot_be_started_says_why_in_one_line(server, words):
    with pytest.raises(ConfigError) as raised:
        async with server():
            pytest.fail("the server started")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_a_server_that_does_not_speak_mcp_is_recognized():
    with listening(sys.executable, "-m", "http.server", "PORT", "--bind", "127.0.0.1") as (url, _):
        server = MCPServer.http(url)
        with pytest.raises(ConfigError, match="did not answer as an MCP server does"):
            await server.__aenter__()


@pytest.mark.parametrize("habit", ["shy", "noisy"])
async def test_a_server_with_a_bad_habit_can_still_be_used(habit):
    async with small("a", habit=habit) as server:
        [execution] = await call(server, "a")
    assert execution.status == "success"


@POSIX
async def test_a_start_that_is_cancelled_leaves_no_process(tmp_path):
    note = tmp_path / "process"
    program = f"import os, sys; open({str(note)!r}, 'w').write(str(os.getpid())); sys.stdin.read()"
    server = MCPServer.stdio(sys.executable, "-c", program)
    start = asyncio.create_task(server.__aenter__())
    await until(lambda: note.exists() and note.read_text(), "the program does not start")
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not is_running(int(note.read_text()))


@pytest.mark.parametrize("rounds", range(1, 12))
def test_a_start_may_be_cancelled_in_any_round_of_the_loop(rounds):
    async def start_and_cancel() -> None:
        start = asyncio.create_task(small("a").__aenter__())
        for _ in range(rounds):
            await asyncio.sleep(0)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start

    asyncio.run(start_and_cancel())
    gc.collect()  # so that Python warns now of a process or a pipe that is left


async def test_one_of_two_callers_that_wait_for_a_start_may_be_cancelled():
    server = small("a")
    first, second = (asyncio.create_task(server.__aenter__()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second is server
    with pytest.raises(asyncio.CancelledError):
        await first
    assert [each.status for each in await call(server, "a")] == ["success"]
    await server.__aexit__(None, None, None)


# Ends


async def test_a_server_that_ends_during_a_call_leaves_the_outcome_unknown_and_is_started_again():
    async with small("a", "die", name="files") as server:
        first = await process_of(server)
        [execution] = await call(server, "die")
        assert execution.status == "unknown"
        assert execution.error == (
            "Tool execution failed: server 'files' ended before it answered 'die', "
            "so whether the call had an effect is not known"
        )
        [after] = await call(server, "a")
        assert after.status == "success"
        assert json.loads(after.value)["process"] != first


async def test_the_last_words_of_a_server_that_ends_in_a_call_are_in_the_error_of_the_call():
    async with small("cry", name="notes") as server:
        [execution] = await call(server, "cry")
    assert execution.status == "unknown"
    assert execution.error == (
        "Tool execution failed: server 'notes' ended before it answered 'cry', so whether the call had an effect is "
        "not known; its last output: connecting | no such table: notes | node v20"
    )


@POSIX
async def test_a_server_that_ended_between_calls_is_started_again_and_no_call_is_lost():
    async with small("a") as server:
        first = await process_of(server)
        os.kill(first, signal.SIGTERM)
        await until_ended(first)
        await until(
            lambda: server._connection is None or server._connection.is_over,
            "the end of its pipe is not read",
        )
        assert await process_of(server) != first


async def test_a_server_that_cannot_be_started_again_fails_its_calls_and_says_that_they_were_not_made(
    tmp_path,
):
    copy = tmp_path / "server.py"
    copy.write_text((HERE / "mcp_small.py").read_text())
    async with MCPServer.stdio(sys.executable, "-IS", str(copy), "plain", "die") as server:
        [die] = await server.tools()
        with pytest.raises(ToolError, match="whether the call had an effect is not known"):
            await die.execute()
        copy.unlink()
        with pytest.raises(
            ToolError, match=r"'die' was not called: server .* could not be started"
        ):
            await die.execute()


@POSIX
async def test_leaving_a_server_ends_its_process():
    async with small("a") as server:
        process = await process_of(server)
        assert is_running(process)
    assert not is_running(process)


async def test_a_server_may_be_closed_by_another_task_while_a_call_waits():
    server = small("a", "hang")
    await server.__aenter__()
    waiting = asyncio.create_task(server.call("hang", {}))
    await asyncio.create_task(server.call("a", {}))  # its answer shows that the server has both
    await asyncio.create_task(server.__aexit__(None, None, None))
    with pytest.raises(ToolError, match="whether the call had an effect is not known"):
        await waiting


async def test_a_server_that_is_used_outside_its_context_says_how_to_use_it():
    server = small("a", name="files")
    with pytest.raises(ConfigError, match="'files' is not running: use it inside `async with`"):
        await server.tools()
    async with server:
        [tool] = await server.tools()
    with pytest.raises(ToolError, match="'a' was not called: server 'files' is not running"):
        await tool.execute()


def test_a_server_whose_loop_is_gone_starts_again_in_the_next_loop():
    server = small("a")

    async def enter() -> None:
        await server.__aenter__()

    async def use() -> str:
        async with server:
            return (await server.tools())[0].name

    asyncio.run(enter())
    assert asyncio.run(use()) == "a"
    assert asyncio.run(use()) == "a"


async def test_a_server_that_is_used_in_another_loop_says_so():
    async with small("a", name="files") as server:

        def use_in_another_loop() -> str:
            with pytest.raises(ConfigError) as raised:
                asyncio.run(server.tools())
            return str(raised.value)

        message = await asyncio.to_thread(use_in_another_loop)
    assert message == "server 'files' runs in another event loop: make one for each loop"


async def test_a_server_over_http_that_ends_and_comes_back_is_used_again():
    port = free_port()
    with listening(sys.executable, str(HERE / "mcp_program.py"), "PORT", port=port) as (
        url,
        process,
    ):
        server = MCPServer.http(url)
        await server.__aenter__()
        add = {"a": 1, "b": 2}
        assert (await server.call("add", add)).content == 3
        process.kill()
        process.wait()
        with pytest.raises(ToolError):
            await server.call("add", add)
        with pytest.raises(
            ToolError, match=r"'add' was not called: server .* could not be started"
        ):
            await server.call("add", add)
    with listening(sys.executable, str(HERE / "mcp_program.py"), "PORT", port=port):
        assert (await server.call("add", add)).content == 3
        await server.__aexit__(None, None, None)


# What is sent to a server


async def test_a_server_gets_the_models_arguments_and_nothing_else():
    async with small("a") as server:
        [tool] = await server.tools()
        calls = [ToolCall("a", {"x": 1, "user_id": "mine"})]
        execution = Execution(tools=[tool], storage=object(), deps=object())
        [record] = await execute_calls(
            calls, execution=execution, user_id="ada", conversation_id="c"
        )
        assert json.loads(record.value)["arguments"] == {"x": 1, "user_id": "mine"}
        given = {"storage": object(), "user_id": "ada", "sandbox_dir": ".", "access": "system"}
        result = await tool.execute(x=1, **given)
        assert json.loads(result.content)["arguments"] == {"x": 1}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "Out of range float values are not JSON compliant"),
        ("\ud800", r"'\ud800' is not a character"),
        (object(), "Object of type object is not JSON serializable"),
    ],
)
async def test_arguments_that_cannot_be_sent_fail_their_call_and_the_server_goes_on(value, words):
    async with small("a") as server:
        process = await process_of(server)
        [tool] = await server.tools()
        with pytest.raises(ToolError) as raised:
            await tool.execute(x=[value])
        assert f"'a' was not called: its arguments cannot be sent: {words}" in str(raised.value)
        assert raised.value.validation_failed
        assert await process_of(server) == process


async def test_a_server_gets_the_variables_it_is_given_and_none_of_the_programs_secrets(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    note = tmp_path / "environment"
    program = f"import os; open({str(note)!r}, 'w').write(repr(dict(os.environ)))"
    with pytest.raises(ConfigError):
        async with MCPServer.stdio(sys.executable, "-c", program, env={"MODE": "test"}):
            pass
    environment = note.read_text()
    assert "'MODE': 'test'" in environment
    assert "s3cret" not in environment


def test_without_the_package_mcp_the_error_says_what_to_install():
    program = """
import asyncio, sys
sys.modules["mcp"] = None
from cogency_rs import MCPServer
from cogency_rs.errors import ConfigError
async def main():
    try:
        await MCPServer.stdio("x").__aenter__()
    except ConfigError as error:
        print(error)
asyncio.run(main())
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == (
        "servers need the package mcp, and mcp is not installed; "
        "run: pip install 'cogency-rs[mcp]'\n"
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MCPServer.stdio(""), "a command and its arguments are texts"),
        (lambda: MCPServer.stdio("x", 1), "a command and its arguments are texts"),  # type: ignore[arg-type]
        (lambda: MCPServer.stdio("x", timeout=0), "timeout must be above 0 seconds"),
        (lambda: MCPServer.stdio("x", start_timeout=-1), "start_timeout must be above 0 seconds"),
        (lambda: MCPServer.http("localhost:8000"), "begin with http:// or https:// and a host"),
        (lambda: MCPServer.http("http://"), "begin with http:// or https:// and a host"),
    ],
)
def test_options_that_cannot_describe_a_server_are_refused(make, words):
    with pytest.raises(ConfigError) as raised:
        make()
    assert words in str(raised.value)


def test_a_server_s_repr_shows_neither_headers_nor_arguments():
    servers = [
        MCPServer.http("https://a.example/mcp", headers={"Authorization": "s3cret"}),
        MCPServer.stdio("x", "--key=s3cret", env={"KEY": "s3cret"}),
    ]
    assert "s3cret" not in repr(servers)
