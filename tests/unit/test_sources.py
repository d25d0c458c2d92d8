"""Awaiting a `Source`: values, exceptions and the close that the event loop sends reach its iterator."""

import asyncio
import gc
import types
import weakref

import pytest

from cogency_rs._core import Parser, Source, Turn


class Items:
    """An async iterator over the given items; raises exceptions among them."""

    def __init__(self, *items, awaitable=None):
        self.items = list(items)
        self.awaitable = awaitable or self.coroutine

    def __aiter__(self):
        return self

    def __anext__(self):
        return self.awaitable()

    async def coroutine(self):
        if not self.items:
            raise StopAsyncIteration
        item = self.items.pop(0)
        if isinstance(item, BaseException):
            raise item
        return item

    @types.coroutine
    def generator(self):
        yield from asyncio.sleep(0).__await__()
        return self.items.pop(0)

    def own(self):
        return Awaitable(self.items)


class Awaitable:
    """An awaitable written by hand, with only `__await__`."""

    def __init__(self, items):
        self.items = items

    def __await__(self):
        yield
        return self.items.pop(0)


def run(source):
    """Drive `await source` by hand; returns what it yields and what it returns."""
    yielded = []
    while True:
        try:
            yielded.append(source.__await__().__next__())
        except StopIteration as stop:
            return yielded, stop.value


def content(events):
    return [event["content"] for event in (events if isinstance(events, list) else [events])]


@pytest.mark.parametrize("kind", ["coroutine", "generator", "own"])
async def test_the_next_item_may_be_any_awaitable(kind):
    items = Items("a", "b")
    items.awaitable = getattr(items, kind)
    source = Source(items, Parser(stream="token"))
    assert content(await source) + content(await source) == ["a", "b"]


async def test_an_iterator_may_give_awaitables_of_several_types():
    async def two():
        yield "a"
        yield "c"

    generator, items = two(), Items("b")
    turns = iter([generator.__anext__, items.coroutine, items.own, generator.__anext__])
    items.items.append("own")
    items.awaitable = lambda: next(turns)()
    source = Source(items, Parser(stream="token"))
    assert [content(await source) for _ in range(4)] == [["a"], ["b"], ["own"], ["c"]]


async def test_an_asynchronous_generator_may_wait_before_any_of_its_items():
    async def waiting():
        for item in "abc":
            await asyncio.sleep(0)
            yield item
            await asyncio.sleep(0)

    source = Source(waiting(), Parser(stream="token"))
    assert [content(await source) for _ in "abc"] == [["a"], ["b"], ["c"]]
    assert await source is None


# Python makes an exception of the first three at once when a generator yields them, and none of the last.
@pytest.mark.parametrize("item", [("a",), StopIteration("a"), ValueError("a"), None, b"a"])
async def test_what_an_asynchronous_generator_yields_is_told_from_how_it_ends(item):
    async def one():
        yield item

    with pytest.raises(TypeError, match=f"got {type(item).__name__}|not {type(item).__name__}"):
        await Source(one(), Parser(stream="token"))


@pytest.mark.parametrize("error", [ValueError("broken"), asyncio.CancelledError()])
async def test_an_error_of_an_asynchronous_generator_is_raised_as_it_is(error):
    async def failing():
        yield "a"
        raise error

    source = Source(failing(), Parser(stream="token"))
    assert content(await source) == ["a"]
    with pytest.raises(type(error)) as raised:
        await source
    assert raised.value is error


async def test_what_is_awaited_inside_of_a_handled_error_is_returned_too():
    try:
        raise KeyError
    except KeyError:
        assert content(await Source(Items("a"), Parser(stream="token"))) == ["a"]


async def test_anything_but_an_awaitable_is_refused():
    source = Source(Items(awaitable=lambda: "text"), Parser())
    with pytest.raises(TypeError, match="must be an awaitable, not str"):
        await source


@pytest.mark.parametrize("returned", [None, 5, "text", []])
async def test_an_awaitable_without_an_iterator_is_refused(returned):
    class Broken:
        def __await__(self):
            return returned

    source = Source(Items(awaitable=Broken), Parser())
    with pytest.raises(TypeError, match="what __await__ returns must be an iterator, not"):
        await source


@pytest.mark.parametrize("iterator", [iter("ab"), None, "text", object()])
def test_anything_but_an_async_iterator_is_refused(iterator):
    with pytest.raises(TypeError, match="source must be an async iterator"):
        Source(iterator, Parser())


@pytest.mark.parametrize("sink", [None, "parser", object()])
def test_anything_but_a_parser_or_a_turn_is_refused(sink):
    with pytest.raises(TypeError):
        Source(Items(), sink)


async def test_a_source_reads_on_until_there_is_something_to_hand_out():
    items = Items("<think>a", "b", "c</think>", "d")
    source = Source(items, parser := Parser())
    assert content(await source) == ["abc"]
    assert items.items == ["d"]
    assert await source is None
    assert await source is None
    assert content(parser.finish()) == ["d"]


