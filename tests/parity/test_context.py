"""A log becomes cogency's messages, byte for byte, and `assemble` asks the storage what cogency's asks it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, strategies as st

import cogency_rs
from cogency_rs.context import to_messages

from . import differences
from .oracle import LogOfAda, Raised, Stored, cogency, outcome, run, skip_without_cogency
from .pieces import generous
from .recorded import lines
from .strategies import json_trees, logs, made, odd_logs, parity, stored, words

skip_without_cogency()


def theirs(events: Any) -> Any:
    return outcome(cogency("context.conversation").to_messages, events)


def ours(events: Any) -> Any:
    return outcome(to_messages, events)


def same(found: Any, wanted: Any) -> bool:
    """Whether two values are equal, also in the order of their keys; NaN equals NaN."""
    return repr(found) == repr(wanted)


@parity(300)
@given(logs)
def test_a_log_gives_cogency_s_messages(events):
    assert ours(events) == theirs(events)


@parity(300)
@given(odd_logs)
def test_a_log_of_anything_gives_what_cogency_gives(events):
    found, wanted = ours(events), theirs(events)
    assert same(found, wanted), (found, wanted)


deep = st.sampled_from([100, 150, 1200]).map(
    lambda depth: '{"name": "t", "args": {"x": ' + "[" * depth + "]" * depth + "}}"
)
huge = st.sampled_from([4300, 4301, 6000]).flatmap(
    lambda digits: st.sampled_from(
        ['{"name": "t", "args": {"x": -%s}}', "[%s, -1]", "%s", '{"name": "t", "by": {"x": -%s}}']
    ).map(lambda shape: shape % ("7" * digits))
)


@parity(100)
@given(st.lists(st.one_of(stored, made("call", deep), made("call", huge)), max_size=6))
def test_calls_that_python_cannot_read_are_shown(events):
    names = {each.name for each in differences.ROWS for row in events if each(row)}
    with generous() if names else nullcontext():
        wanted = theirs(events)
    found = ours(events)
    if "nesting_in_the_log" in names:
        # What is nested deepest is on one line.
        found, wanted = unspaced(found), unspaced(wanted)
    assert found == wanted


def unspaced(messages: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(each["role"], "".join(each["content"].split())) for each in messages]


@pytest.mark.parametrize(
    "events", [None, 5, "ab", {}, {"type": "user"}, (), b"", [[]], [("type",)]]
)
def test_anything_but_a_list_of_events_raises_what_cogency_raises(events):
    assert ours(events) == theirs(events)


class Shade(str, Enum):  # unlike a StrEnum, it is formatted as its name
    DARK = "dark"


class Shouted(str):
    def __format__(self, spec: str) -> str:
        return self.upper()


class Unprintable:
    def __format__(self, spec: str) -> str:
        raise LookupError("not to be shown")


@pytest.mark.parametrize("kind", ["user", "think", "respond", "call", "result", Shade.DARK])
@pytest.mark.parametrize(
    "content",
    [object, int, Shade.DARK, Shouted("a"), Unprintable(), 1.5, b"{}", True, [], Decimal("1.0")],
)
def test_content_of_any_type_gives_what_cogency_gives(kind, content):
    events = [{"type": "respond", "content": "a"}, {"type": kind, "content": content}]
    assert same(ours(events), theirs(events)), (ours(events), theirs(events))


def test_events_may_come_from_a_generator():
    row = {"type": "user", "content": "a"}
    assert ours(row for _ in "12") == theirs(row for _ in "12")


def test_recorded_conversations_give_cogency_s_messages(recordings):
    for conversation in lines(recordings, "conversations"):
        events = conversation["events"]
        assert ours(events) == theirs(events)


def test_every_beginning_of_a_recorded_conversation_gives_cogency_s_messages(recordings):
    for conversation in lines(recordings, "conversations")[:5]:
        events = conversation["events"]
        for end in range(len(events)):
            assert ours(events[:end]) == theirs(events[:end])
        for start in range(len(events)):
            assert ours(events[start:]) == theirs(events[start:])


# assemble


async def shortened(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"{len(messages)} before"}, *messages[-1:]]


async def refused(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    raise LookupError(f"{len(messages)} messages")


@cache
def installed() -> Any:
    """Our `assemble`, as `install()` puts it into cogency."""
    with cogency_rs.install() as made:
        return made.replacements["cogency.context.assembly.assemble"][1]


def assembled(assemble: Any, events: Any, profile: Any, options: dict[str, Any]) -> Any:
    """What `assemble` returns or raises, and what it asked its storage for.

    Cogency is given the log with a result for every call.
    """
    is_theirs = assemble is not installed() and not isinstance(events, Exception)
    if is_theirs and differences.calls_without_results(events):
        events = differences.promised_log(events)
    storage = Stored(events, profile)
    messages = run(assemble(storage=storage, tools=[], conversation_id="c", **options))
    return messages, storage.asked


few = st.lists(
    st.one_of(made("metric", words), made("call", st.sampled_from(["{}", "[]"]))), max_size=2
)


@parity(250)
@given(
    st.one_of(logs, few, st.sampled_from([OSError("locked"), ValueError("")])),
    st.one_of(
        st.none(),
        st.dictionaries(words, json_trees, max_size=2),
        st.sampled_from([OSError("unable to open database file"), OSError("disk"), ValueError()]),
    ),
    st.fixed_dictionaries(
        {
            "user_id": st.sampled_from(["user", ""]),
            "history_window": st.sampled_from([None, None, 0, 1, 2, 5, -1]),
            "history_transform": st.sampled_from([None, None, shortened, refused]),
            "profile_enabled": st.booleans(),
        },
        optional={
            "identity": st.sampled_from([None, "", "I am"]),
            "instructions": st.sampled_from([None, "", "do it"]),
        },
    ),
)
def test_assemble_gives_cogency_s_history(events, profile, options):
    wanted = assembled(cogency("context.assembly").assemble, events, profile, options)
    found = assembled(installed(), events, profile, options)
    assert same(found, wanted), (found, wanted)


@pytest.mark.parametrize(
    "events", [[], [{"type": "metric", "content": ""}], [{"type": "call", "content": "{}"}]]
)
def test_a_transform_sees_the_history_that_cogency_s_sees(events):
    """Also an empty history, of an empty log or of a log whose rows are not shown."""
    options = {
        "user_id": "u",
        "history_window": None,
        "history_transform": shortened,
        "profile_enabled": False,
    }
    wanted = assembled(cogency("context.assembly").assemble, events, None, options)
    assert assembled(installed(), events, None, options) == wanted


@pytest.mark.parametrize(("length", "window"), [(10_000, None), (10_001, None), (10_001, 3)])
def test_a_conversation_that_is_too_long_is_refused_like_cogency_s(length, window):
    events = [{"type": "user", "content": "a"}] * length
    options = {
        "user_id": "u",
        "history_window": window,
        "history_transform": None,
        "profile_enabled": False,
    }
    wanted = assembled(cogency("context.assembly").assemble, events, None, options)
    found = assembled(installed(), events, None, options)
    if differences.conversation_that_is_too_long(events, window):
        assert isinstance(wanted[0], Raised)
        assert (found[0].kind, found[1]) == (wanted[0].kind, wanted[1])
    else:
        assert found == wanted


def test_recorded_conversations_are_assembled_like_cogency_s(recordings):
    for conversation in lines(recordings, "conversations"):
        for window in (None, 4):
            options = {
                "user_id": "u",
                "history_window": window,
                "history_transform": None,
                "profile_enabled": False,
            }
            wanted = assembled(
                cogency("context.assembly").assemble, conversation["events"], None, options
            )
            assert assembled(installed(), conversation["events"], None, options) == wanted


async def test_a_growing_log_is_assembled_like_cogency_s(recordings):
    """Over our own storage, which folds only the rows that are new since the last prompt."""
    options = {
        "tools": [],
        "history_window": None,
        "history_transform": None,
        "profile_enabled": False,
    }
    for conversation in lines(recordings, "conversations")[:10]:
        events = conversation["events"]
        async with cogency_rs.SQLite(":memory:") as storage:
            for count, event in enumerate(events, 1):
                await storage.save_message("c", "u", event["type"], event["content"], float(count))
                if count % 5 and count < len(events):
                    continue
                found = await installed()("u", "c", storage=storage, **options)
                log = Stored(differences.promised_log(events[:count]))
                wanted = await cogency("context.assembly").assemble(
                    "u", "c", storage=log, **options
                )
                assert found == wanted


# Our own assemble


def merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not differences.neighbours_of_one_role(messages):
        return messages
    groups = groupby(messages, key=lambda message: message["role"])
    return [
        {"role": role, "content": "\n\n".join(message["content"] for message in group)}
        for role, group in groups
    ]


def windowed(starts: list[int], messages: list[Any], window: int | None) -> list[Any]:
    """The messages of the last whole turns that fit the window, and always of the last turn."""
    if not differences.window_in_a_turn(starts, len(messages), window):
        return messages if window is None else messages[-window:]
    fitting = [start for start in starts if len(messages) - start <= window]
    return messages[min([*fitting, *starts[-1:]], default=0) :]


reports = made(
    "error",
    st.builds(
        lambda kind, content, raw: json.dumps({"kind": kind, "content": content, "raw": raw}),
        st.sampled_from(["malformed", "truncated", "unfinished", "network"]),
        words,
        st.one_of(st.just(""), words),
    ),
)


@parity(250)
@given(
    st.lists(st.one_of(stored, stored, stored, reports), max_size=10),
    st.sampled_from([None, None, 1, 2, 5]),
)
def test_our_own_assemble_gives_cogency_s_history_except_for_the_named_differences(events, window):
    options = {"user_id": "u", "conversation_id": "c", "tools": [], "history_window": window}
    found = run(cogency_rs.assemble(storage=Stored(events), **options))
    expected = outcome(differences.messages_of, events)
    if not (
        differences.report_of_a_block(events)
        or differences.part_of_a_call(events)
        or differences.results_without_calls(events)
        or differences.words_that_go_on(events)
    ):
        assert expected == outcome(
            cogency("context.conversation").to_messages, differences.promised_log(events)
        )
    if isinstance(expected, Raised):
        assert found == expected
        return
    system, *history = found
    assert differences.words_of_the_system_prompt(system)
    assert history == merged(windowed(differences.turns(events), expected, window))


@pytest.mark.parametrize(("length", "is_cut"), [(100_000, False), (100_001, True)])
def test_our_own_assemble_shows_results_up_to_a_bound(length, is_cut):
    [row] = result = [{"type": "result", "content": json.dumps([{"content": "x" * length}])}]
    events = [{"type": "call", "content": '{"name": "t"}'}, *result]
    options = {"user_id": "u", "conversation_id": "c", "tools": []}
    *_, last = run(cogency_rs.assemble(storage=Stored(events), **options))
    *_, theirs = differences.messages_of(events)
    assert differences.results_beyond_the_bound(row, 100_000) is is_cut
    assert (last != theirs) is is_cut


def test_our_own_assemble_words_the_failure_of_a_profile_differently():
    options = {"user_id": "u", "conversation_id": "c", "tools": [], "profile_enabled": True}
    profile = OSError("x")
    assert differences.words_of_a_failed_profile(profile)
    theirs = cogency("context.assembly").assemble(
        storage=Stored([], profile), history_window=None, history_transform=None, **options
    )
    ours = cogency_rs.assemble(storage=Stored([], profile), **options)
    assert run(ours).kind == run(theirs).kind


@pytest.mark.parametrize(("length", "is_refused"), [(10_000, False), (10_001, True)])
def test_our_own_assemble_shows_the_end_of_a_conversation_that_cogency_refuses(length, is_refused):
    events = [{"type": "user", "content": str(number)} for number in range(length)]
    options = {"user_id": "u", "conversation_id": "c", "tools": [], "history_window": None}
    theirs = run(
        cogency("context.assembly").assemble(
            storage=Stored(events), history_transform=None, profile_enabled=False, **options
        )
    )
    assert isinstance(theirs, Raised) is is_refused
    assert differences.conversation_that_is_too_long(events, None) is is_refused
    _, only = run(cogency_rs.assemble(storage=Stored(events), **options))
    assert only["content"].split("\n\n") == [str(number) for number in range(length)][-10_000:]


def test_our_own_assemble_refuses_swapped_ids():
    storage = LogOfAda([{"type": "user", "content": "hello"}])
    for ids in [("ada", "talk"), ("talk", "ada"), ("ada", "new")]:
        found = run(cogency_rs.assemble(*ids, tools=[], storage=storage))
        assert isinstance(found, Raised) is differences.swapped_ids({("ada", "talk")}, *ids)
