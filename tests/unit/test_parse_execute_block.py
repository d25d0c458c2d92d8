"""`parse_execute_block`: the calls of a whole text, or why there are none."""

from __future__ import annotations

import pytest

from cogency_rs import ToolCall
from cogency_rs.errors import ProtocolError
from cogency_rs.protocol import parse_execute_block
from support.parsing import (
    T,
    block,
    body_with,
    nested,
)


def test_parse_execute_block_gives_calls():
    body = '[{"name": "t", "args": {"x": [1, 2.5, null, "é"]}}, {"name": "", "args": {}}]'
    assert parse_execute_block(f"a {block(body)} b") == [
        ToolCall("t", {"x": [1, 2.5, None, "é"]}),
        ToolCall("", {}),
    ]


def test_parse_execute_block_gives_no_calls_for_an_empty_array():
    assert parse_execute_block(block("[]")) == []


def test_parse_execute_block_reads_the_first_block_only():
    assert parse_execute_block(block("[]") + block(T)) == []


def test_parse_execute_block_ignores_tags_in_strings():
    body = '[{"name": "t", "args": {"a": "</execute>"}}]'
    assert parse_execute_block(block(body)) == [ToolCall("t", {"a": "</execute>"})]


def test_parse_execute_block_refuses_integers_longer_than_python_reads():
    text = block(body_with("1" + "0" * 5000))
    with pytest.raises(ProtocolError, match="digits") as caught:
        parse_execute_block(text)
    assert caught.value.original_input == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("a", id="text"),
        pytest.param(" <think>a</think> ", id="no block"),
        pytest.param(f" <execute>{T} ", id="no closing tag"),
        pytest.param(f"{T}</execute>", id="no opening tag"),
        pytest.param("\n<execute></execute>\n", id="empty"),
        pytest.param("\n<execute>oops</execute>\n", id="invalid JSON"),
        pytest.param("\n<execute>{}</execute>\n", id="not an array"),
        pytest.param("\n<execute>[1]</execute>\n", id="not an object"),
        pytest.param('\n<execute>[{"name": "t"}]</execute>\n', id="no args"),
        pytest.param('\n<execute>[{"name": "t", "args": null}]</execute>\n', id="args null"),
        pytest.param('\n<execute>[{"name": 1, "args": {}}]</execute>\n', id="name not a string"),
        pytest.param(block(nested(201)), id="too deep"),
        pytest.param(block("[" * 100_000), id="100,000 opening brackets"),
        pytest.param(f"{block('oops')}{block(T)}", id="the first block is broken"),
    ],
)
def test_parse_execute_block_refuses_and_keeps_the_input(text):
    with pytest.raises(ProtocolError) as caught:
        parse_execute_block(text)
    assert caught.value.original_input == text.strip()


def test_parse_execute_block_names_the_place():
    with pytest.raises(ProtocolError, match="line 2, column 3"):
        parse_execute_block(block("\n  oops"))
