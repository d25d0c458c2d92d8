"""The tests of a log about owners, and about what has changed since a page was read.

Plain functions instead of `assert`, since pytest rewrites assertions in test files only.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any
from unittest import SkipTest

from ..agent.agent import Agent
from ..context.assembly import assemble
from ..errors import ConfigError, OwnerError
from .scripted import ScriptedModel


def contents_of(page: Any) -> list[str]:
    """The contents of a page's rows."""
    return [row["content"] for row in page.rows]


async def save(log: Any, *rows: tuple[str, float]) -> None:
    """Append rows, each a content and a time, to the conversation "c" of the user "u"."""
    await log.append("c", user_id="u", rows=[("user", content, time) for content, time in rows])


def optional(log: Any, method: str) -> Any:
    """A method of a log; the test is skipped without it."""
    if not hasattr(log, method):
        raise SkipTest(f"the log has no {method}, which is optional")
    return getattr(log, method)


def equal(found: object, expected: object, what: str) -> None:
    """Check a value."""
    if found != expected:
        raise AssertionError(f"{what}: expected {_short(expected)}, found {_short(found)}")


def shows(page: Any, contents: list[str], what: str, *, is_whole: bool) -> None:
    """Check the contents of a page, and whether it is whole."""
    equal(contents_of(page), contents, what)
    equal(page.is_whole, is_whole, f"{what}: whether it is whole")


def contains(found: Any, *parts: object) -> None:
    """Check that each of `parts` is in a value."""
    for part in parts:
        if part not in found:
            raise AssertionError(f"{_short(part)} is not in {_short(found)}")


async def raised(kind: type[BaseException], work: Callable[[], Awaitable[Any]]) -> BaseException:
    """What `work` raises, at once or when it is awaited."""
    try:
        await work()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}, and nothing was raised")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 500 else f"{text[:500]}… ({len(text)} characters)"


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


