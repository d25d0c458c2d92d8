"""What a provider wants back with the calls of an answer: the order of its parts, and what only the provider reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, AnthropicModel, Hooks, Memory, SQLite, tool
from cogency_rs.context.rows import read_returned
from cogency_rs.errors import LLMError
from cogency_rs.models import Finish, ModelRequest, OpaqueDelta, ReasoningDelta, TextDelta
from cogency_rs.testing import ModelServer, Reply, ScriptedModel
from support import anthropic_served, openai_served
from support.anthropic_served import end, start, text, thinking, tool_use
from support.native_calls import add, calling, events, last, run
from support.openai_served import DONE, STOP, delta, reply
from support.storages import every_log

__all__ = ["every_log"]

anthropic_environment = anthropic_served.plain_environment
openai_environment = openai_served.plain_environment

SIGNED = {"google": {"thought_signature": "CvcBAb"}}


async def sent_back(*answer: bytes, **options: Any) -> dict[str, Any]:
    """The message that Anthropic's API is sent for this answer."""
    replies = [
        Reply([start(), *answer, *end("tool_use")]),
        Reply([start(), *text(0, "ok"), *end()]),
    ]
    async with anthropic_served.served(*replies) as (server, model):
        await Agent(model, tools=[add], **options).run("?")
    [_, message, *_] = server.requests[1].body["messages"]
    return message


ADDING = json.dumps({"a": 1, "b": 2})


async def test_interleaved_thinking_goes_back_in_its_order() -> None:
    message = await sent_back(
        *thinking(0, "s0", "a"),
        *text(1, "First."),
        *thinking(2, "s2", "b"),
        *tool_use(3, "t3", ADDING),
        *text(4, "Then."),
        *thinking(5, "s5", "c"),
        *tool_use(6, "t6", ADDING),
    )
    said = [
        block.get("text") or block.get("thinking") or block["id"] for block in message["content"]
    ]
    assert said == ["a", "First.", "b", "t3", "Then.", "c", "t6"]
    signatures = [block["signature"] for block in message["content"] if "signature" in block]
    assert signatures == ["s0", "s2", "s5"]


async def test_an_answer_that_a_hook_changed_goes_back_as_the_hook_left_it() -> None:
    class Redact(Hooks):
        async def before_model_request(self, context: Any, request: Any) -> Any:
            for message in request.messages:
                if "tool_calls" in message:
                    message["content"] = "—"
            return request

    message = await sent_back(
        *text(0, "secret"), *thinking(1, "s1", "b"), *tool_use(2, "t2", ADDING), hooks=[Redact()]
    )
    assert "secret" not in json.dumps(message)
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]


@pytest.mark.parametrize("options", [{}, {"extra_fields": True}, {"reasoning_key": "reasoning"}])
async def test_opaque_fields_of_a_call_and_of_an_answer_go_back_with_them(options) -> None:
    call = {
        "index": 0,
        "id": "c",
        "type": "function",
        "function": {"name": "add", "arguments": ADDING},
    }
    pieces = [
        {"type": "reasoning.text", "text": "h", "index": 0},
        {"type": "reasoning.text", "text": "m", "signature": None, "index": 0},
        {"type": "reasoning.text", "signature": "SIG", "index": 0},
        {"type": "reasoning.encrypted", "data": "ENC", "id": "c", "index": 1},
    ]
    first = reply(
        *(delta(reasoning_details=[piece]) for piece in pieces),
        delta(tool_calls=[call | {"extra_content": SIGNED}]),
        delta("tool_calls"),
        DONE,
    )
    async with openai_served.served(first, reply(delta(content="3"), STOP, DONE), **options) as (
        server,
        model,
    ):
        await Agent(model, tools=[add], driver="native").run("?")
    message = server.requests[1].body["messages"][2]
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "text": "hm", "signature": "SIG", "index": 0},
        {"type": "reasoning.encrypted", "data": "ENC", "id": "c", "index": 1},
    ]
    assert message["tool_calls"][0]["extra_content"] == SIGNED
    assert message["content"] is None


