"""The stored log to the next prompt: folding, the history window, the system prompt."""

from __future__ import annotations

import json
import re
import sys
from collections import UserDict
from typing import Any

import pytest
from tools import OK, FunctionTool, block, nothing, stored, with_tools
from turns import CONVERSATION, USER, accumulator, carry_out

from cogency_rs import (
    SQLite,
    StorageError,
    assemble,
    parse_execute_block,
    parse_tokens,
    system_prompt,
    to_messages,
    tool_instructions,
)

Event = dict[str, Any]
Said = tuple[str, Any]
"""Role and content of a message."""


def event(type: str, content: Any = None) -> Event:
    return {"type": type, "content": content, "timestamp": 1.0}


def user(content: Any = "hi") -> Event:
    return event("user", content)


def think(content: Any = "hm") -> Event:
    return event("think", content)


def respond(content: Any = "so") -> Event:
    return event("respond", content)


def called(name: str = "t", **arguments: Any) -> Event:
    return event("call", stored(name, **arguments))


def result(content: Any = "[1]") -> Event:
    return event("result", content)


def by_user(content: Any = "hi") -> Said:
    return ("user", content)


def by_assistant(*parts: str) -> Said:
    return ("assistant", "\n".join(parts))


def results(content: str = "[1]") -> Said:
    return ("user", f"<results>\n{content}\n</results>")


def execute(*calls: Any) -> str:
    array = [{"name": name, "args": arguments} for name, arguments in calls]
    return f"<execute>\n{json.dumps(array, indent=2)}\n</execute>"


def said(events: Any) -> list[Said]:
    messages = to_messages(events)
    assert all(list(message) == ["role", "content"] for message in messages)
    return [(message["role"], message["content"]) for message in messages]


T = ("t", {})

