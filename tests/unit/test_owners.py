"""A conversation is carried on only for the user who began it: in every storage, by every way to name it."""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
from collections.abc import AsyncIterable
from contextlib import closing
from typing import Any

import pytest

from cogency_rs import Agent, CogencyError, RunLimits
from cogency_rs.errors import ConfigError, OwnerError
from cogency_rs.storage import LogPage
from cogency_rs.storage.queries import read_owner
from cogency_rs.storage.sqlite.queries import run_query
from cogency_rs.testing import ScriptedModel
from support.agents import add, adding
from support.logs import Stored, write
from support.storages import every_log

__all__ = ["every_log"]

SECRET = "The code is 4711."


def asking(log: Any, *answers: str, **options: Any) -> Agent[Any, str]:
    script: Any = [*answers] if answers else lambda _: SECRET
    return Agent(ScriptedModel(script), tools=[add], storage=log, **options)


async def read_all(events: AsyncIterable[Any]) -> list[Any]:
    return [event async for event in events]


WAYS = {
    "run": lambda agent, user: agent.run("And?", conversation_id="c", user_id=user),
    "run, watched": lambda agent, user: read_all(
        agent.run("And?", conversation_id="c", user_id=user)
    ),
    "run, by its steps": lambda agent, user: read_all(
        agent.run("And?", conversation_id="c", user_id=user).steps()
    ),
    "resume": lambda agent, user: agent.resume("c", user_id=user),
    "resume, watched": lambda agent, user: read_all(agent.resume("c", user_id=user)),
    "delete": lambda agent, user: agent.storage.delete_conversation("c", user),
}

USERS = {
    "the user who began it": ("ada", "ada", True),
    "another user": ("ada", "bob", False),
    "nobody, where a user began it": ("ada", "", False),
    "a user, where nobody began it": ("", "ada", False),
    "nobody, where nobody began it": ("", "", True),
    "a user whose name begins like hers": ("ada", "ad", False),
    "a user in other letters": ("ada", "ADA", False),
}


async def everything(log: Any) -> Any:
    return (await log.read("c")).rows, await log.calls("c"), await log.conversations()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("owner", "user", "may"), USERS.values(), ids=USERS)
async def test_who_may_name_a_conversation(every_log, way, owner, user, may):
    agent = asking(every_log)
    await agent.run("Hello?", conversation_id="c", user_id=owner)
    before, asked = await everything(every_log), len(agent._settings.model.requests)
    if may:
        await way(agent, user)
        return
    with pytest.raises(OwnerError) as caught:
        await way(agent, user)
    assert await everything(every_log) == before
    assert len(agent._settings.model.requests) == asked
    error = caught.value
    assert (error.conversation_id, error.user_id) == ("c", user)
    assert isinstance(error, CogencyError)
    assert repr(owner) not in str(error)
    assert SECRET not in str(error)
    assert str(error).endswith(
        "give the user_id that it was begun with, or another conversation_id"
    )


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ("bob", "conversation 'c' was not begun by user 'bob'"),
        ("", "conversation 'c' was begun with a user_id, but none was given"),
    ],
)
async def test_the_error_says_who_asked_and_not_whose_it_is(every_log, user, message):
    agent = asking(every_log)
    await agent.run("Hello?", conversation_id="c", user_id="ada")
    with pytest.raises(OwnerError, match=message) as caught:
        await agent.resume("c", user_id=user)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.user_id) == (str(caught.value), user)


async def test_what_another_user_reads_of_it_is_empty(every_log):
    await asking(every_log, adding(1, 2), SECRET).run("Hello?", conversation_id="c", user_id="ada")
    assert (await every_log.read("c", user_id="bob")).rows == []
    assert await every_log.calls("c", user_id="bob") == []
    assert await every_log.conversations("bob") == []
    assert [entry.user_id for entry in await every_log.conversations("ada")] == ["ada"]
    if hasattr(every_log, "load_messages"):
        assert await every_log.load_messages("c", "bob") == []


async def test_of_two_users_who_begin_one_conversation_at_once_exactly_one_has_it(every_log):
    users = ["ada", "bob", "eve", ""]
    agent = asking(every_log)
    ended = await asyncio.gather(
        *(agent.run("Hello?", conversation_id="c", user_id=user) for user in users),
        return_exceptions=True,
    )
    refused = [isinstance(each, OwnerError) for each in ended]
    assert sorted(refused) == [False, True, True, True]
    assert await every_log.owner("c") == users[refused.index(False)]
    assert len((await every_log.read("c")).rows) == 2


async def test_a_conversation_that_was_deleted_may_be_begun_by_another_user(every_log):
    agent = asking(every_log)
    await agent.run("Hello?", conversation_id="c", user_id="ada")
    assert await every_log.delete_conversation("c", "ada") == 2
    await agent.run("Hello?", conversation_id="c", user_id="bob")
    assert await every_log.owner("c") == "bob"


async def test_without_a_user_anybody_s_conversation_is_deleted(every_log):
    await asking(every_log).run("Hello?", conversation_id="c", user_id="ada")
    assert await every_log.delete_conversation("c") == 2
    assert await every_log.delete_conversation("c", "ada") == 0


async def test_a_run_that_is_refused_leaves_the_conversation_to_its_user(every_log):
    """Also at once, with `on_busy="error"`: its claim was given back."""
    agent = asking(every_log, limits=RunLimits(on_busy="error"))
    await agent.run("Hello?", conversation_id="c", user_id="ada")
    for _ in range(2):
        with pytest.raises(OwnerError):
            await agent.run("Hello?", conversation_id="c", user_id="bob")
        await agent.run("Hello?", conversation_id="c", user_id="ada")


async def test_where_rows_of_several_users_are_in_one_conversation_the_first_has_it(every_log):
    """As cogency writes them; the first reads only what is hers."""
    for user, time in (("ada", 1.0), ("bob", 2.0)):
        rows = [("user", f"I am {user}.", time), ("respond", f"Hello {user}.", time)]
        await every_log.append("c", user_id=user, rows=rows)
    agent = asking(every_log)
    assert (await agent.resume("c", user_id="ada")).output == "Hello ada."
    with pytest.raises(OwnerError):
        await agent.resume("c", user_id="bob")


def test_finding_the_owner_costs_the_same_in_a_long_conversation(tmp_path):
    """Counted in steps of SQLite's machine."""
    steps = {}
    for rows in (2, 2_000):
        path = write(tmp_path / f"{rows}.db", [Stored("user", "text", n) for n in range(rows)])
        with closing(sqlite3.connect(path)) as connection:
            counted: list[int] = []
            connection.set_progress_handler(lambda counted=counted: counted.append(1), 1)
            assert run_query(connection, read_owner("staging")) == "ada"
            steps[rows] = len(counted)
    assert steps[2_000] == steps[2]


def test_a_log_that_cannot_say_whose_a_conversation_is_is_refused():
    class Ownerless:
        def append(self, conversation_id: str, **_: Any) -> None: ...

        async def read(self, conversation_id: str, **_: Any) -> LogPage: ...

        async def calls(self, conversation_id: str, **_: Any) -> list[Any]: ...

        def claim(self, conversation_id: str, *, wait: bool = True) -> Any: ...

    with pytest.raises(ConfigError, match=r"it has no owner\(conversation_id\)"):
        asking(Ownerless())
