"""`parse_tokens`: how it reads chunks from a source, and when it closes the source."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import parse_tokens
from cogency_rs.errors import ConfigError
from cogency_rs.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator

CALL = '<execute>[{"name": "t", "args": {}}]</execute>'
CALL_CONTENT = json.dumps({"name": "t", "args": {}})
STREAMS = ["event", "token"]


class Source:
    """A source that yields chunks and raises errors in order, and counts how often it was asked and closed."""

    def __init__(self, *items: Any) -> None:
        self.items = iter(items)
        self.asked = 0
        self.closed = 0

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> Any:
        self.asked += 1
        for item in self.items:
            if isinstance(item, BaseException):
                raise item
            return item
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


async def collect(source: AsyncIterable[Any] | str, **options) -> list[tuple[str, str | None]]:
    return [shape(event) async for event in parse_tokens(source, **options)]


async def collect_until_raised(
    source: AsyncIterable[Any], **options
) -> tuple[list[tuple[str, str | None]], BaseException | None]:
    """The events, and the exception that ended them."""
    stream = parse_tokens(source, **options)
    events: list[tuple[str, str | None]] = []
    try:
        while True:
            events.append(shape(await anext(stream)))
    except StopAsyncIteration:
        return events, None
    except BaseException as error:
        return events, error


def shape(event: dict) -> tuple[str, str | None]:
    return event["type"], event.get("content")


# Sources.


async def test_a_string_is_a_source():
    assert await collect("<think>a</think>b<end>") == [
        ("think", "a"),
        ("respond", "b"),
        ("end", None),
    ]


async def test_an_async_generator_is_a_source():
    async def chunks() -> AsyncIterator[str]:
        yield "<thi"
        yield "nk>a</think>b"

    assert await collect(chunks()) == [("think", "a"), ("respond", "b")]


async def test_an_async_iterable_is_a_source():
    class Chunks:
        def __aiter__(self) -> Source:
            return Source("<e", "nd>")

    assert await collect(Chunks()) == [("end", None)]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("chunks", [[], [""], ["", ""]], ids=["no chunk", "one", "two"])
async def test_empty_sources_give_nothing(chunks, stream):
    assert await collect(Source(*chunks), stream=stream) == []


async def test_an_empty_string_gives_nothing():
    assert await collect("") == []


async def test_event_mode_is_the_default():
    assert await collect(Source("a", "b")) == [("respond", "ab")]


async def test_token_mode_gives_text_as_it_comes():
    assert await collect(Source("a", "b"), stream="token") == [("respond", "a"), ("respond", "b")]


async def test_token_mode_gives_text_before_it_asks_for_more():
    source = Source("a", "b")
    events = parse_tokens(source, stream="token")
    await anext(events)
    assert source.asked == 1
    await events.aclose()


async def test_event_mode_gives_a_unit_before_it_asks_for_more():
    source = Source("<think>a</think>", "b")
    events = parse_tokens(source)
    await anext(events)
    assert source.asked == 1
    await events.aclose()


async def test_limits_apply_to_a_block():
    [(kind, content)] = await collect("<execute>[[]]</execute>", limits=Limits(max_depth=1))
    assert (kind, content.partition(".")[0]) == ("respond", "Error: Malformed tool call syntax")


async def test_parse_tokens_returns_an_async_generator():
    events = parse_tokens("a")
    assert isinstance(events, AsyncGenerator)
    await events.aclose()


async def test_a_finished_generator_stays_finished():
    events = parse_tokens("a")
    assert [shape(event) async for event in events] == [("respond", "a")]
    assert [event async for event in events] == []


async def test_two_streams_may_be_read_in_alternation():
    one, other = parse_tokens(Source("<think>a", "b")), parse_tokens(Source("c<end>", "d"))
    firsts = [shape(await anext(other)), shape(await anext(one))]
    rests = [[shape(event) async for event in events] for events in (one, other)]
    assert (firsts, rests) == (
        [("respond", "c"), ("think", "ab")],
        [[], [("end", None), ("respond", "d")]],
    )


# Wrong sources.


@pytest.mark.parametrize(
    "source",
    [None, 5, b"<end>", ["<end>"], iter(["<end>"]), object()],
    ids=lambda value: type(value).__name__,
)
def test_anything_but_a_source_is_refused_at_the_call(source):
    with pytest.raises(TypeError, match=type(source).__name__):
        parse_tokens(source)


def test_a_generator_function_that_was_not_called_is_refused_at_the_call():
    async def chunks() -> AsyncIterator[str]:
        yield "a"

    with pytest.raises(TypeError):
        parse_tokens(chunks)


def test_an_unknown_stream_mode_is_refused_at_the_call():
    with pytest.raises(ConfigError, match="bogus"):
        parse_tokens("a", stream="bogus")


def test_stream_is_a_keyword():
    with pytest.raises(TypeError):
        parse_tokens("a", "token")


@pytest.mark.parametrize("chunk", [5, None, b"a", ["a"]], ids=lambda value: type(value).__name__)
async def test_a_chunk_that_is_not_a_str_is_a_type_error_that_names_its_type(chunk):
    with pytest.raises(TypeError, match=type(chunk).__name__):
        await collect(Source("a", chunk))


async def test_a_chunk_that_is_not_a_str_closes_the_source():
    source = Source("a", 5, "b")
    await collect_until_raised(source)
    assert (source.asked, source.closed) == (2, 1)


# After `execute`.


@pytest.mark.parametrize("stream", STREAMS)
async def test_text_after_execute_is_discarded(stream):
    events = await collect(Source("a", f"{CALL}b", "<think>c</think>"), stream=stream)
    assert events == [("respond", "a"), ("call", CALL_CONTENT), ("execute", None)]


@pytest.mark.parametrize("stream", STREAMS)
async def test_after_execute_no_chunk_is_asked_for(stream):
    source = Source("a", CALL, "b")
    await collect(source, stream=stream)
    assert source.asked == 2


@pytest.mark.parametrize("stream", STREAMS)
async def test_after_execute_the_source_is_closed_once(stream):
    source = Source(CALL, "b")
    await collect(source, stream=stream)
    assert source.closed == 1


@pytest.mark.parametrize("stream", STREAMS)
async def test_the_source_is_closed_when_execute_arrives(stream):
    """A program that runs the calls on `execute` does not keep the model's stream open meanwhile."""
    source = Source(CALL, "b")
    events = parse_tokens(source, stream=stream)
    while (await anext(events))["type"] != "execute":
        pass
    assert source.closed == 1
    await events.aclose()


