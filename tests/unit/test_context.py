"""`to_messages` folds the stored log into messages."""

from __future__ import annotations

import json
import sys
from collections import UserDict
from typing import Any

import pytest

from cogency_rs.context import to_messages
from support.conversations import (
    Event,
    Message,
    by_assistant,
    by_user,
    called,
    event,
    execute,
    respond,
    result,
    results,
    think,
    user,
)


def folded(events: Any) -> list[Message]:
    messages = to_messages(events)
    assert all(list(message) == ["role", "content"] for message in messages)
    return [(message["role"], message["content"]) for message in messages]


T = ("t", {})

FOLDS: list[tuple[str, list[Event], list[Message]]] = [
    ("nothing", [], []),
    ("a user message", [user()], [by_user()]),
    ("two user messages are not joined", [user("a"), user("b")], [by_user("a"), by_user("b")]),
    ("an empty user message", [user("")], [by_user("")]),
    ("text", [respond()], [by_assistant("so")]),
    ("thought is in its tags", [think()], [by_assistant("<think>hm</think>")]),
    (
        "thought and text are lines of one message",
        [think(), respond(), think("x")],
        [by_assistant("<think>hm</think>", "so", "<think>x</think>")],
    ),
    ("empty text is an empty line", [respond(""), respond("")], [by_assistant("", "")]),
    ("empty text alone", [respond("")], [by_assistant("")]),
    ("empty thought", [think("")], [by_assistant("<think></think>")]),
    (
        "the user ends the assistant's turn",
        [user(), respond(), user("and"), respond("x")],
        [by_user(), by_assistant("so"), by_user("and"), by_assistant("x")],
    ),
    ("a call and its results", [called(), result()], [by_assistant(execute(T)), results()]),
    (
        "a turn with calls",
        [user(), think(), respond(), called(), called("u", a=1), result(), respond("done")],
        [
            by_user(),
            by_assistant("<think>hm</think>", "so", execute(T, ("u", {"a": 1}))),
            results(),
            by_assistant("done"),
        ],
    ),
    (
        "text between calls comes before all of them",
        [called(), respond(), called("u"), result()],
        [by_assistant("so", execute(T, ("u", {}))), results()],
    ),
    (
        "two batches",
        [called(), result(), called("u"), result("[2]")],
        [by_assistant(execute(T)), results(), by_assistant(execute(("u", {}))), results("[2]")],
    ),
    ("results without calls", [result()], [results()]),
    (
        "results without calls come before the pending text",
        [respond(), result(), respond("x")],
        [results(), by_assistant("so", "x")],
    ),
    (
        "several results without calls",
        [think(), result("a"), result("b"), user()],
        [results("a"), results("b"), by_assistant("<think>hm</think>"), by_user()],
    ),
    (
        "a second result of one batch has no calls",
        [respond("a"), called(), result("1"), respond("b"), result("2")],
        [by_assistant("a", execute(T)), results("1"), results("2"), by_assistant("b")],
    ),
    ("calls without results are dropped at the end", [called()], []),
    ("text before calls without results is kept", [respond(), called()], [by_assistant("so")]),
    (
        "calls without results are dropped at the next user message",
        [respond(), called(), user(), result()],
        [by_assistant("so"), by_user(), results()],
    ),
    (
        "dropped calls do not come back",
        [called(), user(), called("u"), result()],
        [by_user(), by_assistant(execute(("u", {}))), results()],
    ),
    (
        "empty results make no message, but end the turn",
        [respond(), called(), result(""), respond("x")],
        [by_assistant("so", execute(T)), by_assistant("x")],
    ),
    ("empty results without calls make no message", [respond(), result("")], [by_assistant("so")]),
    (
        "rows of other types are skipped",
        [
            user(),
            event("metric"),
            {"type": "execute"},
            {"type": "end"},
            event("cancelled", "x"),
            event("User", "x"),
            {"type": ""},
            {"type": None},
            {"type": 5},
            respond(),
        ],
        [by_user(), by_assistant("so")],
    ),
    (
        "rows of other types do not end a turn",
        [respond("a"), {"type": "end"}, respond("b"), called(), {"type": "execute"}, result()],
        [by_assistant("a", "b", execute(T)), results()],
    ),
    (
        "tags in contents are text",
        [user("<think>"), think("</think><execute>"), respond("<results>")],
        [by_user("<think>"), by_assistant("<think></think><execute></think>", "<results>")],
    ),
    (
        "characters of every kind",
        [user("é\ud83d"), think("日\0"), respond("😀\ud83d"), called("é"), result("é\ud83d")],
        [
            by_user("é\ud83d"),
            by_assistant("<think>日\0</think>", "😀\ud83d", execute(("é", {}))),
            results("é\ud83d"),
        ],
    ),
    # Contents that are not text
    ("a user's content is passed on as it is", [user(5), user(None)], [by_user(5), by_user(None)]),
    ("a user's content may have parts", [user([{"type": "text"}])], [by_user([{"type": "text"}])]),
    (
        "thought is formatted",
        [think(5), think(None), think(["a"])],
        [by_assistant("<think>5</think>", "<think>None</think>", "<think>['a']</think>")],
    ),
    ("results are formatted", [result({"a": 1}), result(5)], [results("{'a': 1}"), results("5")]),
    ("false results are left out", [result(None), result(0), result([]), result({})], []),
    ("results may lack their content", [respond(), {"type": "result"}], [by_assistant("so")]),
    (
        "results that lack their content end the turn",
        [called(), {"type": "result"}, respond()],
        [by_assistant(execute(T)), by_assistant("so")],
    ),
    # Malformed calls
    (
        "a call row whose JSON is not a call is skipped",
        [*[event("call", text) for text in ("5", "null", "[]", "{}", '"t"')], called(), result()],
        [by_assistant(execute(T)), results()],
    ),
    (
        "a call whose fields are wrong is skipped",
        [
            event("call", '{"name": 5, "args": {}}'),
            event("call", '{"name": "t", "args": []}'),
            event("call", '{"name": "t", "args": null}'),
            event("call", '[{"name": "t", "args": {}}]'),
            called(),
            result(),
        ],
        [by_assistant(execute(T)), results()],
    ),
    (
        "a batch of malformed calls is left out",
        [respond(), event("call", "{}"), result()],
        [results(), by_assistant("so")],
    ),
    (
        "a call may lack its arguments",
        [event("call", '{"name": "t"}'), result()],
        [by_assistant(execute(T)), results()],
    ),
    (
        "other keys of a call are dropped",
        [event("call", '{"id": 7, "args": {"a": 1}, "name": "t", "x": {}}'), result()],
        [by_assistant(execute(("t", {"a": 1}))), results()],
    ),
    (
        "a call may be bytes",
        [event("call", b'{"name": "t"}'), result()],
        [by_assistant(execute(T)), results()],
    ),
]


