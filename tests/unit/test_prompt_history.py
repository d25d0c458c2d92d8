"""`History`: how much of a conversation the next prompt shows, and in which form."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import History, SQLite, assemble
from cogency_rs.context import to_messages
from cogency_rs.errors import ConfigError
from support.conversations import (
    UNMERGED,
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

CALL = execute(("t", {}))


class Store:
    """A storage that notes the limits with which it was asked."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.limits: list[int | None] = []

    async def load_messages(
        self, conversation_id: str, user_id: str, limit: int | None = None
    ) -> list[Event]:
        if (conversation_id, user_id) != ("c", "u"):
            return []
        self.limits.append(limit)
        return self.events[-limit:] if limit is not None else list(self.events)


async def prompt(events: list[Event] | Store, history: History | None = None) -> list[Message]:
    store = events if isinstance(events, Store) else Store(events)
    messages = await assemble("u", "c", tools=[], storage=store, history=history)
    return [(message["role"], message["content"]) for message in messages[1:]]


# The window

TURNS = [
    [user("1"), respond("one")],
    [user("2"), think("look"), called(), result(), respond("two")],
    [user("3")],
    [user("4"), called(), result()],
]
TALK = [row for turn in TURNS for row in turn]
FOLDED = [
    [by_user("1"), by_assistant("one")],
    [by_user("2"), by_assistant("<think>look</think>", CALL), results(), by_assistant("two")],
    [by_user("3")],
    [by_user("4"), by_assistant(CALL), results()],
]