async def test_a_source_is_closed_through_its_iterator():
    iterator = Source(CALL)

    class Chunks:
        def __aiter__(self) -> Source:
            return iterator

    await collect(Chunks())
    assert iterator.closed == 1


async def test_an_async_generator_runs_its_cleanup_after_execute():
    steps: list[str] = []

    async def chunks() -> AsyncIterator[str]:
        try:
            yield CALL
            steps.append("asked for more")
            yield "b"
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    await collect(chunks())
    assert steps == ["cleaned up"]


async def test_a_source_that_cannot_be_closed_is_left_alone():
    class Chunks:
        def __aiter__(self) -> Chunks:
            return self

        async def __anext__(self) -> str:
            return CALL

    assert await collect(Chunks()) == [("call", CALL_CONTENT), ("execute", None)]


async def test_the_parser_goes_on_after_end():
    source = Source("<end>", "a")
    assert (await collect(source), source.asked) == ([("end", None), ("respond", "a")], 3)


async def test_the_parser_goes_on_after_a_malformed_block():
    source = Source("<execute>oops</execute>", "a", CALL, "b")
    events = await collect(source)
    assert (events[1:], source.asked) == (
        [("respond", "a"), ("call", CALL_CONTENT), ("execute", None)],
        3,
    )


# A source that fails.


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [("respond", "a")]),
        ("<think>a", [("think", "a")]),
        ("a <thin", [("respond", "a <thin")]),
        ("<results>[", [("result", "[")]),
        (" ", [("respond", " ")]),
    ],
    ids=["text", "think", "an incomplete tag", "results", "blank text"],
)
async def test_text_is_yielded_before_the_source_s_error_is_raised(text, expected, stream):
    events, _ = await collect_until_raised(Source(text, ConnectionError("gone")), stream=stream)
    joined = [(events[0][0], "".join(content for _, content in events))]
    assert joined == expected


