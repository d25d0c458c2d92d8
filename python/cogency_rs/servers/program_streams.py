"""A program as an MCP server: it is started here, and has a message on each line of its standard input and output.

The SDK's own transport keeps a line of any length, at a cost that is quadratic in it. Here a line has a bound, the cost
is linear, and a program that goes beyond the bound is ended without being asked.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TextIO

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from .answers import Answers, MessageSize

logger: logging.Logger = logging.getLogger(__name__)

Streams = tuple[Any, Any]
"""What the SDK reads from and what it writes to."""

GRACE = 2.0
"""Seconds that a program has to end after its input has; and as many after it was asked to, before it is killed."""

FLUSH = 0.5
"""Seconds for messages that are on their way to the program when it is closed."""

LOOK_AGAIN = 0.01
"""Seconds between two looks whether a program has ended: to wait for it would also wait for who has its pipes."""

_GONE = (
    anyio.EndOfStream,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    OSError,
)


@asynccontextmanager
async def program_streams(
    command: str,
    args: Sequence[str],
    env: Mapping[str, str],
    cwd: str | None,
    errors: TextIO,
    answers: Answers,
) -> AsyncGenerator[Streams, None]:
    """Start a program; on leaving, it is stopped with all that it started, if need be by force.

    Args:
        command: what to start, found on `PATH`.
        args: its arguments.
        env: environment variables besides those that every program gets.
        cwd: the folder to start it in.
        errors: its standard error, closed here once the program has it.
        answers: of the connection; they learn if it sends too much.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    process = await _started(command, args, get_default_environment() | {**env}, cwd, errors)
    errors.close()  # the program holds the only copy now, so the pipe ends with the program
    # Nothing is awaited until the group is entered, since a cancellation there would leave the program running.
    to_client, reading = anyio.create_memory_object_stream[Any](0)
    writing, to_program = anyio.create_memory_object_stream[Any](0)
    written = anyio.Event()

    async def write() -> None:
        try:
            async with to_program:
                async for item in to_program:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(f"{text}\n".encode(errors="replace"))
        except _GONE:
            await to_client.aclose()  # the program may live, but nothing reaches it any longer
        finally:
            written.set()

    async with anyio.create_task_group() as group:
        group.start_soon(_read, process.stdout, to_client, answers)
        group.start_soon(write)
        try:
            yield reading, writing
        finally:
            with anyio.CancelScope(shield=True):
                reading.close()
                writing.close()
                is_polite = answers.is_polite and not answers.broken
                with anyio.move_on_after(FLUSH if is_polite else 0):
                    await written.wait()
                await _stop(process, GRACE if is_polite else 0)
                for stream in (reading, writing, to_client, to_program):
                    await stream.aclose()
            group.cancel_scope.cancel()


async def _read(stdout: Any, to_client: Any, answers: Answers) -> None:
    """Pass each line on as a message, or as the error of one that cannot be read. O(1) for each byte."""
    line, size = bytearray(), MessageSize()
    async with to_client:
        with suppress(*_GONE):
            async for chunk in stdout:
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    line += end
                    if excess := size.excess(end):
                        break
                    size = MessageSize()
                    message = _message(line.decode("utf-8", "replace"))
                    line.clear()
                    if not answers.has_taken(message):
                        await to_client.send(message)
                else:
                    line += rest
                    excess = size.excess(rest)
                if excess:
                    answers.broken = f"it sent a line of {excess}"
                    return
        # A program that writes while it ends must not wait for a pipe that nobody reads.
        with anyio.CancelScope(shield=True), suppress(*_GONE):
            async for _ in stdout:
                pass


def _message(line: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _started(
    command: str, args: Sequence[str], env: dict[str, str], cwd: str | None, errors: TextIO
) -> Any:
    if sys.platform == "win32":
        from mcp.os.win32.utilities import create_windows_process, get_windows_executable_command

        found = await anyio.to_thread.run_sync(
            get_windows_executable_command, command, abandon_on_cancel=True
        )
        return await create_windows_process(found, [*args], env, errors, cwd)
    # In a session of its own, so that what it starts can be ended with it.
    return await anyio.open_process(
        [command, *args], env=env, stderr=errors, cwd=cwd, start_new_session=True
    )


async def _stop(process: Any, grace: float) -> None:
    with suppress(*_GONE):
        await process.stdin.aclose()
    if not await _has_ended(process, grace):
        await _end_all(process)
        if not await _has_ended(process, GRACE):
            logger.warning("process %d of a server is still there after it was killed", process.pid)
    with suppress(*_GONE):
        await process.stdout.aclose()
    # While another process holds an end of a pipe, asyncio would keep its transport, which nothing public closes.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _has_ended(process: Any, seconds: float) -> bool:
    end = anyio.current_time() + seconds
    while process.returncode is None:
        if anyio.current_time() >= end:
            return False
        await anyio.sleep(LOOK_AGAIN)
    return True


async def _end_all(process: Any) -> None:
    """Ask the program and all that it started to end, and kill what does not."""
    if sys.platform == "win32":
        from mcp.os.win32.utilities import terminate_windows_process_tree

        await terminate_windows_process_tree(process)
    else:
        from mcp.os.posix.utilities import terminate_posix_process_tree

        await terminate_posix_process_tree(process, GRACE)
