"""A conversation in the form of chat completions, as Anthropic's messages.

In Anthropic's messages, turns alternate and are texts or lists of blocks; the results of calls are the first blocks of
the user's next turn; and the system prompt is a separate field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..guards.json_text import read_json
from .deltas import REDACTED

__all__ = ["blocks_of", "messages_of", "system_of", "tools_used"]

_SPOKEN = ("user", "assistant")

_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")

Block = dict[str, Any]


def system_of(messages: Sequence[Mapping[str, Any]]) -> list[Block]:
    """The system prompt: the text of every system message, wherever it is."""
    return [
        block
        for message in messages
        if message["role"] == "system"
        for block in _blocks(message.get("content"))
    ]


def messages_of(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All other messages, with neighbours of one role as one message. Text that stands alone stays as it is."""
    turns: list[Mapping[str, Any]] = []
    mixed: list[list[Block]] = []  # what may have results after other blocks
    last = ""
    for message in messages:
        role = message["role"]
        if role == "system":
            continue
        content = message.get("content")
        if (
            role != last
            and type(content) is str
            and len(message) == 2
            and role in _SPOKEN
            and content
            and not content.isspace()
        ):
            turns.append(message)  # most are
            last = role
            continue
        blocks = list(_BLOCKS.get(role, _of_user)(message))
        role = role if role == "assistant" else "user"
        if role == last:
            mixed.append(blocks_of(turns, -1))
            mixed[-1].extend(blocks)
        elif blocks:
            turns.append({"role": role, "content": blocks})
            mixed.append(blocks)
            last = role
    for blocks in mixed:
        blocks.sort(key=_is_not_a_result)  # stable: the results, and the others, keep their order
    if last == "assistant":
        _trim(blocks_of(turns, -1))
    return turns


def blocks_of(turns: list[Mapping[str, Any]], place: int) -> list[Block]:
    """The content of the message at this place as blocks, which can be changed; the caller's message is replaced."""
    content: Any = turns[place]["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
        turns[place] = {"role": turns[place]["role"], "content": content}
    return cast("list[Block]", content)


def tools_used(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the tools that were called, each once."""
    names = (
        block["name"]
        for message in messages
        if not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == "tool_use"
    )
    return list(dict.fromkeys(names))


def _of_user(message: Mapping[str, Any]) -> list[Block]:
    return _blocks(message.get("content"))


def _of_assistant(message: Mapping[str, Any]) -> Iterator[Block]:
    reasoning = [_thinking(block) for block in message.get("reasoning") or ()]
    text = _blocks(message.get("content"))
    calls = [_tool_use(call) for call in message.get("tool_calls") or ()]
    returned: Mapping[str, Any] = message.get("returned") or {}
    order: Sequence[tuple[str, str]] = returned.get("order") or ()
    if order and _is_order_of(order, reasoning, text, calls):
        parts = {"reasoning": iter(reasoning), "call": iter(calls)}
        for kind, words in order:
            yield from _blocks(words) if kind == "text" else filter(None, (next(parts[kind]),))
        return
    yield from filter(None, reasoning)
    yield from text
    yield from calls


def _is_order_of(
    order: Sequence[tuple[str, str]],
    reasoning: Sequence[object],
    text: Sequence[Block],
    calls: Sequence[object],
) -> bool:
    """Whether these are still the parts of the answer: a hook may have changed them since, and the log joins texts."""
    kinds = [kind for kind, _ in order]
    written = "".join(words for _, words in order).split()
    shown = "".join(block.get("text", "") for block in text).split()
    return (
        kinds.count("reasoning") == len(reasoning)
        and kinds.count("call") == len(calls)
        and "".join(written) == "".join(shown)
    )


def _thinking(block: Mapping[str, Any]) -> Block | None:
    signature = block.get("signature") or ""
    if signature.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": signature.removeprefix(REDACTED)}
    if signature:
        return {"type": "thinking", "thinking": block["text"], "signature": signature}
    return None  # it is another provider's, and would be refused


def _tool_use(call: Mapping[str, Any]) -> Block:
    function = call["function"]
    return {
        "type": "tool_use",
        "id": _id(call["id"]),
        "name": function["name"],
        "input": _input(function.get("arguments")),
    }


def _of_tool(message: Mapping[str, Any]) -> Iterator[Block]:
    block: Block = {"type": "tool_result", "tool_use_id": _id(message["tool_call_id"])}
    if content := _blocks(message.get("content")):
        block["content"] = content
    if message.get("is_error"):
        block["is_error"] = True
    yield block


_BLOCKS = {"assistant": _of_assistant, "tool": _of_tool}


def _id(id: str) -> str:
    """An id in the form that the API accepts; equal ids stay equal."""
    return _NOT_IN_IDS.sub("_", id)


def _input(arguments: str | None) -> dict[str, Any]:
    """Arguments as the object that the API wants; arguments that are not an object are kept as text."""
    try:
        value: Any = read_json(arguments or "{}")
    except ValueError:
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"arguments": arguments}


def _blocks(content: object) -> list[Block]:
    """Content as blocks. Text of nothing but white space is left out, since the API refuses it."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    parts = cast("Sequence[Mapping[str, Any]]", content or ())
    blocks = (_block(part) for part in parts)
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


def _block(part: Mapping[str, Any]) -> Block:
    """A part of a message; a part that is not one of chat completions is taken for a block of the API's own."""
    if part["type"] != "image_url":
        return dict(part)
    url: str = part["image_url"]["url"]
    data = re.fullmatch(r"data:([\w/.+-]+);base64,(.*)", url, re.DOTALL)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    source = {"type": "base64", "media_type": data[1], "data": data[2]}
    return {"type": "image", "source": source}


def _is_not_a_result(block: Block) -> bool:
    return str(block["type"]) != "tool_result"


def _trim(blocks: list[Block]) -> None:
    """Cut white space from the end of an answer that the model must continue; the API refuses it."""
    if blocks[-1]["type"] == "text":
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()
