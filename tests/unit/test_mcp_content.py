"""The arguments that a server gets, and results made of its answers: text, values, and a name for any other part."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from cogency_rs import ToolResult
from cogency_rs.guards.secrets import NO_SECRETS
from cogency_rs.servers.tool import Answer, MCPTool, as_tool_result
from cogency_rs.tools import ToolOptions
from support.tools import INJECTED

DATA = base64.b64encode(b"x" * 10).decode()
BIG = base64.b64encode(b"x" * 20_000).decode()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def result_of(*parts: dict[str, Any], **others: Any) -> ToolResult:
    return as_tool_result(Answer({"content": [*parts], **others}), "find", NO_SECRETS)


@pytest.mark.parametrize(
    ("parts", "structured", "content"),
    [
        ([], None, ""),
        ([text("a")], None, "a"),
        ([text("a"), text("b")], None, "a\nb"),
        ([text('{"a": 1}')], None, '{"a": 1}'),  # text that looks like a value stays text
        # The text says the same as the value
        ([text('{"a": 1}')], {"a": 1}, {"a": 1}),
        ([text("5")], {"result": 5}, 5),
        ([text("hello")], {"result": "hello"}, "hello"),
        ([text('"hello"')], {"result": "hello"}, "hello"),
        ([text("1"), text("2")], {"result": [1, 2]}, [1, 2]),
        ([text("a"), text("b")], {"result": ["a", "b"]}, ["a", "b"]),
        ([text("{'a': 1}")], {"result": None}, {"text": "{'a': 1}", "structured": None}),
        ([], {"a": 1}, {"a": 1}),
        # The text is the only value, or one of several
        ([text("# A\n\nb")], {"content": "# A\n\nb"}, "# A\n\nb"),
        ([text("a\n")], {"content": "a"}, "a\n"),
        ([text("a")], {"content": "a", "size": 1}, {"content": "a", "size": 1}),
        ([text('{\n  "a": "b"\n}')], {"a": "b"}, {"a": "b"}),
        ([text("b")], {"content": [text("b")]}, "b"),
        (
            [{"type": "image", "data": DATA, "mimeType": "image/png"}],
            {"content": [{"type": "image", "data": DATA, "mimeType": "image/png"}]},
            "[image: image/png, 10 bytes]",
        ),
        ([text("a")], {"content": "b"}, {"text": "a", "structured": {"content": "b"}}),
        # The text says something else
        ([text("one row")], {"rows": [1]}, {"text": "one row", "structured": {"rows": [1]}}),
        (
            [text('{"a": 1}'), {"type": "image", "data": DATA, "mimeType": "image/png"}],
            {"a": 1},
            {"text": '{"a": 1}\n[image: image/png, 10 bytes]', "structured": {"a": 1}},
        ),
        # A part that is not text is named
        (
            [{"type": "image", "data": BIG, "mimeType": "image/png"}],
            None,
            "[image: image/png, 20 kB]",
        ),
        (
            [{"type": "audio", "data": DATA, "mimeType": "audio/wav"}],
            None,
            "[audio: audio/wav, 10 bytes]",
        ),
        (
            [{"type": "resource_link", "name": "a", "uri": "file:///a"}],
            None,
            "[resource: a, file:///a]",
        ),
        (
            [{"type": "resource", "resource": {"uri": "file:///a", "blob": DATA}}],
            None,
            "[resource: file:///a, 10 bytes]",
        ),
        (
            [{"type": "resource", "resource": {"uri": "u:a", "text": "inside", "mimeType": "t/x"}}],
            None,
            "[resource: u:a, t/x]\ninside",
        ),
    ],
)
def test_the_content_of_a_success(parts, structured, content):
    result = result_of(*parts, structuredContent=structured)
    assert (result.error, result.content) == (False, content)


@pytest.mark.parametrize(
    ("parts", "structured", "message"),
    [
        ([text("no such row")], None, "no such row"),
        ([], None, "'find' failed, and its server does not say why"),
        ([], {"code": 7}, '{"code": 7}'),
    ],
)
def test_the_message_of_a_failure(parts, structured, message):
    result = result_of(*parts, structuredContent=structured, isError=True)
    assert (result.error, result.outcome) == (True, message)


# Arguments


async def test_arguments_that_cogencys_executor_adds_are_not_sent_to_the_server():
    asked = []

    async def call(name: str, args: Any, progress: Any, **_: Any) -> ToolResult:
        asked.append((name, dict(args)))
        return ToolResult("done")

    shell = MCPTool("shell", "", {"type": "object"}, "little", "shell", ToolOptions(), call)
    injected = dict.fromkeys(INJECTED, "injected")
    assert (await shell.execute(command="ls", **injected)).outcome == "done"
    assert asked == [("shell", {"command": "ls"})]
