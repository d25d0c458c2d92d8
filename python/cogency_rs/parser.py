"""A model's text to events, while it streams: the async shell over `_core.Parser`."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Any, TypedDict, cast

from ._core import (
    Dialect,
    Finish,
    Limits,
    Parser,
    Source,
    Thought,
    ToolSchemas,
    Turn,
    read_block,
)
from .errors import ConfigError, ProtocolError
from .types import CallMode, Dialects, ErrorMode, Event, StreamMode, ToolCall

__all__ = ["Dialect", "Finish", "Limits", "Parser", "parse_execute_block", "parse_tokens"]

logger: logging.Logger = logging.getLogger(__name__)


def parse_tokens(
    source: AsyncIterable[str | Thought | Finish] | str,
    *,
    dialect: Dialects = "cogency",
    tools: ToolSchemas | Iterable[Any] | None = None,
    stream: StreamMode = "event",
    calls: CallMode = "whole",
    limits: Limits | None = None,
    errors: ErrorMode = "respond",
    lenient: bool = False,
    begins_in_think: bool | None = None,
) -> AsyncGenerator[Event, None]:
    """Parse a model's output into events while it streams.

    Args:
        source: chunks of text, cut anywhere, and `Finish(reason)` among them where it is known why the model stopped,
            and `Thought(text)` for reasoning that the provider hands over apart; or the whole text.
        dialect: how the model writes its calls: a name of `Dialect.presets()`, a `Dialect`, or a tuple of these, which
            are all read.
        tools: the tools whose schemas say of what type a raw value is, in dialects that have such: objects of `@tool`
            or `Tool`, or declarations as providers take them.
        stream: `"event"` for complete units, `"token"` for `think` and `respond` text as it arrives.
        calls: `"stream"` for calls before they are complete, too: `tool_call_start` as soon as one begins, again with
            its name, and `tool_call_delta` with its arguments as the model writes them. What counts is the `call` that
            follows when the block is whole.
        limits: bounds on a block of calls; `Limits()` when not given.
        errors: `"event"` for an `error` event where output cannot be read, `"respond"` to have it said in the answer,
            as cogency 3.3.0 does.
        lenient: read blocks as small models write them, too: in a Markdown fence, one call without the array,
            `args`, `arguments`, `parameters` or `input` for each other, as an object or a string that holds one, a
            comma in front of a closing bracket, a raw value without its closing mark. What is valid means the same, but
            for a raw value that holds another parameter's opening and not its end.
        begins_in_think: whether the text begins inside reasoning, which the prompt has opened already; where it is not
            given, what the dialect says.

    Yields:
        Event dicts (`think`, `respond`, `call`, `execute`, `result`, `error`, `end`). The generator ends after
        `execute`. In cogency's own dialect that follows the first block at once; what follows in the source is
        discarded and the source is closed. In most others all blocks of an answer are one batch, and it comes when the
        answer ends.

    Raises:
        TypeError: the source is no text, or yields something else than `str` and `Finish`.
        ConfigError: `stream`, `limits` or `errors` cannot be used.

    Whatever the source raises passes on, after the events of the text already received. Malformed output never
    raises: it is reported. An `error` event has `kind` ("malformed", "unfinished" where the model stopped inside a
    block, "truncated" where its text was cut), `content` (what the model should be told), `raw` (the block as the model
    wrote it, with its tags), and `line` and `column` in `raw`, from 1; `None` for an answer that was cut outside every
    block.

    The cost is linear in the text, however it is cut; memory is bounded by the longest open block.
    """
    reading = ReadingOptions(
        dialect=dialect,
        tools=tools if tools is None or isinstance(tools, ToolSchemas) else ToolSchemas(tools),
        calls=calls,
        limits=limits,
        errors=errors,
        lenient=lenient,
        begins_in_think=begins_in_think,
    )
    return _events(TextStream(source, reading), Parser(stream=stream, **reading))


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


class ReadingOptions(TypedDict):
    """How a text is read: what `Parser` and `Turn` both take."""

    dialect: Dialects
    tools: ToolSchemas | None
    calls: CallMode
    limits: Limits | None
    errors: ErrorMode
    lenient: bool
    begins_in_think: bool | None


class TextStream:
    """The text behind a `parse_tokens(...)`, read by one reader only.

    The accumulator reads it directly, in its own mode, so that no event is made only to be read again.
    """

    def __init__(
        self, source: AsyncIterable[str | Thought | Finish] | str, reading: ReadingOptions
    ) -> None:
        if not isinstance(source, str) and not hasattr(source, "__aiter__"):
            raise TypeError(
                f"source must be str or an async iterable of str, not {type(source).__name__}"
            )
        limits: object = reading["limits"]
        if limits is not None and not isinstance(limits, Limits):
            raise ConfigError(f"limits must be a Limits, got {limits!r}")
        self._source = source
        self.reading = reading
        self.taken: bool = False

    def open(self, sink: Parser | Turn) -> ClosedOnce:
        """Begin to read, into `sink`."""
        self.taken = True
        source = self._source
        return ClosedOnce(_whole(source) if isinstance(source, str) else aiter(source), sink)


class ClosedOnce(Source):
    """Reads an async iterator, and closes it once.

    Attributes:
        failed: what the iterator raised.
    """

    def __init__(
        self,
        iterator: AsyncIterator[Any],
        sink: Parser | Turn,
        enter: Callable[[Any], None] | None = None,
    ) -> None:
        self._close = getattr(iterator, "aclose", None)
        self.failed: Exception | None = None

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
    try:
        while True:
            try:
                events: Any = await source
            except Exception as error:
                source.failed = error
                break
            if events is None:
                break
            if type(events) is list:
                for event in cast("list[Event]", events):
                    yield event
            else:  # one event, as most are in token mode
                yield events
        await source.aclose()
        for event in parser.finish(error=source.failed):
            yield event
        if source.failed is not None:
            raise source.failed
    finally:
        await source.aclose()
