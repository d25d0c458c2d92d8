"""A model's text to events, while it streams: the async shell over `_core.Parser`."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from typing import Any, cast

from ._core import Limits, Parser, Source, Turn, read_block
from .errors import ConfigError, ProtocolError
from .types import Event, StreamMode, ToolCall

__all__ = ["Limits", "Parser", "parse_execute_block", "parse_tokens"]

logger: logging.Logger = logging.getLogger(__name__)


def parse_tokens(
    source: AsyncIterable[str] | str, *, stream: StreamMode = "event", limits: Limits | None = None
) -> AsyncGenerator[Event, None]:
    """Parse a model's output into events while it streams.

    Args:
        source: chunks of text, cut anywhere; or the whole text.
        stream: `"event"` for complete units, `"token"` for `think` and `respond` text as it arrives.
        limits: bounds on an execute block; `Limits()` when not given.

    Yields:
        Event dicts (`think`, `respond`, `call`, `execute`, `result`, `end`). The generator ends after `execute`;
        what follows in the source is discarded and the source is closed.

    Raises:
        TypeError: the source is no text, or yields something else than `str`.
        ConfigError: `stream` or `limits` cannot be used.

    Whatever the source raises passes on, after the events of the text already received. Malformed output never
    raises: it becomes a `respond` event that says what is wrong and where.

    The cost is linear in the text, however it is cut; memory is bounded by the longest open block.
    """
    return _events(TextStream(source, limits), Parser(stream=stream, limits=limits))


def parse_execute_block(text: str) -> list[ToolCall]:
    """Read the first `<execute>` block of a text.

    Returns:
        Its calls, in order.

    Raises:
        ProtocolError: there is no block, or it is no JSON array of `{"name": str, "args": dict}`, or it holds an
            integer of more digits than Python reads; says what is wrong and where. `original_input` is the text.
        AttributeError, TypeError: `text` is no `str`.
    """
    stripped = text.strip()
    try:
        calls = [json.loads(call) for call in read_block(stripped)]
    except (ValueError, RecursionError) as error:
        raise ProtocolError(str(error), cause=error, original_input=stripped) from error
    return [ToolCall(call["name"], call["args"]) for call in calls]


class TextStream:
    """The text behind a `parse_tokens(...)`, read by one reader only.

    The accumulator reads it directly, in its own mode, so that no event is made only to be read again.
    """

    def __init__(self, source: AsyncIterable[str] | str, limits: Limits | None) -> None:
        if not isinstance(source, str) and not hasattr(source, "__aiter__"):
            raise TypeError(
                f"source must be str or an async iterable of str, not {type(source).__name__}"
            )
        if limits is not None and not isinstance(limits, Limits):
            raise ConfigError(f"limits must be a Limits, got {limits!r}")
        self._source = source
        self.limits = limits
        self.taken: bool = False

    def open(self, sink: Parser | Turn) -> ClosedOnce:
        """Begin to read, into `sink`."""
        self.taken = True
        source = self._source
        return ClosedOnce(_whole(source) if isinstance(source, str) else aiter(source), sink)


class ClosedOnce(Source):
    """Reads an async iterator, and closes it once."""

    def __init__(
        self,
        iterator: AsyncIterator[Any],
        sink: Parser | Turn,
        enter: Callable[[Any], None] | None = None,
    ) -> None:
        self._close = getattr(iterator, "aclose", None)

    async def aclose(self) -> None:
        """Close the iterator, where it can be closed.

        By then its items have been read or given up, so a failure to close is logged and stops nothing.
        """
        close, self._close = self._close, None
        if close is None:
            return
        try:
            await close()
        except Exception:
            logger.warning("The source of a model's text could not be closed", exc_info=True)


async def _whole(text: str) -> AsyncGenerator[str, None]:
    """A whole text as its only chunk."""
    yield text


def text_behind(events: Any) -> TextStream | None:
    """The text that `events` was made of by `parse_tokens` and has not begun to read."""
    # Read off the generator, because a registry of them would keep alive whoever holds both text and events.
    is_ours = getattr(events, "ag_code", None) is _events.__code__
    frame = events.ag_frame if is_ours else None
    if frame is None:
        return None
    text: TextStream = frame.f_locals["text"]
    return None if text.taken else text


async def _events(text: TextStream, parser: Parser) -> AsyncGenerator[Event, None]:
    if text.taken:
        return
    source = text.open(parser)
    failed: Exception | None = None
    try:
        while True:
            try:
                events: Any = await source
            except Exception as error:
                failed = error
                break
            if events is None:
                break
            if type(events) is list:
                for event in cast("list[Event]", events):
                    yield event
            else:  # one event, as most are in token mode
                yield events
        await source.aclose()
        for event in parser.finish():
            yield event
        if failed is not None:
            raise failed
    finally:
        await source.aclose()