@pytest.mark.parametrize(
    ("window", "turns"),
    [(1, 1), (2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (9, 3), (10, 4), (1000, 4), (None, 4)],
)
async def test_a_window_keeps_the_newest_turns_that_fit_and_always_the_last(window, turns):
    sent = await prompt(TALK, History(window=window, merge_roles=False))
    assert sent == [message for turn in FOLDED[-turns:] for message in turn]


async def test_a_window_counts_messages_before_they_are_merged():
    assert await prompt([user("1"), user("2"), user("3")], History(window=2)) == [by_user("2\n\n3")]


async def test_rows_before_the_first_question_are_left_out_first():
    rows = [respond("welcome"), user(), respond()]
    assert await prompt(rows, History(window=2)) == [by_user(), by_assistant("so")]
    assert await prompt(rows, History(window=3)) == [
        by_assistant("welcome"),
        by_user(),
        by_assistant("so"),
    ]


async def test_rows_without_a_question_are_all_shown():
    rows = [respond("a"), called(), result(), respond("b")] * 50
    assert len(await prompt(rows, History(window=1))) == 101


@pytest.mark.parametrize("history", [History(window=5), History(max_tokens=5)])
async def test_no_more_rows_are_loaded_than_needed(history):
    store = Store([user("ab"), respond("cdef")] * 1000)
    assert len(await prompt(store, history)) == 4
    assert store.limits == [64]


@pytest.mark.parametrize(
    ("history", "turns", "last"),
    [(History(window=2), 1, 1024), (History(window=5), 2, 4096), (History(max_tokens=5), 1, 1024)],
)
async def test_a_long_turn_is_loaded_whole(history, turns, last):
    """Rows are loaded until it is known that the turn before does not fit."""
    long = [user("long"), *[think()] * 1000]
    store = Store(long * 10)
    sent = await prompt(store, history)
    thoughts = by_assistant(*["<think>hm</think>"] * 1000)
    assert sent == [by_user("long"), thoughts] * turns
    assert store.limits == [64 << n for n in range(last.bit_length() - 6)]


async def test_a_window_that_is_full_needs_no_older_rows():
    store = Store([user("a"), *[event("metric")] * 20, user("b"), respond("c")] * 20)
    assert len(await prompt(store, History(window=3, merge_roles=False))) == 3
    assert store.limits == [64]


async def test_a_storage_that_ignores_the_limit_is_asked_once():
    class All(Store):
        async def load_messages(self, *args: Any, limit: int | None = None) -> list[Event]:
            await super().load_messages(*args, limit=limit)
            return self.events

    store = All(TALK * 20)
    assert len(await prompt(store, History(window=3))) == 3
    assert len(store.limits) == 1


async def test_a_window_may_be_as_long_as_the_conversation():
    store = Store([user(), respond()] * 10_000)
    assert len(await prompt(store, History(window=20_000))) == 20_000
    assert len(await prompt(store, History(max_tokens=10))) == 10


async def test_cogency_s_keywords_mean_the_same_as_a_history():
    store = Store(TALK)

    async def loud(messages: list[Any]) -> list[Any]:
        return [{**message, "content": message["content"].upper()} for message in messages]

    options: dict[str, Any] = {"tools": [], "storage": store}
    theirs = await assemble("u", "c", history_window=4, history_transform=loud, **options)
    ours = await assemble("u", "c", history=History(window=4, transform=loud), **options)
    assert theirs == ours
    for keyword in ({"history_window": 4}, {"history_transform": loud}):
        with pytest.raises(ConfigError, match="are part of history"):
            await assemble("u", "c", history=History(), **keyword, **options)


# Tokens


@pytest.mark.parametrize(
    ("most", "sent"),
    [(1, "c"), (3, "c"), (4, "bxc"), (7, "bxc"), (8, "abxc")],
)
async def test_tokens_are_estimated_from_characters(most, sent):
    rows = [user("a" * 15), user("b"), respond("x" * 8), user("c")]
    messages = await prompt(rows, History(max_tokens=most, merge_roles=False))
    assert "".join(content[0] for _, content in messages) == sent


async def test_the_last_question_stays_even_if_it_alone_is_over_the_limit():
    rows = [user("old"), user("long" * 1000), called(), result()]
    assert await prompt(rows, History(max_tokens=1)) == [
        by_user("long" * 1000),
        by_assistant(CALL),
        results(),
    ]


async def test_each_text_is_counted_once():
    texts: list[str] = []

    def count(text: str) -> int:
        texts.append(text)
        return 1

    rows = [row for n in range(500) for row in (user(f"q{n}"), respond(f"a{n}"))]
    sent = await prompt(rows, History(max_tokens=200, count_tokens=count))
    assert len(sent) == 200
    assert len(texts) == len(set(texts)) == 202


async def test_tokens_are_not_counted_if_only_messages_are_limited():
    def count(text: str) -> int:
        raise AssertionError("called")

    await prompt(TALK, History(window=3, count_tokens=count))


@pytest.mark.parametrize("tokens", [-1, 1.5, None, "1"])
async def test_a_count_that_is_not_a_whole_number_is_refused(tokens):
    with pytest.raises(ConfigError, match="count_tokens must return a whole number"):
        await prompt(TALK, History(max_tokens=10, count_tokens=lambda _: tokens))


async def test_content_that_is_not_text_is_counted_by_its_printed_form():
    assert await prompt([user([1]), user("b")], History(max_tokens=2)) == [
        ("user", [1, {"type": "text", "text": "b"}])
    ]


# Neighbours of one role


MERGED: list[tuple[str, list[Event], list[Message]]] = [
    ("questions", [user("a"), user("b"), user("c")], [by_user("a\n\nb\n\nc")]),
    (
        "results and a question",
        [called(), result(), user("and?")],
        [by_assistant(CALL), by_user("<results>\n[1]\n</results>\n\nand?")],
    ),
    (
        "text after results that are empty",
        [called(), result(""), respond()],
        [by_assistant(f"{CALL}\n\nso")],
    ),
    ("roles that differ", [user(), respond(), user()], [by_user(), by_assistant("so"), by_user()]),
    ("lists of parts", [user([1]), user([2, 3])], [by_user([1, 2, 3])]),
    (
        "a list and text",
        [user([1]), user("a")],
        [by_user([1, {"type": "text", "text": "a"}])],
    ),
    (
        "contents of other kinds",
        [user(5), user("a"), user(None)],
        [by_user(5), by_user("a"), by_user(None)],
    ),
]


@pytest.mark.parametrize(
    ("events", "expected"), [pytest.param(*row, id=name) for name, *row in MERGED]
)
async def test_neighbours_of_one_role_become_one_message(events, expected):
    assert await prompt(events) == expected
    unmerged = await prompt(events, UNMERGED)
    assert len(unmerged) > len(expected) or unmerged == expected


async def test_the_rows_are_not_changed():
    rows = [user([1]), user([2])]
    await prompt(rows)
    assert rows == [user([1]), user([2])]


async def test_messages_with_other_keys_are_not_merged():
    def marked(messages: list[Any]) -> list[Any]:
        return [{**message, "cached": True} for message in messages]

    assert len(await prompt([user("a"), user("b")], History(transform=marked))) == 2


async def test_the_system_prompt_is_not_merged():
    def noted(messages: list[Any]) -> list[Any]:
        return [{"role": "system", "content": "so far: nothing"}, *messages]

    sent = await prompt([user()], History(transform=noted))
    assert sent == [("system", "so far: nothing"), by_user()]


# The transform


async def test_a_transform_may_be_a_plain_function():
    def shorter(messages: list[Any]) -> list[Any]:
        return messages[-1:]

    assert await prompt(TALK, History(transform=shorter)) == [results()]


async def test_the_messages_of_a_transform_are_merged():
    def summed(messages: list[Any]) -> tuple[Any, ...]:
        return ({"role": "user", "content": "so far: nothing"}, *messages)

    assert await prompt([user()], History(transform=summed)) == [by_user("so far: nothing\n\nhi")]


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (None, "returned None: is its `return` missing"),
        ("text", "returned str: 'text'"),
        ({"role": "user", "content": ""}, "returned dict"),
        ([{"role": "user", "content": ""}, "x"], "number 1 is not a message: 'x'"),
        ([{"role": "user"}], "number 0 is not a message: {'role': 'user'}"),
        ([{"role": 5, "content": ""}], "number 0 is not a message"),
    ],
)
async def test_a_transform_that_returns_anything_but_messages_is_refused(returned, problem):
    async def wrong(_: Any) -> Any:
        return returned

    for transform in (wrong, lambda _: returned):
        with pytest.raises(ConfigError, match="must return a list of messages") as caught:
            await prompt(TALK, History(transform=transform))
        assert problem in str(caught.value)


