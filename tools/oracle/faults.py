"""Faults put into the tree's side on purpose: each changes the loaded package, and the comparison must find it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.oracle import names

__all__ = ["FAULTS"]


def _instead(name: str, made: Callable[[Any], Any]) -> None:
    """Give the answers something else under a name of the package."""
    original, find = names.find(name), names.find
    changed = made(original)

    def found(wanted: str) -> Any:
        return changed if wanted == name else find(wanted)

    from tools.oracle import answers

    answers.find = found  # type: ignore[assignment]


def drops_a_character() -> None:
    """The parser loses the last character of a text of more than 40."""

    def made(original: Any) -> Any:
        class Dropping:
            def __init__(self, **options: Any) -> None:
                self._parser = original(**options)

            def feed(self, text: str) -> Any:
                events = self._parser.feed(text)
                return [
                    {**event, "content": event["content"][:-1]}
                    if event["type"] == "respond" and len(event["content"]) > 40
                    else event
                    for event in events
                ]

            def __getattr__(self, name: str) -> Any:
                return getattr(self._parser, name)

        return Dropping

    _instead("Parser", made)


def reorders_calls() -> None:
    """A turn saves the rows of two calls the wrong way round."""
    from cogency_rs.turn.turn_log import TurnLog

    original = TurnLog.save

    def save(self: Any, rows: Any) -> Any:
        if sum(row[0] == "call" for row in rows) == 2:
            rows = tuple(reversed(rows))
        return original(self, rows)

    TurnLog.save = save  # type: ignore[method-assign]


def loses_an_error() -> None:
    """The prompt does not have the reports of malformed calls."""

    def made(original: Any) -> Any:
        async def assemble(*ids: Any, storage: Any, **more: Any) -> Any:
            class Without:
                def __getattr__(self, name: str) -> Any:
                    return getattr(storage, name)

            messages = await original(*ids, storage=storage, **more)
            return [each for each in messages if "alformed" not in str(each["content"])]

        return assemble

    _instead("assemble", made)


def reads_one_row_twice() -> None:
    """A log in memory gives the last row of a page twice."""
    from cogency_rs import Memory

    original = Memory.newest

    async def newest(self: Any, *ids: Any, **more: Any) -> Any:
        page = await original(self, *ids, **more)
        return page._replace(rows=[*page.rows, *page.rows[-1:]])

    Memory.newest = newest  # type: ignore[method-assign]


def widens_a_grammar() -> None:
    """The grammar of a dialect loses a rule's end."""

    def made(original: Any) -> Any:
        class Widened:
            def __init__(self, name: str) -> None:
                self._dialect = original(name)

            def grammar(self, *tools: Any, **options: Any) -> Any:
                grammar = self._dialect.grammar(*tools, **options)

                class Made:
                    text = grammar.text.replace("}", "]", 1)
                    widened = grammar.widened

                return Made

            def __getattr__(self, name: str) -> Any:
                return getattr(self._dialect, name)

        return Widened

    _instead("Dialect", made)


def merges_deltas() -> None:
    """The chat reader hands out neighbouring pieces of text as one."""

    def made(original: Any) -> Any:
        class Merging:
            def __init__(self, *given: Any, **options: Any) -> None:
                self._reader = original(*given, **options)

            def feed(self, chunk: str) -> Any:
                deltas = self._reader.feed(chunk)
                if len(deltas) > 1 and all(set(each) == {"content"} for each in deltas):
                    return [{"content": "".join(each["content"] for each in deltas)}]
                return deltas[:-1] if len(deltas) > 2 else deltas

            def __getattr__(self, name: str) -> Any:
                return getattr(self._reader, name)

        return Merging

    _instead("ChatReader", made)


FAULTS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        drops_a_character,
        reorders_calls,
        loses_an_error,
        reads_one_row_twice,
        widens_a_grammar,
        merges_deltas,
    )
}
