"""What the tests of a log check, and their messages when it does not hold.

Plain functions instead of `assert`, since pytest rewrites assertions in test files only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from unittest import SkipTest

__all__ = ["contains", "contents_of", "equal", "optional", "raised", "save", "shows"]


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