# Values


@pytest.mark.parametrize("name", ["window", "max_tokens", "max_result_chars"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "5", True, 10**30])
def test_a_bound_is_a_whole_number_from_1_on(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a whole number of at least 1"):
        History(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("count_tokens", None, "count_tokens must be a function"),
        ("transform", 5, "transform must be a function"),
        ("merge_roles", 1, "merge_roles must be True or False"),
    ],
)
def test_an_option_with_a_wrong_value_is_refused(name, value, problem):
    with pytest.raises(ConfigError, match=problem):
        History(**{name: value})


async def test_anything_but_a_history_is_refused():
    with pytest.raises(ConfigError, match="history must be a History, got 5"):
        await prompt(TALK, 5)  # type: ignore[arg-type]


# Any log

REPORT = json.dumps({"kind": "malformed", "content": "Write it again.", "raw": "<execute>["})
RESULTS = json.dumps([{"tool": "t", "status": "success", "content": "x" * 50}])
kinds = st.sampled_from(
    [
        user(),
        user(),
        think(),
        respond(),
        respond(""),
        called(),
        called(),
        result(RESULTS),
        result(RESULTS),
        result(""),
        event("error", REPORT),
        event("error", "the network is down"),
        event("metric"),
        event("cancelled", "x"),
    ]
)
logs = st.lists(kinds, max_size=80).map(
    lambda rows: [
        {**row, "content": f"{number}?"} if row["type"] == "user" else row
        for number, row in enumerate(rows)
    ]
)
histories = st.builds(
    History,
    window=st.one_of(st.none(), st.integers(1, 20)),
    max_tokens=st.one_of(st.none(), st.integers(1, 60)),
    merge_roles=st.booleans(),
    max_result_chars=st.sampled_from([None, 10]),
)


@given(logs, histories)
async def test_every_prompt_is_one_that_a_model_can_answer(rows, history):
    sent = await prompt(rows, history)
    roles = [role for role, _ in sent]
    if history.merge_roles:
        assert all(one != other for one, other in pairwise(roles))
    whole = await prompt(rows, History(merge_roles=False, max_result_chars=None))
    assert bool(sent) == bool(whole)
    shown_rows = [content for _, content in sent]
    if questions := [row["content"] for row in rows if row["type"] == "user"]:
        assert any(questions[-1] in content for content in shown_rows)
    shown = await prompt(
        rows, History(history.window, history.max_tokens, merge_roles=False, max_result_chars=None)
    )
    assert shown == whole[len(whole) - len(shown) :], (
        "the prompt must be an end of the conversation"
    )
    if len(shown) < len(whole):
        assert shown[0][1] in questions, "the prompt must begin with a question"
    for (role, before), (_, content) in zip([("", ""), *shown], shown, strict=False):
        if content.startswith("<results>"):
            assert (role, before.endswith("</execute>")) == ("assistant", True)


@given(logs, histories)
async def test_a_window_leaves_out_no_turn_that_would_fit(rows, history):
    history = History(history.window, history.max_tokens, merge_roles=False)
    whole, sent = await prompt(rows, UNMERGED), await prompt(rows, history)
    starts = [0, *(at for at, (_, content) in enumerate(whole) if content.endswith("?"))]

    def fits(start: int) -> bool:
        contents = [content for _, content in whole[start:]]
        tokens = sum(-(-len(content) // 4) for content in contents)
        return len(contents) <= (history.window or 10**9) and tokens <= (
            history.max_tokens or 10**9
        )

    expected = min([start for start in starts if fits(start)], default=starts[-1])
    assert sent == whole[min(expected, starts[-1]) :]


@given(logs)
def test_to_messages_leaves_out_rows_of_type_error(rows):
    assert to_messages(rows) == to_messages([row for row in rows if row["type"] != "error"])


@given(logs, st.lists(st.integers(0, 80), max_size=3))
async def test_a_prompt_from_a_growing_log_is_the_same_as_one_from_all_its_rows(rows, cuts):
    async with SQLite(":memory:", synchronous="OFF") as storage:
        before = 0
        for cut in [*sorted(cuts), len(rows)]:
            saved = [
                ("c", "u", row["type"], row["content"] or "", None) for row in rows[before:cut]
            ]
            await storage.save_messages(saved)
            before = max(before, cut)
            messages = await assemble("u", "c", tools=[], storage=storage)
            found = [(message["role"], message["content"]) for message in messages[1:]]
            assert found == await prompt(rows[:before])
