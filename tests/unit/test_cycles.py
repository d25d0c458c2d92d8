"""What holds a Python object is found by the garbage collector, also where that object leads back to it."""

import gc
import weakref

import pytest

from cogency_rs._core import Folding, FoldOptions, Parser, Source, Turn
from cogency_rs.reader import ChatReader
from cogency_rs.turn import CircuitBreaker


class Number(float):
    """A number that can hold something."""


class Part(dict):
    """Part of what a user said that can be watched."""


async def items():
    yield {"type": "user"}


def breaker():
    number = Number(3)
    number.breaker = CircuitBreaker(number)
    return number


def folding():
    part = Part(type="image")
    part["folding"] = folding = Folding(FoldOptions())
    folding.extend([{"type": "user", "content": part}])
    return part


def source():
    class Items:
        def __aiter__(self):
            return self

        async def __anext__(self):
            return ""

    items = Items()
    items.source = Source(items, Parser())
    return items


def chat_reader():
    class Ids:
        def next(self, name, arguments):
            return name

    ids = Ids()
    ids.reader = ChatReader("hermes", ids=ids.next)
    return ids


@pytest.mark.parametrize("make", [breaker, folding, source, chat_reader])
def test_a_circle_is_collected(make):
    watched = weakref.ref(make())
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("value", [(), (1, 2), ValueError("x"), StopIteration(3), 5])
async def test_await_gives_any_value_as_it_is(value):
    """It is read from a `StopIteration`, of which a tuple would be the arguments and an exception the instance."""
    source = Source(items(), Turn(stream="event"), lambda item: value)
    assert await source is value
    with pytest.raises(StopIteration) as stopped:
        Source(items(), Turn(stream="event"), lambda item: value).send(None)
    assert stopped.value.value is value
