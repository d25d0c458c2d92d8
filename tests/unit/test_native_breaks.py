"""Answers with the provider's own calls that break off, over both SDKs: a call that was cut is never run.

An answer is cut after each of its pieces and in the middle of each, by the end of the body and of the connection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")

from cogency_rs import Agent, tool
from cogency_rs.errors import LLMError
from cogency_rs.testing import Reply
from support import anthropic_served, openai_served
from support.anthropic_served import end, start, text, thinking, tool_use
from support.openai_served import DONE, STOP, call, calls, delta, usage

anthropic_environment = anthropic_served.plain_environment
openai_environment = openai_served.plain_environment


@dataclass(frozen=True)
class Provider:
    """A provider, and how its server answers.

    Attributes:
        served: starts a server with these replies, and a model that asks it.
        calling: a whole answer: reasoning, text, two calls, and how it ends.
        open: how many pieces of `calling` come before the one that says why it ended.
        answering: an answer that is text.
        cut: an answer that reached its limit in the middle of a call.
        refusing: an answer with a call that the provider then takes back.
    """

    served: Callable[..., Any]
    calling: Sequence[bytes]
    open: int
    answering: Sequence[bytes]
    cut: Sequence[bytes]
    refusing: Sequence[bytes]


OPENAI = Provider(
    openai_served.served,
    (
        delta(role="assistant", reasoning_content="Both, "),
        delta(reasoning_content="then."),
        delta(content="I add "),
        delta(content="twice."),
        calls(call(0, "call_1", name="add", arguments="")),
        calls(call(0, arguments='{"a": 1, ')),
        calls(call(0, arguments='"b": 2}')),
        calls(call(1, "call_2", name="add", arguments='{"a": 3, "b": 4}')),
        delta("tool_calls"),
        usage(prompt_tokens=9, completion_tokens=4, total_tokens=13),
        DONE,
    ),
    8,
    (delta(content="3 and 7."), STOP, DONE),
    (calls(call(0, "call_1", name="add", arguments='{"a": 1, ')), delta("length"), DONE),
    (
        calls(call(0, "call_1", name="add", arguments='{"a": 1, "b": 2}')),
        delta("content_filter"),
        DONE,
    ),
)
_THINKS = [*thinking(0, "c2ln", "Both, ", "then."), *text(1, "I add ", "twice.")]
_CALLS = [
    *tool_use(2, "toolu_1", '{"a": 1, ', '"b": 2}'),
    *tool_use(3, "toolu_2", '{"a": 3, "b": 4}'),
]
ANTHROPIC = Provider(
    anthropic_served.served,
    (start(), *_THINKS, *_CALLS, *end("tool_use")),
    1 + len(_THINKS) + len(_CALLS),
    (start(), *text(0, "3 and 7."), *end()),
    (start(), *tool_use(0, "toolu_1", '{"a": 1, ')[:-1], *end("max_tokens")),
    (start(), *tool_use(0, "toolu_1", '{"a": 1, "b": 2}'), *end("refusal")),
)

providers = pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])


@pytest.fixture
def ran() -> list[tuple[int, int]]:
    """The calls that were run."""
    return []


@pytest.fixture
def agent_for(ran) -> Callable[[Any], Agent[Any, str]]:
    """Makes an agent whose tool notes its calls."""

    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        ran.append((a, b))
        return a + b

    return lambda model: Agent(model, tools=[add], driver="native")


@providers
async def test_a_whole_answer_runs_all_of_its_calls(provider, agent_for, ran):
    replies = Reply(provider.calling), Reply(provider.answering)
    async with provider.served(*replies) as (server, model):
        result = await agent_for(model).run("?")
    assert result.output == "3 and 7."
    assert result.steps[0].thoughts == "Both, then."
    assert sorted(ran) == [(1, 2), (3, 4)]
    assert len(server.requests) == 2


def cuts(provider: Provider) -> list[list[bytes]]:
    """The beginnings of an answer, up to the piece that says why it ended."""
    pieces = list(provider.calling[: provider.open])
    after = [pieces[:count] for count in range(len(pieces) + 1)]
    inside = [[*pieces[:at], piece[: len(piece) // 2]] for at, piece in enumerate(pieces)]
    return [*after, *inside]


@providers
@pytest.mark.parametrize("ending", ["complete", "dropped"])
async def test_no_call_of_an_answer_that_breaks_off_is_run_and_the_request_is_not_repeated(
    provider, ending, agent_for, ran
):
    for pieces in cuts(provider):
        retries = 2 if len(pieces) > 3 else 0  # as soon as something of the answer was read
        reply = Reply(pieces, ending=ending)
        async with provider.served(reply, max_retries=retries) as (server, model):
            with pytest.raises(LLMError, match=r"broke off .*incomplete, so try again"):
                await agent_for(model).run("?")
            assert (ran, len(server.requests)) == ([], 1), pieces


@providers
async def test_a_connection_that_drops_after_the_reason_loses_nothing(provider, agent_for, ran):
    whole = Reply(provider.calling[: provider.open + 1], ending="dropped")
    async with provider.served(whole, Reply(provider.answering)) as (_, model):
        assert (await agent_for(model).run("?")).output == "3 and 7."
    assert sorted(ran) == [(1, 2), (3, 4)]


@providers
async def test_a_call_that_was_cut_by_a_token_limit_is_not_run_and_the_model_is_told(
    provider, agent_for, ran
):
    replies = Reply(provider.cut), Reply(provider.answering)
    async with provider.served(*replies) as (server, model):
        result = await agent_for(model).run("?")
    assert (ran, result.output) == ([], "3 and 7.")
    assert [str(step.outcome) for step in result.steps] == ["truncated", "answered"]
    assert result.steps[0].finish_reason == "length"
    assert len(server.requests[1].body["messages"]) > len(server.requests[0].body["messages"])


@providers
async def test_a_call_is_not_run_if_the_provider_refuses_to_answer_after_it(
    provider, agent_for, ran
):
    async with provider.served(Reply(provider.refusing)) as (_, model):
        result = await agent_for(model).run("?")
    assert (ran, result.status) == ([], "stopped")
    assert result.stop is not None
    assert str(result.stop.reason) == "refused"


@providers
@pytest.mark.parametrize("status", [429, 500])
async def test_a_service_that_is_busy_between_two_steps_is_asked_again_and_no_call_is_run_twice(
    provider, status, agent_for, ran
):
    busy = Reply({"error": {"message": "busy"}}, status, {"retry-after": "0"})
    replies = Reply(provider.calling), busy, Reply(provider.answering)
    async with provider.served(*replies, max_retries=1) as (server, model):
        result = await agent_for(model).run("?")
    assert result.output == "3 and 7."
    assert sorted(ran) == [(1, 2), (3, 4)]
    assert server.requests[1].body == server.requests[2].body


def unmarked(value: Any) -> Any:
    """Messages as a provider's cache knows them: without marks, and with a text as the block that it is short for."""
    match value:
        case {"role": str(role), "content": str(text)} if len(value) == 2:
            return {"role": role, "content": [{"type": "text", "text": text}]}
        case dict():
            return {key: unmarked(each) for key, each in value.items() if key != "cache_control"}
        case list():
            return [unmarked(each) for each in value]
        case _:
            return value


@providers
async def test_each_request_of_a_run_with_parallel_calls_begins_with_the_one_before(
    provider, agent_for, ran
):
    turns = [Reply(provider.calling), Reply(provider.calling), Reply(provider.answering)] * 2
    async with provider.served(*turns) as (server, model), agent_for(model) as agent:
        for _ in range(2):
            result = await agent.run("?", conversation_id="c")
            assert (len(result.steps), result.output) == (3, "3 and 7.")
    assert len(ran) == 8
    bodies = [unmarked(sent.body["messages"]) for sent in server.requests]
    for first, second in [(0, 1), (1, 2), (3, 4), (4, 5)]:
        assert bodies[second][: len(bodies[first])] == bodies[first]
        assert len(bodies[second]) > len(bodies[first])
