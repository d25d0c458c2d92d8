"""The tests of a log about what has changed since a page was read, and about the prompts made from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any
from unittest import SkipTest

from ..context.assembly import assemble
from ..errors import ConfigError
from .log_checks import contents_of, equal, optional, raised, save, shows
from .owner_conformance import Test, on_a_log

__all__ = ["ChangeConformance"]


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