FOLDS: list[tuple[str, list[Event], list[Said]]] = [
    ("nothing", [], []),
    ("a user message", [user()], [by_user()]),
    ("user messages stay two", [user("a"), user("b")], [by_user("a"), by_user("b")]),
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
        "text between calls stands before all of them",
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
        "results without calls stand before the pending text",
        [respond(), result(), respond("x")],
        [results(), by_assistant("so", "x")],
    ),
    (
        "results without calls, again and again",
        [think(), result("a"), result("b"), user()],
        [results("a"), results("b"), by_assistant("<think>hm</think>"), by_user()],
    ),
    (
        "a second result of one batch has no calls",
        [respond("a"), called(), result("1"), respond("b"), result("2")],
        [by_assistant("a", execute(T)), results("1"), results("2"), by_assistant("b")],
    ),
    ("calls without results are dropped at the end", [called()], []),
    ("the text before them is not", [respond(), called()], [by_assistant("so")]),
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
    ("empty results without calls are nothing", [respond(), result("")], [by_assistant("so")]),
    (
        "what else is in the log is skipped",
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
        "what else is in the log does not end a turn",
        [respond("a"), {"type": "end"}, respond("b"), called(), {"type": "execute"}, result()],
        [by_assistant("a", "b", execute(T)), results()],
    ),
    (
        "tags in contents are contents",
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
    # Contents that are no text
    ("a user's content is passed on as it is", [user(5), user(None)], [by_user(5), by_user(None)]),
    ("a user's content may have parts", [user([{"type": "text"}])], [by_user([{"type": "text"}])]),
    (
        "thought is formatted",
        [think(5), think(None), think(["a"])],
        [by_assistant("<think>5</think>", "<think>None</think>", "<think>['a']</think>")],
    ),
    ("results are formatted", [result({"a": 1}), result(5)], [results("{'a': 1}"), results("5")]),
    ("results that are false are none", [result(None), result(0), result([]), result({})], []),
    ("results may lack their content", [respond(), {"type": "result"}], [by_assistant("so")]),
    (
        "results that lack their content end the turn",
        [called(), {"type": "result"}, respond()],
        [by_assistant(execute(T)), by_assistant("so")],
    ),
    # Calls that are none
    (
        "a call that is JSON but no call is skipped",
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
        "a batch of calls that are none is no batch",
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
def test_the_fold(events, expected):
    assert said(events) == expected


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
def test_a_block_is_rebuilt_as_python_s_json_indents_it(arguments):
    stored_call = f'{{"name": "t", "args": {arguments}}}'
    expected = execute(("t", json.loads(arguments)))
    assert said([event("call", stored_call), result()])[0] == by_assistant(expected)


@pytest.mark.parametrize("depth", [100, 190])
def test_a_call_may_be_nested_as_deep_as_the_parser_lets_it(depth):
    arguments: dict[str, Any] = {}
    for _ in range(depth):
        arguments = {"a": arguments}
    assert said([called("t", a=arguments), result()])[0] == by_assistant(
        execute(("t", {"a": arguments}))
    )


def test_an_integer_that_python_cannot_read_is_kept():
    digits = "7" * (sys.get_int_max_str_digits() + 1)
    [(_, content), _] = said(
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
def test_rows_that_are_no_rows_are_errors(events, error):
    with pytest.raises(error):
        to_messages(events)


@pytest.mark.parametrize("key", ["type", "content"])
def test_a_missing_key_is_named(key):
    row = {name: value for name, value in user().items() if name != key}
    with pytest.raises(KeyError) as caught:
        to_messages([row])
    assert caught.value.args == (key,)


def test_text_that_is_no_text_is_named_with_its_place():
    with pytest.raises(TypeError, match="sequence item 1: expected str instance, int found"):
        to_messages([think(), respond(5), respond(None)])


def test_text_that_is_no_text_is_an_error_when_its_turn_ends():
    with pytest.raises(TypeError, match="expected str instance, list found"):
        to_messages([respond([]), user()])


@pytest.mark.parametrize("make", [tuple, iter, lambda events: (each for each in events)])
def test_rows_may_come_in_any_iterable(make):
    assert said(make([user(), respond()])) == [by_user(), by_assistant("so")]


def test_a_row_may_be_any_mapping():
    rows = [UserDict(row) for row in (respond(), called(), result())]
    assert said(rows) == [by_assistant("so", execute(T)), results()]


def test_a_type_may_be_a_subclass_of_str():
    class Kind(str):
        __slots__ = ()

    assert said([{"type": Kind("user"), "content": "hi"}]) == [by_user()]


def test_the_rows_stay_as_they_were():
    rows = [user(["part"]), think(), called(), result()]
    before = json.dumps(rows)
    to_messages(rows)
    assert json.dumps(rows) == before


def test_a_long_log():
    rows = [user(), think(), respond(), called(), called(), result()] * 2000
    messages = said(rows)
    assert len(messages) == 6000
    assert messages[-3:] == said(rows[:6])


# The next prompt


class Store:
    """A storage that only loads, and says what it was asked."""

    def __init__(self, events: list[Event] = (), profile: Any = None) -> None:
        self._events = list(events)
        self._profile = profile
        self.asked: list[Any] = []

    async def load_messages(
        self, conversation_id: str, user_id: str | None = None, limit: int | None = None
    ) -> list[Event]:
        self.asked.append((conversation_id, user_id, limit))
        first = 0 if limit is None else max(0, len(self._events) - limit)
        return self._events[first:]

    async def load_profile(self, user_id: str) -> Any:
        self.asked.append(user_id)
        if isinstance(self._profile, Exception):
            raise self._profile
        return self._profile


async def prompt(store: Any, user_id: str = "u", **options: Any) -> list[Said]:
    messages = await assemble(user_id, "c", tools=[OK], storage=store, **options)
    return [(message["role"], message["content"]) for message in messages]


TALK = [user("1"), respond("2"), user("3"), respond("4"), user("5")]
FOLDED = [by_user("1"), by_assistant("2"), by_user("3"), by_assistant("4"), by_user("5")]


async def test_the_system_prompt_stands_before_the_history():
    system = system_prompt([OK], "You are Ada.", "Be brief.")
    options = {"identity": "You are Ada.", "instructions": "Be brief."}
    assert await prompt(Store(TALK), **options) == [("system", system), *FOLDED]


async def test_a_new_conversation_has_the_system_prompt_alone():
    assert await prompt(Store()) == [("system", system_prompt([OK]))]


async def test_the_whole_history_is_loaded_and_sent():
    store = Store(TALK)
    assert (await prompt(store))[1:] == FOLDED
    assert store.asked == [("c", "u", None)]


@pytest.mark.parametrize("window", [1, 2, 3, 5, 50])
async def test_a_window_sends_the_last_messages_of_twice_as_many_events(window):
    store = Store(TALK)
    assert (await prompt(store, history_window=window))[1:] == FOLDED[-window:]
    assert store.asked == [("c", "u", 2 * window)]


async def test_a_window_counts_messages_and_not_events():
    store = Store([user(), *[respond()] * 3, user("and")])
    assert (await prompt(store, history_window=2))[1:] == [
        by_assistant("so", "so", "so"),
        by_user("and"),
    ]


async def test_a_window_of_none_sends_no_history():
    assert (await prompt(Store(TALK), history_window=0))[1:] == []


@pytest.mark.parametrize("user_id", ["u", "", "user:7"])
async def test_the_user_is_passed_on(user_id):
    store = Store(TALK)
    await prompt(store, user_id=user_id)
    assert store.asked == [("c", user_id, None)]


async def test_the_history_may_be_changed_before_it_is_sent():
    seen: list[Any] = []

    async def compress(messages: list[Any]) -> list[Any]:
        seen.append(messages)
        return [{"role": "user", "content": "in short"}]

    sent = await prompt(Store(TALK), history_window=2, history_transform=compress)
    assert sent[1:] == [by_user("in short")]
    [messages] = seen
    assert [(message["role"], message["content"]) for message in messages] == FOLDED[-2:]


async def test_without_a_history_there_is_nothing_to_change():
    async def compress(messages: list[Any]) -> list[Any]:
        raise AssertionError("called")

    assert (await prompt(Store(), history_transform=compress))[1:] == []


async def test_an_error_of_the_change_passes_on():
    error = RuntimeError("no")

    async def compress(messages: list[Any]) -> list[Any]:
        raise error

    with pytest.raises(RuntimeError) as caught:
        await prompt(Store(TALK), history_transform=compress)
    assert caught.value is error


async def test_an_error_of_the_storage_passes_on():
    error = OSError("gone")

    class Gone(Store):
        async def load_messages(self, *_: Any, **__: Any) -> list[Event]:
            raise error

    with pytest.raises(OSError, match="gone") as caught:
        await prompt(Gone())
    assert caught.value is error


async def test_ten_thousand_events_are_a_conversation():
    assert len(await prompt(Store([user()] * 10_000))) == 10_001


async def test_more_events_need_a_window():
    with pytest.raises(StorageError, match="history_window") as caught:
        await prompt(Store([user()] * 10_001))
    assert not caught.value.retryable


async def test_a_window_has_no_such_bound():
    store = Store([user()] * 20_000)
    assert len(await prompt(store, history_window=10_000)) == 10_001


async def test_options_are_keywords():
    with pytest.raises(TypeError):
        await assemble("u", "c", [OK], Store())


async def test_the_prompt_of_a_stored_turn(tmp_path):
    async with SQLite(tmp_path / "store.db") as store:
        await store.save_message(CONVERSATION, USER, "user", "hello", 1.0)
        turns = accumulator(with_tools(OK, storage=store))
        await carry_out(turns, parse_tokens(f"<think>hm</think>so{block('ok')}"))
        messages = await assemble(USER, CONVERSATION, tools=[OK], storage=store)
    roles = [message["role"] for message in messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == f"<think>hm</think>\nso\n{execute(('ok', {}))}"


async def test_a_conversation_is_one_user_s(tmp_path):
    async with SQLite(tmp_path / "store.db") as store:
        await store.save_message("c", "u", "user", "mine", 1.0)
        await store.save_message("c", "other", "user", "not mine", 2.0)
        assert (await prompt(store))[1:] == [by_user("mine")]
        assert (await prompt(store, user_id=""))[1:] == [by_user("mine"), by_user("not mine")]


# The profile


async def test_a_profile_follows_the_system_prompt():
    profile = {"who": "Ada é", "likes": ["tea"]}
    [(_, content), *rest] = await prompt(Store(TALK, profile), profile_enabled=True)
    shown = f"USER PROFILE:\n{json.dumps(profile, indent=2)}"
    assert content == f"{system_prompt([OK])}\n\n{shown}"
    assert rest == FOLDED


async def test_a_profile_is_the_user_s():
    store = Store(profile={"who": "Ada"})
    await prompt(store, profile_enabled=True)
    assert store.asked == ["u", ("c", "u", None)]


@pytest.mark.parametrize("profile", [None, {}])
async def test_an_empty_profile_is_not_shown(profile):
    assert await prompt(Store(profile=profile), profile_enabled=True) == await prompt(Store())


async def test_the_profile_is_only_loaded_when_asked_for():
    store = Store(profile={"who": "Ada"})
    assert await prompt(store) == [("system", system_prompt([OK]))]
    assert store.asked == [("c", "u", None)]


async def test_nobody_has_no_profile():
    store = Store(profile={"who": "Ada"})
    await prompt(store, user_id="", profile_enabled=True)
    assert store.asked == [("c", "", None)]


async def test_without_a_database_there_is_no_profile():
    store = Store(profile=OSError("unable to open database file"))
    assert await prompt(store, profile_enabled=True) == await prompt(Store())


async def test_a_profile_that_cannot_be_loaded_is_an_error():
    error = OSError("gone")
    with pytest.raises(RuntimeError, match="gone") as caught:
        await prompt(Store(profile=error), profile_enabled=True)
    assert caught.value.__cause__ is error


# The system prompt


def block_bodies(tag: str, text: str) -> list[str]:
    return re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)


def test_every_block_it_shows_can_be_parsed():
    blocks = block_bodies("execute", system_prompt())
    assert blocks
    for body in blocks:
        assert parse_execute_block(f"<execute>{body}</execute>")


def test_it_shows_a_batch_of_several_calls():
    bodies = block_bodies("execute", system_prompt())
    assert max(len(json.loads(body)) for body in bodies) > 1


def test_the_results_it_shows_are_such_as_the_system_writes():
    text = system_prompt()
    [body] = block_bodies("results", text[text.rindex("<results>") :])
    items = json.loads(body)
    assert {item["status"] for item in items} == {"success", "failure"}
    for item in items:
        expected = ["tool", "status", "outcome", "content"]
        if item["status"] == "failure":
            expected.remove("outcome")
        assert list(item) == expected


async def test_its_example_is_a_turn():
    example = system_prompt()
    example = example[example.rindex("<think>") :]
    kinds = [item["type"] async for item in parse_tokens(example)]
    assert kinds == ["think", "respond", "call", "call", "execute"]


@pytest.mark.parametrize("tag", ["<think>", "<execute>", "</execute>", "<results>", "<end>"])
def test_it_names_the_tags(tag):
    assert tag in system_prompt()


def test_it_lists_the_tools_as_the_instructions_do():
    tools = [
        FunctionTool("read", nothing, "Reads a file.", {"file": {}, "lines": {"required": False}}),
        FunctionTool("now", nothing, "Tells the time."),
    ]
    text = system_prompt(tools)
    for line in tool_instructions(tools).splitlines()[1:]:
        assert line in text


def test_tools_may_come_in_any_iterable():
    assert system_prompt(iter([OK])) == system_prompt([OK])


def test_without_tools_it_says_so():
    assert system_prompt() == system_prompt([]) == system_prompt(None)
    assert system_prompt() != system_prompt([OK])


def test_it_speaks_of_recall_only_where_there_is_such_a_tool():
    recall = FunctionTool("recall", nothing, "Searches.", {"query": {}})
    other = FunctionTool("remember", nothing, "Searches.", {"query": {}})
    assert "`recall`" in system_prompt([OK, recall])
    assert "`recall`" not in system_prompt([OK, other])


def test_an_identity_replaces_the_one_it_has():
    given = system_prompt([OK], "You are Ada.")
    assert given.startswith("You are Ada.\n")
    own = system_prompt([OK]).splitlines()[0]
    assert own not in given


def test_instructions_are_added():
    given, bare = system_prompt([OK], instructions="Be brief."), system_prompt([OK])
    assert "Be brief." in given
    assert len(given) > len(bare)


@pytest.mark.parametrize("empty", [None, ""])
def test_what_is_empty_was_not_given(empty):
    assert system_prompt([OK], empty, empty) == system_prompt([OK])


@pytest.mark.parametrize("text", ["é日😀", "{tools} %s {0}", "</execute><end>", "a\n\nb"])
def test_what_was_given_is_kept_as_it_is(text):
    assert text in system_prompt([OK], identity=text)
    assert text in system_prompt([OK], instructions=text)
    assert text in system_prompt([FunctionTool("t", nothing, text)])


def test_the_same_is_said_to_the_same():
    assert system_prompt([OK], "a", "b") == system_prompt([OK], "a", "b")
