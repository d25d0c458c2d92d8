"""What an editor knows of the rest: modes, limits, storage, prompts."""

from __future__ import annotations

from typing import Any, assert_type

from cogency_rs import (
    Accumulator,
    CallOptions,
    Execution,
    Parser,
    SQLite,
    ToolCall,
    ToolResult,
    assemble,
    install,
    parse_tokens,
    system_prompt,
)
from cogency_rs.compat.dropin import Installation
from cogency_rs.context import to_messages
from cogency_rs.execution import set_worker_threads, worker_threads
from cogency_rs.protocol import Limits, format_results_array, parse_execute_block, parse_tool_result
from cogency_rs.turn import CircuitBreaker
from cogency_rs.types import MessageMatch


async def a_turn() -> None:
    async with SQLite(":memory:") as storage:
        assert_type(storage, SQLite)
        execution = Execution(storage=storage, tools=[], access="project")
        turn = Accumulator(
            "u", "c", execution=execution, stream="token", calls=CallOptions(timeout=1.5)
        )
        assert_type(turn.circuit_breaker, CircuitBreaker)
        Execution(storage=storage, access="all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        Accumulator("u", "c", execution=execution, stream="tokens")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        Accumulator("u", "c", execution)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        assert_type(await storage.load_messages("c", "u"), list[dict[str, Any]])
        assert_type(await storage.search_messages("tea", "u", None), list[MessageMatch])
        messages = await assemble("u", "c", tools=[], storage=storage)
        assert_type(messages, list[dict[str, Any]])
        assert_type(to_messages(messages), list[dict[str, Any]])


def parsing() -> None:
    assert_type(Limits(max_calls=8).max_calls, int)
    assert_type(parse_execute_block("<execute>[]</execute>"), list[ToolCall])
    assert_type(parse_tool_result("[]"), list[ToolResult])
    assert_type(format_results_array([], []), str)
    Limits(8)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Limits().max_calls = 8  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    Parser(stream="tokens")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Parser().feed(b"text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    parse_tokens(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    parse_tokens(["te", "xt"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def the_rest() -> None:
    assert_type(system_prompt(), str)
    assert_type(worker_threads(), int)
    set_worker_threads("8")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with install(tool_timeout=30) as made:
        assert_type(made, Installation)


class Breaker(CircuitBreaker):
    """May be subclassed; `Parser` may not."""


class Own(Parser):  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    pass