@pytest.mark.parametrize("stream", STREAMS)
async def test_an_open_execute_is_reported_before_the_source_s_error_and_not_blamed_on_the_model(
    stream,
):
    source = Source("<execute>[", ConnectionError("gone"))
    [report], _ = await collect_until_raised(source, stream=stream)
    assert report == (
        "respond",
        "Error: The stream broke off inside an execute block (ConnectionError: gone). No call in it was run.",
    )


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    "kind", [ConnectionError, ValueError, RuntimeError, TimeoutError, TypeError]
)
async def test_the_source_s_error_is_raised_unchanged(kind, stream):
    error = kind("gone")
    _, raised = await collect_until_raised(Source("a", error), stream=stream)
    assert raised is error


async def test_an_error_before_any_text_is_passed_on():
    error = ConnectionError("refused")
    assert await collect_until_raised(Source(error)) == ([], error)


async def test_an_error_raised_inside_an_async_generator_is_passed_on():
    error = ConnectionError("gone")

    async def chunks() -> AsyncIterator[str]:
        yield "a"
        raise error

    assert await collect_until_raised(chunks()) == ([("respond", "a")], error)


async def test_after_an_error_no_chunk_is_asked_for():
    source = Source("a", ConnectionError("gone"), "b")
    await collect_until_raised(source)
    assert source.asked == 2


async def test_cancellation_inside_the_source_is_passed_on_at_once():
    error = asyncio.CancelledError()
    assert await collect_until_raised(Source("a", error)) == ([], error)


async def test_cancelling_the_reader_reaches_the_source_and_gives_nothing_more():
    events: list[tuple[str, str | None]] = []
    waiting, seen = asyncio.Event(), []

    async def chunks() -> AsyncIterator[str]:
        yield "<end>a"
        waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def reader() -> None:
        stream = parse_tokens(chunks())
        while True:
            events.append(shape(await anext(stream)))

    task = asyncio.create_task(reader())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (events, seen) == ([("end", None)], ["cancelled"])


# A reader that stops early.


@pytest.mark.parametrize("stream", STREAMS)
async def test_closing_the_events_closes_the_source(stream):
    source = Source("<end>", "a")
    events = parse_tokens(source, stream=stream)
    await anext(events)
    await events.aclose()
    assert (source.asked, source.closed) == (1, 1)


async def test_closing_the_events_runs_the_source_s_cleanup():
    steps: list[str] = []

    async def chunks() -> AsyncIterator[str]:
        try:
            yield "<end>"
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    events = parse_tokens(chunks())
    await anext(events)
    await events.aclose()
    assert steps == ["cleaned up"]


async def test_closing_between_two_events_of_one_chunk_closes_the_source():
    source = Source("<end>a<end>b<end>", "c")
    events = parse_tokens(source)
    await anext(events)
    await events.aclose()
    assert (source.asked, source.closed) == (1, 1)


async def test_an_error_thrown_into_the_events_closes_the_source():
    source = Source("<end>", "a")
    events = parse_tokens(source)
    await anext(events)
    with pytest.raises(ValueError, match="enough"):
        await events.athrow(ValueError("enough"))
    assert source.closed == 1


async def test_an_error_thrown_into_the_events_is_not_an_error_of_the_source():
    """It is raised at once, and events that were not yielded yet are dropped."""
    events = parse_tokens(Source("<end>a", "b"))
    await anext(events)
    error = ValueError("enough")
    with pytest.raises(ValueError, match="enough") as caught:
        await events.athrow(error)
    assert caught.value is error


async def test_closed_events_give_nothing_more():
    events = parse_tokens(Source("<end>", "a"))
    await anext(events)
    await events.aclose()
    assert [event async for event in events] == []


async def test_closing_twice_is_closing_once():
    source = Source("<end>", "a")
    events = parse_tokens(source)
    await anext(events)
    await events.aclose()
    await events.aclose()
    assert source.closed == 1


def test_nothing_is_read_before_the_first_event_is_asked_for():
    source = Source("a")
    events = parse_tokens(source)
    assert (source.asked, inspect.isawaitable(events)) == (0, False)