def test_opaque_fields_of_another_question_and_what_is_no_json_are_left_out() -> None:
    answer = [
        OpaqueDelta("extra_content", json.dumps(SIGNED), 0),  # of a call that has not begun
        calling(),
        OpaqueDelta("extra_content", "{", 0),
        OpaqueDelta("reasoning_details", "7"),
        Finish("tool_calls"),
    ]
    result, model = run(answer, "3")
    assert result.output == "3"
    [message] = [each for each in last(model) if "tool_calls" in each]
    assert message.get("returned", {}).get("calls", [{}]) == [{}]


def test_opaque_fields_are_no_events() -> None:
    plain = [ReasoningDelta("hm"), TextDelta("Hi"), calling(), Finish("tool_calls")]
    opaque = OpaqueDelta("extra_content", json.dumps(SIGNED), 0)
    with_fields = [plain[0], OpaqueDelta("x", "1"), plain[1], plain[2], opaque, plain[3]]

    def shown(answer: list[Any]) -> list[Any]:
        return [
            (each["type"], each.get("content"))
            for each in events(answer, "3")
            if each["type"] not in ("metric", "call", "result")
        ]

    assert shown(with_fields) == shown(plain)


# After a restart, and in later turns


@tool(requires_approval=True, name="add")
async def add_if_approved(a: int, b: int) -> int:
    """Add."""
    return a + b


async def resumed(model: Any, path: Path) -> None:
    """Let a call wait, and answer it with an agent that knows only the file; the same for a second question."""
    async with SQLite(path) as log:
        agent = Agent(model, tools=[add_if_approved], driver="native", storage=log)
        waiting = await agent.run("?", conversation_id="c")
        [call] = waiting.waiting
    async with SQLite(path) as log:
        agent = Agent(model, tools=[add_if_approved], driver="native", storage=log)
        result = await agent.resume("c", {str(call.id): True})
        assert result.output == "ok"
        await agent.run("And?", conversation_id="c")


async def test_thinking_goes_back_in_its_order_after_a_restart(tmp_path) -> None:
    first = [
        *thinking(0, "s0", "a"),
        *text(1, "First."),
        *thinking(2, "s2", "b"),
        *tool_use(3, "t3", ADDING),
    ]
    replies = [
        Reply([start(), *first, *end("tool_use")]),
        Reply([start(), *text(0, "ok"), *end()]),
        Reply([start(), *text(0, "ok"), *end()]),
    ]
    async with anthropic_served.served(*replies) as (server, model):
        await resumed(model, tmp_path / "log.db")
    answered, later = (request.body["messages"][1]["content"] for request in server.requests[1:])
    kinds = [block["type"] for block in answered]
    assert kinds == ["thinking", "text", "thinking", "tool_use"]
    assert [block.get("signature") for block in answered] == ["s0", None, "s2", None]
    assert [block["type"] for block in later] == ["text", "tool_use"]


async def test_opaque_fields_go_back_after_a_restart_and_in_later_turns(tmp_path) -> None:
    call = openai_served.call(0, "c", name="add", arguments=ADDING)
    detail = {"type": "reasoning.encrypted", "data": "ENC", "id": "c", "index": 0}
    replies = [
        reply(
            delta(reasoning_details=[detail]),
            delta(tool_calls=[call | {"extra_content": SIGNED}]),
            delta("tool_calls"),
            DONE,
        ),
        reply(delta(content="ok"), STOP, DONE),
        reply(delta(content="ok"), STOP, DONE),
    ]
    async with openai_served.served(*replies) as (server, model):
        await resumed(model, tmp_path / "log.db")
    for request in server.requests[1:]:
        message = request.body["messages"][2]
        assert message["reasoning_details"] == [detail]
        assert message["tool_calls"][0]["extra_content"] == SIGNED


OPAQUE = [
    OpaqueDelta("reasoning_details", json.dumps({"type": "t", "data": "é\ud800"})),
    calling(),
    calling(id="c2", index=1),
    OpaqueDelta("extra_content", json.dumps(SIGNED), 1),
    Finish("tool_calls"),
]