class ChangeConformance(ABC):
    """The tests about cursors and changes; `LogConformance` has them too."""

    @abstractmethod
    async def carry_out(self, test: Test) -> None:
        """Run a test on its own log."""

    @abstractmethod
    async def opened_again(self, log: Any) -> Any:
        """Another object on the same log."""

    async def delete_row(self, log: Any, content: str) -> None:
        """Delete the row of conversation "c" with this content, as another program or person would."""
        raise SkipTest("the suite does not say how a row is deleted: override delete_row")

    async def change_row(self, log: Any, content: str, new: str) -> None:
        """Give the row of conversation "c" with this content a new one, as another program or person would."""
        raise SkipTest("the suite does not say how a row is changed: override change_row")

    # Cursors

    @on_a_log
    async def test_the_rows_after_a_cursor_are_the_new_ones(self, log: Any) -> None:
        cursor, seen = None, list[str]()
        for number in range(4):
            await save(log, (f"{number}a", float(number)), (f"{number}b", float(number)))
            page = await log.read("c", after=cursor)
            equal(page.is_whole, number == 0, f"whether page {number} is whole")
            cursor = page.cursor
            seen += contents_of(page)
        equal(seen, [f"{number}{part}" for number in range(4) for part in "ab"], "all pages")
        page = await log.read("c", after=cursor)
        shows(page, [], "a page without news", is_whole=False)

    @on_a_log
    async def test_new_rows_with_the_cursor_s_time_are_new(self, log: Any) -> None:
        await save(log, ("a", 1.0))
        cursor = (await log.read("c")).cursor
        await save(log, ("b", 1.0))
        page = await log.read("c", after=cursor)
        shows(page, ["b"], "the page", is_whole=False)

    @on_a_log
    async def test_a_cursor_belongs_to_the_conversation_and_not_to_a_user(self, log: Any) -> None:
        await log.append("c", user_id="u", rows=[("user", "one", 1.0)])
        cursor = (await log.read("c", user_id="u")).cursor
        await log.append("c", user_id="v", rows=[("user", "v's", 2.0)])
        page = await log.read("c", user_id="u", after=cursor)
        shows(page, [], "another user's news", is_whole=False)
        await log.append("c", user_id="u", rows=[("user", "two", 3.0)])
        equal(contents_of(await log.read("c", user_id="u", after=page.cursor)), ["two"], "own news")

    @on_a_log
    async def test_rows_with_older_times_are_new(self, log: Any) -> None:
        await save(log, ("a", 2.0))
        cursor = (await log.read("c")).cursor
        await save(log, ("b", 1.0), ("c", 3.0))
        page = await log.read("c", after=cursor)
        shows(page, ["b", "c"], "the page", is_whole=False)

    @on_a_log
    async def test_a_conversation_that_began_anew_is_whole(self, log: Any) -> None:
        delete = optional(log, "delete_conversation")
        await save(log, ("old", 1.0), ("old too", 2.0))
        cursor = (await log.read("c")).cursor
        await delete("c")
        page = await log.read("c", after=cursor)
        shows(page, [], "the page after it was deleted", is_whole=True)
        await save(log, ("new", 1.0), ("new too", 2.0))
        page = await log.read("c", after=cursor)
        shows(page, ["new", "new too"], "the page after that", is_whole=True)

    @on_a_log
    async def test_a_conversation_that_began_anew_with_as_many_rows_is_whole(
        self, log: Any
    ) -> None:
        delete = optional(log, "delete_conversation")
        await save(log, ("old", 1.0), ("old too", 2.0))
        cursor = (await log.read("c")).cursor
        await delete("c")
        await save(log, ("new", 1.0), ("new too", 2.0))
        page = await log.read("c", after=cursor)
        shows(page, ["new", "new too"], "the page", is_whole=True)

    @on_a_log
    async def test_a_row_that_is_deleted_makes_the_page_whole(self, log: Any) -> None:
        for content, left in [("b", ["a", "c"]), ("c", ["a"])]:
            if content == "b":
                await save(log, ("a", 1.0), ("b", 2.0), ("c", 3.0))
            cursor = (await log.read("c")).cursor
            await self.delete_row(log, content)
            page = await log.read("c", after=cursor)
            shows(page, left, f"the page without {content}", is_whole=True)

    @on_a_log
    async def test_a_row_that_takes_the_place_of_a_deleted_one_makes_the_page_whole(
        self, log: Any
    ) -> None:
        await save(log, ("first", 1.0))
        await save(log, ("deleted", 2.0))
        cursor = (await log.read("c")).cursor
        await self.delete_row(log, "deleted")
        await save(log, ("new", 2.0))
        page = await log.read("c", after=cursor)
        shows(page, ["first", "new"], "the page", is_whole=True)

    @on_a_log
    async def test_a_row_that_is_changed_makes_the_page_whole(self, log: Any) -> None:
        await save(log, ("a", 1.0), ("b", 2.0))
        for content, new, left in [("a", "A", ["A", "b"]), ("b", "B", ["A", "B"])]:
            cursor = (await log.read("c")).cursor
            await self.change_row(log, content, new)
            page = await log.read("c", after=cursor)
            shows(page, left, f"the page with {new}", is_whole=True)

    @on_a_log
    async def test_a_cursor_can_be_followed_any_number_of_times(self, log: Any) -> None:
        await save(log, ("a", 1.0))
        cursor = (await log.read("c")).cursor
        for contents in ([], ["b"]):
            if contents:
                await save(log, ("b", 2.0))
            for _ in range(2):
                page = await log.read("c", after=cursor)
                shows(page, contents, "the page", is_whole=False)

    @on_a_log
    async def test_text_that_is_not_a_cursor_is_refused(self, log: Any) -> None:
        await raised(ConfigError, lambda: log.read("c", after="not a cursor"))

    @on_a_log
    async def test_a_cursor_outlives_the_object_that_gave_it(self, log: Any) -> None:
        await save(log, ("a", 1.0))
        cursor = (await log.read("c")).cursor
        again = await self.opened_again(log)
        await save(again, ("b", 2.0))
        page = await again.read("c", after=cursor)
        shows(page, ["b"], "the page", is_whole=False)
        equal(contents_of(await log.read("c")), ["a", "b"], "the rows as the first one sees them")

    @on_a_log
    async def test_the_newest_rows_are_a_page_that_a_cursor_goes_on_from(self, log: Any) -> None:
        newest = optional(log, "newest")
        await save(log, ("a", 1.0), ("b", 3.0), ("c", 2.0))
        await log.append("c", user_id="v", rows=[("user", "v's", 4.0)])
        for user, limit, contents, is_whole in [
            ("", 2, ["c", "v's"], False),
            ("", 4, ["a", "b", "c", "v's"], True),
            ("u", 2, ["b", "c"], False),
            ("v", 1, ["v's"], True),
            ("w", 1, [], True),
        ]:
            page = await newest("c", user_id=user, limit=limit)
            shows(page, contents, f"the newest {limit} of {user!r}", is_whole=is_whole)
            shows(await log.read("c", user_id=user, after=page.cursor), [], "news", is_whole=False)

    # Prompts

    @on_a_log
    async def test_a_conversation_of_any_length_is_shown_from_its_end(self, log: Any) -> None:
        turns = [("user", f"q{n}", 2.0 * n) for n in range(5100)]
        rows = [row for q in turns for row in (q, ("respond", f"a{q[1]}", q[2] + 1))]
        await log.append("c", user_id="u", rows=rows)
        messages = await assemble("u", "c", tools=[], storage=log)
        shown = len(messages) - 1, messages[1]["content"], messages[-1]["content"]
        equal(shown, (10_000, "q100", "aq5099"), "how many messages, the first and the last")
