"""Reasoning as providers want it back: with the calls that followed from it, until the next question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...context.history import Messages

__all__ = ["Reasoning", "sign_reasoning"]

Reasoning = Sequence[Mapping[str, Any]]
"""Blocks of reasoning as a provider wants them back: `text` and `signature`."""


def sign_reasoning(messages: Messages, known: Mapping[int, Reasoning]) -> int:
    """Put the blocks of reasoning in the place of what the log knows of it.

    Args:
        messages: the conversation; calls after the last question have `reasoning`.
        known: blocks of reasoning, by the number of the batch of calls that followed from them, from 0 after the last
            question. If there are none for a batch, the text in the log is sent, without a signature.

    Returns:
        How many batches of calls there are after the last question.
    """
    batches: Messages = []
    for message in reversed(messages):
        if "reasoning" in message:
            batches.append(message)
        elif "tool_calls" in message:  # before the last question
            break
    for batch, message in enumerate(reversed(batches)):
        if blocks := known.get(batch):
            message["reasoning"] = list(blocks)
        elif not message["reasoning"]:
            del message["reasoning"]
    return len(batches)
