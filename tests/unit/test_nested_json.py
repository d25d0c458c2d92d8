"""Brackets 100,000 deep, wherever text comes from: nothing hangs, nothing dies, and the conversation goes on."""

from __future__ import annotations

from typing import Any

import pytest

from cogency_rs import Agent, Dialect, Memory, tool
from cogency_rs.context import to_messages
from cogency_rs.guards.json import TooDeepError, read_json
from cogency_rs.testing import ScriptedModel

DEEP = "[" * 100_000 + "]" * 100_000
ROWS = [
    ("call", '{"name": "look", "args": {"at": %s}}'),
    ("result", '[{"tool": "look", "status": "success", "content": %s}]'),
    ("result", "%s"),
    ("error", '{"kind": "malformed", "content": "no", "raw": %s}'),
    ("end", "%s"),
    ("respond", "%s"),
]


def test_it_is_one_error_that_callers_expect():
    with pytest.raises(TooDeepError, match="nested deeper than Python reads"):
        read_json(DEEP)
    assert read_json(b'{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="Expecting value"):
        read_json("]")


def conversation(kind: str, content: str) -> list[dict[str, Any]]:
    call = {"type": "call", "content": '{"name": "look", "args": {}}'}
    before = [call] if kind == "result" else []
    after = [{"type": "result", "content": "[]"}] if kind == "call" else []
    question = {"type": "user", "content": "What is there?"}
    return [question, *before, {"type": kind, "content": content % DEEP}, *after]


@pytest.mark.parametrize("dialect", Dialect.presets())
def test_a_stored_call_is_shown_in_every_dialect(dialect):
    assert to_messages(conversation(*ROWS[0]), dialect=dialect)


@pytest.mark.parametrize(("kind", "content"), ROWS)
@pytest.mark.parametrize("driver", ["text", "native"])
async def test_a_conversation_with_such_a_row_goes_on(kind, content, driver):
    log, model = Memory(), ScriptedModel(["Nothing."])
    rows = [
        (row["type"], row["content"], float(at))
        for at, row in enumerate(conversation(kind, content))
    ]
    await log.append("c", user_id="u", rows=rows)
    agent = Agent(model, storage=log, driver=driver)
    result = await agent.run("And now?", conversation_id="c", user_id="u")
    assert result.output == "Nothing."


@pytest.mark.parametrize("written", [DEEP, pytest.param(None, id="as a value")])
async def test_a_tool_may_answer_with_it(written):
    def nested() -> list[Any]:
        value: list[Any] = []
        for _ in range(100_000):
            value = [value]
        return value

    @tool
    def look() -> Any:
        """Look."""
        return written or nested()

    call = '<execute>[{"name": "look", "args": {}}]</execute>'
    agent = Agent(ScriptedModel([call, "Seen."]), tools=[look])
    result = await agent.run("Look.")
    assert result.output == "Seen."
