"""A server whose answers are a model's text as `ChatReader` reads it: valid, broken and cut calls.

The path says which: `/SENT/CASE/v1/chat/completions`, or `/SENT/CASE/v1/messages` for the shape of Anthropic's API.
Once a tool has answered, the model does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal
from urllib.parse import unquote

from cogency_rs.reader import ChatReader
from cogency_rs.testing import ModelServer, ReceivedRequest, Reply, sse

Delta = dict[str, Any]
Sent = Literal["whole", "stream", "naive"]

SENT: tuple[Sent, ...] = ("stream", "whole", "naive")
"""The reader's modes; and what a server sends that knows no error: the deltas of `stream`, and the reason `length`."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "note",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "tag": {"type": "string"}},
            },
        },
    }
]

TEXT = "0123456789abcdef" * 64
TAG = "a"


def call(text: str, tag: str) -> str:
    arguments = json.dumps({"text": text, "tag": tag})
    return f'<tool_call>\n{{"name": "note", "arguments": {arguments}}}\n</tool_call>\n'


BEGUN = call(TEXT, TAG).split(', "tag"')[0]
"""A call until after its first argument."""


@dataclass(frozen=True)
class Case:
    """What a model writes, why it stops, and the arguments of the calls that are complete."""

    text: str
    reason: str = "stop"
    complete: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


CASES = {
    "valid": Case(call(TEXT, TAG), complete=[{"text": TEXT, "tag": TAG}]),
    "broken": Case(f"{BEGUN} oops}}}}\n</tool_call>"),
    "cut": Case(BEGUN[:-100], "length"),
    "cut after the name": Case('<tool_call>\n{"name": "note", "arguments": {', "length"),
    "second broken": Case(
        f"{call('first', TAG)}{BEGUN} oops}}}}\n</tool_call>",
        complete=[{"text": "first", "tag": TAG}],
    ),
}

PIECE = 12
"""Characters of a chunk of the model's text."""


def deltas(case: Case, sent: Sent) -> tuple[list[Delta], str | None]:
    """What is sent of a case, and the reason to have finished; without one, the last delta is an error."""
    ids = map("call_{}".format, count())
    mode: Literal["whole", "stream"] = "whole" if sent == "whole" else "stream"
    reader = ChatReader("hermes", TOOLS, ids=ids.__next__, calls=mode)
    read: list[Delta] = []
    for start in range(0, len(case.text), PIECE):
        read += reader.feed(case.text[start : start + PIECE])
    last, reason = reader.finish(case.reason)
    read += last
    if sent == "naive" and "error" in read[-1]:
        return read[:-1], "length"
    return read, reason


def completions(read: list[Delta], reason: str | None) -> Iterator[bytes]:
    """The events of the Chat Completions API. An error is the last: a client must not take the answer for complete."""
    shared = {"id": "chatcmpl", "object": "chat.completion.chunk", "created": 0, "model": "m"}

    def chunk(delta: Delta, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return sse({**shared, "choices": [choice]})

    yield chunk({"role": "assistant", "content": None})
    for delta in read:
        yield sse(delta) if "error" in delta else chunk(delta)
    if reason is not None:
        yield chunk({}, reason)
        yield sse("[DONE]")


STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def messages(read: list[Delta], reason: str | None) -> Iterator[bytes]:
    """The events of the Messages API. After an error its block is not stopped, and neither is the message."""

    def event(type: str, **fields: Any) -> bytes:
        return sse({"type": type, **fields}, type)

    message = {
        "id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    yield event("message_start", message=message)
    blocks: list[int | None] = []  # of each block the index of its call; `None` for text
    for delta in read:
        if "error" in delta:
            error = {"type": "api_error", "message": delta["error"]["message"]}
            yield event("error", error=error)
            return
        content: dict[str, Any]
        if "tool_calls" in delta:
            (piece,) = delta["tool_calls"]
            call, function = piece["index"], piece["function"]
            content = {"type": "input_json_delta", "partial_json": function["arguments"]}
        else:
            call = None
            content = {"type": "text_delta", "text": delta["content"]}
        if not blocks or blocks[-1] != call:
            if blocks:
                yield event("content_block_stop", index=len(blocks) - 1)
            start = (
                {"type": "text", "text": ""}
                if call is None
                else {"type": "tool_use", "id": piece["id"], "name": function["name"], "input": {}}
            )
            yield event("content_block_start", index=len(blocks), content_block=start)
            blocks.append(call)
        yield event("content_block_delta", index=len(blocks) - 1, delta=content)
    if blocks:
        yield event("content_block_stop", index=len(blocks) - 1)
    stop = {"stop_reason": STOPS[reason or "stop"], "stop_sequence": None}
    yield event("message_delta", delta=stop, usage={"output_tokens": 1})
    yield event("message_stop")


def has_result(request: ReceivedRequest) -> bool:
    """Whether a tool has answered; Anthropic's runner sends its result without the question."""
    last = request.body["messages"][-1]
    content = last["content"] if isinstance(last["content"], list) else []
    return last["role"] == "tool" or any(part["type"] == "tool_result" for part in content)


class CaseServer(ModelServer):
    """Answers by the path that is asked for, as often as it is."""

    def _reply_to(self, request: ReceivedRequest) -> Reply:
        _, sent, case, *path = unquote(request.path).split("/")
        shape = messages if path[-1].startswith("messages") else completions
        if has_result(request):
            return Reply([*shape([{"content": "Noted."}], "stop")])
        return Reply([*shape(*deltas(CASES[case], sent))])