@pytest.mark.parametrize(
    ("events", "expected"), [pytest.param(*row, id=name) for name, *row in FOLDS]
)
def test_rows_are_folded_into_messages(events, expected):
    assert folded(events) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"a": [], "b": {}, "c": [[]], "d": [{}]}',
        '{"a": [1, [2, {"b": null}]]}',
        '{"b": 1, "a": 2, "b": 3}',
        '{ "a" :\t1 ,\n"b":2 }',
        '{"s": "é日😀\\u00e9\\ud83d\\ude00\\ud83d\\/\\"\\\\\\b\\f\\n\\r\\t\x7f"}',
        '{"é": 1, "": 2, "a\\"b": 3}',
        '{"n": [0, -0, -0.0, 1.0, 1e5, 1E-7, 1.10, 123456789012345678901234567890]}',
        '{"n": [1e400, -1e400, NaN, Infinity, -Infinity, 0.1e-400, 5e-324, 1e16, 1e22]}',
        '{"b": [true, false, null]}',
    ],
)
def test_a_block_is_rebuilt_with_the_indentation_of_python_s_json(arguments):
    stored_call = f'{{"name": "t", "args": {arguments}}}'
    expected = execute(("t", json.loads(arguments)))
    assert folded([event("call", stored_call), result()])[0] == by_assistant(expected)


@pytest.mark.parametrize("depth", [100, 190])
def test_a_call_may_be_nested_as_deep_as_the_parser_allows(depth):
    arguments: dict[str, Any] = {}
    for _ in range(depth):
        arguments = {"a": arguments}
    assert folded([called("t", a=arguments), result()])[0] == by_assistant(
        execute(("t", {"a": arguments}))
    )


def test_an_integer_that_python_cannot_read_is_kept():
    digits = "7" * (sys.get_int_max_str_digits() + 1)
    [(_, content), _] = folded(
        [event("call", f'{{"name": "t", "args": {{"n": {digits}}}}}'), result()]
    )
    assert digits in content


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([{}], KeyError),
        ([{"content": "a"}], KeyError),
        ([{"type": "user"}], KeyError),
        ([{"type": "think"}], KeyError),
        ([{"type": "respond"}], KeyError),
        ([{"type": "call"}], KeyError),
        ([respond(None)], TypeError),
        ([respond("a"), respond(5)], TypeError),
        ([event("call", 5)], TypeError),
        ([event("call", None)], TypeError),
        ([event("call", {"name": "t"})], TypeError),
        ([event("call", "")], json.JSONDecodeError),
        ([event("call", "nonsense")], json.JSONDecodeError),
        ([event("call", '{"name": "t"} x')], json.JSONDecodeError),
        ([event("call", '{"name": "a\nb"}')], json.JSONDecodeError),
        ([5], TypeError),
        (None, TypeError),
        (5, TypeError),
    ],
    ids=repr,
)
def test_malformed_rows_are_errors(events, error):
    with pytest.raises(error):
        to_messages(events)


@pytest.mark.parametrize("key", ["type", "content"])
def test_a_missing_key_is_named(key):
    row = {name: value for name, value in user().items() if name != key}
    with pytest.raises(KeyError) as caught:
        to_messages([row])
    assert caught.value.args == (key,)


def test_content_that_is_not_text_is_named_with_its_place():
    with pytest.raises(TypeError, match="sequence item 1: expected str instance, int found"):
        to_messages([think(), respond(5), respond(None)])


def test_content_that_is_not_text_is_an_error_when_its_turn_ends():
    with pytest.raises(TypeError, match="expected str instance, list found"):
        to_messages([respond([]), user()])


@pytest.mark.parametrize("make", [tuple, iter, lambda events: (each for each in events)])
def test_rows_may_come_in_any_iterable(make):
    assert folded(make([user(), respond()])) == [by_user(), by_assistant("so")]


def test_a_row_may_be_any_mapping():
    rows = [UserDict(row) for row in (respond(), called(), result())]
    assert folded(rows) == [by_assistant("so", execute(T)), results()]


def test_a_type_may_be_a_subclass_of_str():
    class Kind(str):
        __slots__ = ()

    assert folded([{"type": Kind("user"), "content": "hi"}]) == [by_user()]


def test_the_rows_are_not_changed():
    rows = [user(["part"]), think(), called(), result()]
    before = json.dumps(rows)
    to_messages(rows)
    assert json.dumps(rows) == before


def test_a_long_log_is_folded():
    rows = [user(), think(), respond(), called(), called(), result()] * 2000
    messages = folded(rows)
    assert len(messages) == 6000
    assert messages[-3:] == folded(rows[:6])
