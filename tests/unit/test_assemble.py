"""`assemble`: the system prompt, the profile, and as much of the history as was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import SQLite, assemble, parse_tokens, system_prompt
from cogency_rs.errors import ConfigError
from support.conversations import (
    Event,
    Message,
    by_assistant,
    by_user,
    execute,
    respond,
    user,
)
from support.tools import OK, block, with_tools
from support.turns import CONVERSATION, USER, accumulator, carry_out


class Store:
    """A storage that can only load rows, and notes how it was asked."""

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


async def prompt(store: Any, user_id: str = "u", **options: Any) -> list[Message]:
    messages = await assemble(user_id, "c", tools=[OK], storage=store, **options)
    return [(message["role"], message["content"]) for message in messages]


ASKED = 10_001
"""How many rows are asked for without a bound: one more than are shown."""

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
    assert store.asked == [("c", "u", ASKED)]


@pytest.mark.parametrize("user_id", ["u", "", "user:7"])
async def test_the_user_is_passed_on(user_id):
    store = Store(TALK)
    await prompt(store, user_id=user_id)
    assert store.asked == [("c", user_id, ASKED)]


async def test_the_history_may_be_changed_before_it_is_sent():
    seen: list[Any] = []

    async def compress(messages: list[Any]) -> list[Any]:
        seen.append(messages)
        return [{"role": "user", "content": "in short"}]

    sent = await prompt(Store(TALK), history_window=3, history_transform=compress)
    assert sent[1:] == [by_user("in short")]
    [messages] = seen
    assert [(message["role"], message["content"]) for message in messages] == FOLDED[-3:]


async def test_an_empty_history_is_not_given_to_the_transform():
    async def compress(messages: list[Any]) -> list[Any]:
        raise AssertionError("called")

    assert (await prompt(Store(), history_transform=compress))[1:] == []


async def test_an_error_of_the_transform_is_raised():
    error = RuntimeError("no")

    async def compress(messages: list[Any]) -> list[Any]:
        raise error

    with pytest.raises(RuntimeError) as caught:
        await prompt(Store(TALK), history_transform=compress)
    assert caught.value is error


async def test_an_error_of_the_storage_is_raised():
    error = OSError("gone")

    class Gone(Store):
        async def load_messages(self, *_: Any, **__: Any) -> list[Event]:
            raise error

    with pytest.raises(OSError, match="gone") as caught:
        await prompt(Gone())
    assert caught.value is error


async def test_a_conversation_may_have_ten_thousand_events():
    assert len(await prompt(Store([user(), respond()] * 5_000))) == 10_001


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


async def test_the_history_of_a_user_has_only_that_user_s_rows(tmp_path):
    async with SQLite(tmp_path / "store.db") as store:
        await store.save_message("c", "u", "user", "mine", 1.0)
        await store.save_message("c", "other", "respond", "not mine", 2.0)
        assert (await prompt(store))[1:] == [by_user("mine")]
        assert (await prompt(store, user_id=""))[1:] == [by_user("mine"), by_assistant("not mine")]


# Ids that are swapped


async def test_swapped_ids_are_refused(tmp_path):
    async with SQLite(tmp_path / "store.db") as store:
        await store.save_message("talk", "ada", "user", "hello")
        with pytest.raises(ConfigError, match="user_id 'talk' and conversation_id 'ada' are swap"):
            await assemble("talk", "ada", tools=[], storage=store)
        with pytest.raises(ConfigError, match="swapped"):
            await assemble("talk", "", tools=[], storage=store)


@pytest.mark.parametrize(
    ("user_id", "conversation_id"),
    [("ada", "new"), ("talk", "new"), ("", "ada"), ("new", "talk"), ("ada", "ada")],
)
async def test_ids_that_are_not_swapped_are_those_of_an_empty_conversation(
    tmp_path, user_id, conversation_id
):
    async with SQLite(tmp_path / "store.db") as store:
        await store.save_message("talk", "ada", "user", "hello")
        messages = await assemble(user_id, conversation_id, tools=[], storage=store)
        assert [message["role"] for message in messages] == ["system"]


@pytest.mark.parametrize("window", [None, 5])
async def test_the_log_is_asked_for_swapped_ids_only_if_nothing_was_found(window):
    empty, talk = Store(), Store(TALK)
    for store in (empty, talk):
        await prompt(store, history_window=window)
    [first] = talk.asked
    assert empty.asked == [first, ("u", "c", 1)]


# The profile


async def test_a_profile_follows_the_system_prompt():
    profile = {"who": "Ada é", "likes": ["tea"]}
    [(_, content), *rest] = await prompt(Store(TALK, profile), profile_enabled=True)
    shown = f"USER PROFILE:\n{json.dumps(profile, indent=2)}"
    assert content == f"{system_prompt([OK])}\n\n{shown}"
    assert rest == FOLDED


async def test_the_profile_is_loaded_for_the_user():
    store = Store(TALK, profile={"who": "Ada"})
    await prompt(store, profile_enabled=True)
    assert store.asked == ["u", ("c", "u", ASKED)]


@pytest.mark.parametrize("profile", [None, {}])
async def test_an_empty_profile_is_not_shown(profile):
    assert await prompt(Store(profile=profile), profile_enabled=True) == await prompt(Store())


async def test_the_profile_is_only_loaded_when_asked_for():
    store = Store(TALK, profile={"who": "Ada"})
    assert await prompt(store) == [("system", system_prompt([OK])), *FOLDED]
    assert store.asked == [("c", "u", ASKED)]


async def test_without_a_user_there_is_no_profile():
    store = Store(profile={"who": "Ada"})
    await prompt(store, user_id="", profile_enabled=True)
    assert store.asked == [("c", "", ASKED)]


async def test_without_a_database_there_is_no_profile():
    store = Store(profile=OSError("unable to open database file"))
    assert await prompt(store, profile_enabled=True) == await prompt(Store())


async def test_a_profile_that_cannot_be_loaded_is_an_error():
    error = OSError("gone")
    with pytest.raises(RuntimeError, match="gone") as caught:
        await prompt(Store(profile=error), profile_enabled=True)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("stored", ['{"name":"t","args":{"a":"x', "nonsense", "", "[" * 100_000])
async def test_a_stored_call_of_which_only_a_part_is_there_is_shown_as_it_is(stored):
    events = [user("1"), {"type": "call", "content": stored}, respond(" 2"), user("3")]
    messages = await prompt(Store(events))
    assert messages[1:] == [by_user("1"), by_assistant(f"{stored}\n 2"), by_user("3")]