def insistent(*answers: Any) -> ScriptedModel:
    """A model whose service refuses calls that come back without what it gave with them."""
    left = iter(answers)

    def answer(request: ModelRequest) -> Any:
        for message in request.messages:
            if "tool_calls" in message:
                fields = message.get("returned", {}).get("calls")
                if fields != [{}, {"extra_content": SIGNED}]:
                    raise LLMError("thought_signature is missing")
        return next(left)

    return ScriptedModel([answer] * len(answers))


async def test_every_storage_keeps_what_a_service_insists_on(every_log) -> None:
    agent = Agent(insistent(OPAQUE, "3"), tools=[add], driver="native", storage=every_log)
    await agent.run("?", conversation_id="a")
    other = Agent(insistent("4", "5"), tools=[add], driver="native", storage=every_log)
    assert (await other.run("And?", conversation_id="a")).output == "4"
    await other.fork("a", new_id="b")
    assert (await other.run("And?", conversation_id="b")).output == "5"


def test_another_service_is_not_sent_what_it_cannot_read() -> None:
    log = Memory()
    Agent(ScriptedModel([OPAQUE, "3"]), tools=[add], driver="native", storage=log).run_sync(
        "?", conversation_id="c"
    )
    model = ScriptedModel(["4"], name="other")
    Agent(model, tools=[add], driver="native", storage=log).run_sync("And?", conversation_id="c")
    assert not any("returned" in message for message in last(model))


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"service": "s", "reasoning": [], "rest": {}}',
        b'{"service": "s", "reasoning": [7], "rest": null}',
        b'{"service": "s", "reasoning": [], "rest": {"order": [], "fields": {}, "calls": [1]}}',
        b'{"service": "s", "reasoning": [], "rest": {"order": [[1]], "fields": {}, "calls": []}}',
    ],
)
def test_what_another_program_stored_is_left_out(stored) -> None:
    assert read_returned(stored, "s") is None


# What a service refuses, and how it ends


async def test_a_tool_that_a_service_names_by_its_number_is_named() -> None:
    @tool
    async def other() -> str:
        """Do something else."""
        return ""

    words = "tools.1.custom.input_schema: input_schema does not support oneOf"
    refusal = Reply(
        {"type": "error", "error": {"type": "invalid_request_error", "message": words}}, 400
    )
    async with ModelServer([refusal]) as server:
        model = AnthropicModel("c", base_url=server.url, api_key="k" * 20, max_retries=0)
        async with model:
            with pytest.raises(LLMError, match=r"oneOf; that is the tool 'other'"):
                await Agent(model, tools=[add, other]).run("?")


async def test_an_end_without_a_reason_is_whole_from_a_server_that_never_gives_one(caplog) -> None:
    unsaid, said = reply(delta(content="Hi"), DONE), reply(delta(content="Ho"), STOP, DONE)
    async with openai_served.served(unsaid, said, unsaid) as (_, model):
        assert await openai_served.ask(model) == [TextDelta("Hi"), Finish(None)]
        assert "did not say why the answer ended" in caplog.text
        assert (await openai_served.ask(model))[-1] == Finish("stop")
        with pytest.raises(LLMError, match="without a finish_reason"):
            await openai_served.ask(model)


@pytest.mark.parametrize("rest", [(DONE,), (openai_served.usage(prompt_tokens=1), DONE)])
async def test_a_call_of_which_only_the_name_came_never_runs(rest) -> None:
    begun: list[str] = []

    @tool
    async def delete(path: str = "/") -> str:
        """Delete a file."""
        begun.append(path)
        return "deleted"

    name = {"index": 0, "id": "c", "type": "function", "function": {"name": "delete"}}
    async with openai_served.served(reply(delta(tool_calls=[name]), *rest)) as (_, model):
        with pytest.raises(LLMError, match="without a finish_reason"):
            await Agent(model, tools=[delete], driver="native").run("?")
    assert begun == []
