"""A conversation as providers of tool calls want it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...context.history import Messages
from ...tools.toolbox import safe_name
from ..dialogue import (
    CallOutcome,
    ModelPassage,
    Passage,
    Question,
    Report,
    compact_json,
    shown_text,
)

__all__ = ["Reasoning", "batches_of_turn", "native_messages"]

Reasoning = Sequence[Mapping[str, Any]]
"""Blocks of reasoning as a provider wants them back: `text` and `signature`."""


def batches_of_turn(passages: Sequence[Passage]) -> int:
    """How many batches of calls stand after the last question."""
    count = 0
    for passage in passages:
        match passage:
            case Question():
                count = 0
            case ModelPassage(calls=calls):
                count += bool(calls)
            case Report():
                pass
    return count


def native_messages(
    passages: Sequence[Passage], reasoning: Mapping[int, Reasoning] | None = None
) -> Messages:
    """Write messages in the form of chat completions.

    Args:
        passages: the dialogue so far.
        reasoning: blocks of reasoning, by the number of the batch of calls that followed from them, from 0 after the
            last question. If there are none for a batch, the text in the log is used, without a signature.

    Returns:
        A message of the assistant has `tool_calls` if it made calls, and `reasoning` if they are after the last
        question. After it comes a message of a `tool` for each call, with `tool_call_id`, `tool_execution_id` and
        `is_error`. Output that could not be used is shown as text.

    The cost is linear in the passages.
    """
    known = reasoning or {}
    last_question = max(
        (place for place, each in enumerate(passages) if isinstance(each, Question)), default=-1
    )
    messages: Messages = []
    batch = 0
    for place, passage in enumerate(passages):
        match passage:
            case Question(text):
                messages.append({"role": "user", "content": text})
            case Report(raw, content):
                _say(messages, raw)
                messages.append({"role": "user", "content": content})
            case ModelPassage(calls=()):
                _say(messages, passage.text)
            case ModelPassage():
                message = _calling(passage)
                if place > last_question:
                    if blocks := known.get(batch) or _unsigned(passage):
                        message["reasoning"] = list(blocks)
                    batch += 1
                messages.append(message)
                messages += _results(passage)
    return messages


def _say(messages: Messages, text: str) -> None:
    """Add text of the assistant, to its last message if that made no calls."""
    if not text.strip():
        return
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant" and "tool_calls" not in last:
        last["content"] = f"{last['content']}\n{text}"
    else:
        messages.append({"role": "assistant", "content": text})


def _calling(passage: ModelPassage) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": passage.text,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": _sent(call.name), "arguments": compact_json(call.args)},
            }
            for call in passage.calls
        ],
    }


def _sent(name: str) -> str:
    """A name as it is sent. The model may have written one that no tool can have, and providers refuse such a name."""
    return safe_name(name, of=("", name))


def _unsigned(passage: ModelPassage) -> Reasoning:
    text = "\n".join(passage.thoughts).strip()
    return [{"text": text, "signature": None}] if text else []


def _results(passage: ModelPassage) -> Messages:
    return [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "tool_execution_id": call.id,
            "is_error": outcome.is_error,
            "content": _content(outcome),
        }
        for call, outcome in zip(passage.calls, passage.outcomes, strict=True)
    ]


def _content(outcome: CallOutcome) -> str:
    text = shown_text(outcome)
    return f"Error in tool call: {text}" if outcome.is_error else text
