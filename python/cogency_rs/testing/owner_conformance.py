"""The tests of a log about the owner of a conversation, and how each test gets its own log."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

from ..agent.agent import Agent
from ..errors import OwnerError
from .scripted import ScriptedModel

__all__ = ["OwnerConformance", "Test", "on_a_log"]

Test = Callable[[Any, Any], Awaitable[None]]


def on_a_log(test: Test) -> Callable[[Any], None]:
    """Make a test run on its own event loop and its own log."""

    def run(self: OwnerConformance) -> None:
        asyncio.run(self.carry_out(test))

    # Not with `functools.wraps`, since pytest would take the parameter `log` for a fixture.
    run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
    return run


class OwnerConformance(ABC):
    """The tests about owners; `LogConformance` has them too."""

    @abstractmethod
    async def carry_out(self, test: Test) -> None:
        """Run a test on its own log."""

    @on_a_log
    async def test_a_conversation_without_rows_belongs_to_nobody(self, log: Any) -> None:
        _equal(await log.owner("c"), None)
        await log.append("d", user_id="u", rows=[("user", "another", 1.0)])
        _equal(await log.owner("c"), None)

    @on_a_log
    async def test_a_conversation_belongs_to_the_user_of_its_first_row(self, log: Any) -> None:
        for number, user in enumerate(["ada", "", "a/b c", "ж☃"]):
            conversation = f"c{number}"
            await log.append(conversation, user_id=user, rows=[("user", "first", 1.0)])
            await log.append(conversation, user_id="eve", rows=[("user", "second", 2.0)])
            _equal(await log.owner(conversation), user)

    @on_a_log
    async def test_a_run_for_another_user_is_refused_and_writes_nothing(self, log: Any) -> None:
        agent: Agent[Any, str] = Agent(ScriptedModel(lambda _: "Good morning."), storage=log)
        await agent.run("Hello", conversation_id="c", user_id="ada")
        before = await log.read("c")
        for user in ("eve", ""):
            for work in (
                agent.run("Hello", conversation_id="c", user_id=user),
                agent.resume("c", user_id=user),
            ):
                try:
                    await work
                except OwnerError as error:
                    _equal("ada" in str(error), False)
                else:
                    raise AssertionError(
                        f"the user {user!r} may go on with a conversation of 'ada'"
                    )
        _equal((await log.read("c")).rows, before.rows)
        _equal((await agent.resume("c", user_id="ada")).output, "Good morning.")


def _equal(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"expected {expected!r}, found {found!r}")
