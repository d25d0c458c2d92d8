"""The tokens of a prompt are those of its messages, each counted by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import History
from cogency_rs._core import FoldOptions
from cogency_rs.context.assembly import StoredRows
from cogency_rs.context.history import (
    CountedMessages,
    Pin,
    after_system,
    estimate_tokens,
    tokens_of,
)
from support.examples import examples
from support.memory_log import MemoryLog

texts = st.text(max_size=9)
calls = [{"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]
messages = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "content": texts}),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": texts, "tool_calls": st.just(calls)}
    ),
    st.fixed_dictionaries(
        {"role": st.just("user"), "content": st.just([{"type": "text", "text": "é"}])}
    ),
    st.fixed_dictionaries(
        {"role": st.just("tool"), "content": texts, "tool_call_id": st.just("1")}
    ),
    st.fixed_dictionaries({"content": texts}),
)


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    text = content if isinstance(content, str) else "é"
    return text + (json.dumps(message["tool_calls"]) if "tool_calls" in message else "")


@examples(100)
@given(st.lists(messages, max_size=9))
def test_the_estimate_is_the_sum_of_the_estimates(messages):
    expected = sum(estimate_tokens(text_of(message)) for message in messages)
    assert tokens_of(messages, estimate_tokens) == expected
    assert tokens_of(messages, lambda text: estimate_tokens(text)) == expected


def test_a_part_that_is_not_text_counts_as_many_tokens_whatever_its_size():
    image = {"type": "image", "media_type": "image/png", "data": bytes(10**6)}
    parts = [{"type": "text", "text": "abcd"}, image, {"type": "text", "text": "efg"}]
    for content, tokens in (([image], 1000), (parts, 1002), ([image, image], 2000)):
        assert tokens_of([{"role": "user", "content": content}], estimate_tokens) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 8, 2), ("😀" * 9, 3)]
)
def test_a_token_is_four_characters(text, tokens):
    assert tokens_of([{"role": "user", "content": text}], estimate_tokens) == tokens


CALL = json.dumps({"name": "t", "args": {"text": "é"}, "id": "1"})
RESULT = json.dumps([{"tool": "t", "status": "success", "content": "done"}])
TURN = [("user", "What is there?"), ("call", CALL), ("result", RESULT), ("respond", "This.")]


@pytest.mark.parametrize("form", ["text", "native"])
async def test_messages_that_are_kept_are_counted_once_and_count_the_same(form):
    log, pin = MemoryLog(), Pin()
    for turn in range(3):
        rows = [(kind, content, float(turn)) for kind, content in TURN]
        await log.append("c", user_id="u", rows=rows)
        loaded = await History().load(StoredRows(log, "u", "c"), FoldOptions(form=form), pin)
        messages = after_system("You are Ada.", loaded[1])
        assert isinstance(messages, CountedMessages)
        start, stop = messages.counted
        assert (start, stop) == (1, 1 + (len(messages) - 1) // (turn + 1) * turn)
        assert tokens_of(messages, estimate_tokens) == tokens_of([*messages], estimate_tokens)