async def test_after_a_complete_batch_nothing_is_read():
    items = Items("<execute>[]</execute>", "more")
    source = Source(items, parser := Parser())
    assert await source is None
    assert items.items == ["more"]
    assert [event["type"] for event in parser.finish()] == ["execute"]
    assert await source is None
    assert items.items == ["more"]


async def test_an_error_of_the_iterator_is_raised_and_the_text_before_it_stays():
    source = Source(Items("ab", KeyError("gone"), "c"), parser := Parser())
    with pytest.raises(KeyError, match="gone"):
        await source
    assert content(parser.finish()) == ["ab"]


async def test_an_item_that_is_not_text_is_refused():
    with pytest.raises(TypeError, match="a chunk must be str, ReasoningDelta or Finish, not bytes"):
        await Source(Items(b"ab"), Parser())


@pytest.mark.parametrize("sink", [Parser, Turn])
async def test_the_text_of_a_chunk_is_handed_on_as_it_is(sink):
    chunk = "some text that is long enough to be no constant"[5:]
    event = await Source(Items(chunk), sink(stream="token"))
    assert event["content"] is chunk


async def test_a_turn_saves_its_text_before_it_hands_on_a_chunk_of_another_kind():
    source = Source(Items("<think>", "a", "b", "</think>", "c"), Turn(stream="token"))
    assert [(await source)["content"], (await source)["content"]] == ["a", "b"]
    [[(kind, content, _)], event] = await source
    assert (kind, content, event["content"]) == ("think", "ab", "c")


@pytest.mark.parametrize("sink", [Parser, Turn])
async def test_a_subclass_of_str_is_handed_on_as_str(sink):
    class Marked(str):
        __slots__ = ()

    event = await Source(Items(Marked("text")), sink(stream="token"))
    assert type(event["content"]) is str


def test_awaitables_of_the_iterator_pass_through():
    items = Items("a")
    items.awaitable = items.own
    assert run(Source(items, Parser(stream="token")))[0] == [None]


def test_values_that_are_sent_and_thrown_reach_the_iterator():
    received = []

    async def chunks():
        while True:
            try:
                received.append(await Ask())
            except KeyError as error:
                received.append(error)
                yield "caught"

    class Ask:
        def __await__(self):
            return (yield "question")

    source = Source(chunks(), Parser(stream="token"))
    assert next(source) == "question"
    assert source.send("answer") == "question"
    error = KeyError("thrown")
    with pytest.raises(StopIteration) as stop:
        source.throw(error)
    assert stop.value.value["content"] == "caught"
    assert received == ["answer", error]


def test_an_error_that_is_thrown_and_not_caught_is_raised_and_the_next_item_is_awaited():
    items = Items("a")
    items.awaitable = items.own
    source = Source(items, Parser(stream="token"))
    assert next(source) is None
    with pytest.raises(ZeroDivisionError):
        source.throw(ZeroDivisionError())
    assert content(run(source)[1]) == ["a"]


def test_an_error_thrown_before_anything_is_awaited_is_simply_raised():
    with pytest.raises(ZeroDivisionError):
        Source(Items("a"), Parser()).throw(ZeroDivisionError())


def test_closing_a_source_closes_what_it_awaits():
    closed = []

    class Waits:
        def __await__(self):
            try:
                yield
            finally:
                closed.append(True)

    source = Source(Items(awaitable=Waits), Parser())
    next(source)
    source.close()
    source.close()
    assert closed == [True]


async def test_a_cancelled_read_cancels_the_iterator():
    cancelled = asyncio.Event()

    async def chunks():
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        yield ""

    async def read():
        await Source(chunks(), Parser())

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()


async def test_other_items_are_handed_to_the_turn_by_a_callable():
    turn = Turn(stream="token")
    source = Source(Items("a", "b"), turn, lambda item: turn.event("respond", item * 2))
    assert content(await source) + content(await source) == ["aa", "bb"]


async def test_an_exception_of_the_callable_is_raised():
    def enter(item):
        raise LookupError(item)

    with pytest.raises(LookupError, match="a"):
        await Source(Items("a"), Turn(stream="token"), enter)


@pytest.mark.parametrize("waits", [False, True])
def test_a_cycle_through_a_source_is_collected(waits):
    items = Items("a")
    items.awaitable = items.own
    items.source = Source(items, Parser())
    if waits:
        next(items.source)
    gone = weakref.ref(items)
    del items
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("stream", ["event", "token"])
async def test_an_empty_chunk_gives_no_event(stream):
    source = Source(Items("a", "", "b", ""), parser := Parser(stream=stream))
    events = []
    while (handed_out := await source) is not None:
        events += handed_out if isinstance(handed_out, list) else [handed_out]
    assert "".join(content(events + parser.finish())) == "ab"
    assert all(content(events))
