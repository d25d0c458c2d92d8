"""A model that answers from a script, and a computer whose clock, ids and chance a test holds in its hands.

Invariant: each request takes the next answer, in the order in which requests begin to be read, and no answer is taken
twice.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias, cast

from ..errors import ConfigError
from ..models import Delta, Finish, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from ..outside import Outside


def copy_of(value: Any) -> Any:
    """A deep copy of a value of JSON: mappings become dicts, sequences lists."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        return {key: copy_of(item) for key, item in mapping.items()}
    if isinstance(value, list | tuple):
        return [copy_of(item) for item in cast("Sequence[Any]", value)]
    return value


def in_words(request: ModelRequest) -> str:
    """A request in a few words, by its last message."""
    if not request.messages:
        return "it has no messages"
    last = request.messages[-1]
    return f"its last message is {last.get('role')}: {shortened(repr(last.get('content')))}"


def shortened(text: str, size: int = 80) -> str:
    """A text, cut to `size` characters."""
    return text if len(text) <= size else f"{text[: size - 1]}…"


def closing(stream: Any) -> AbstractAsyncContextManager[object]:
    """A context manager that closes a stream at its end, if it can be closed."""
    return aclosing(stream) if hasattr(stream, "aclose") else nullcontext()


async def text_in(
    answer: AsyncGenerator[str | Delta, None],
) -> AsyncGenerator[str | ReasoningDelta | Finish, None]:
    """An answer as a plain model function gives it: what `parse_tokens` reads, which is everything but usage.

    Raises:
        ConfigError: the answer has a tool call of the provider's own kind, which must not be lost.
    """
    async with aclosing(answer):
        async for piece in answer:
            match piece:
                case str() | Finish():
                    yield piece
                case TextDelta(text):
                    yield text
                case ReasoningDelta(text):
                    if text:
                        yield piece
                case ToolCallDelta():
                    raise ConfigError(
                        f"the answer has {piece!r}, which is not text: use "
                        "stream(request), or let it write its calls as text"
                    )
                case _:
                    pass


class ScriptedOutside(Outside):
    """What is outside of a program, as a test wants it; for `with outside(…):`.

    The same program in the same block makes the same ids at the same times, so a test can compare whole logs.

    Args:
        time: seconds since the epoch that the clock shows at first.
        worker: the name of the process, `"host:pid"`.
        seed: of what is drawn by lot.
        has_threads: whether storages work in threads of their own; without, a test has one order of events.

    Attributes:
        now: what the clock shows; set it to move the clock, backwards too.
        elapsed: what the clock that only rises shows, in seconds.
        gone: the names of the processes that have ended.
    """

    def __init__(
        self,
        time: float = 1_000_000_000.0,
        *,
        worker: str = "test:1",
        seed: int = 0,
        has_threads: bool = False,
    ) -> None:
        self.now = time
        self.elapsed = 0.0
        self.gone: set[str] = set()
        self.has_threads = has_threads
        self._worker = worker
        self._chance = Random(seed)
        self._ids = 0

    def pass_time(self, seconds: float) -> None:
        """Move both clocks forwards."""
        self.now += seconds
        self.elapsed += seconds

    def time(self) -> float:
        """Seconds since the epoch."""
        return self.now

    def monotonic(self) -> float:
        """Seconds that only rise."""
        return self.elapsed

    def new_id(self) -> str:
        """The next id: they count, and have the form of a UUIDv7."""
        self._ids += 1
        return f"00000000-0000-7000-8000-{self._ids:012x}"

    def worker(self) -> str:
        """The name of the process."""
        return self._worker

    def machine(self) -> str:
        """The name of its system."""
        return "test"

    def is_gone(self, worker: str, on: str) -> bool:
        """Whether a process is among those that have ended."""
        return worker in self.gone

    def random(self) -> float:
        """The next number of the seed."""
        return self._chance.random()


Piece: TypeAlias = str | Delta | BaseException
"""A piece of an answer; an exception is raised in its place."""

FixedAnswer: TypeAlias = str | Sequence[Piece] | BaseException
"""A text, its pieces, or an exception to raise instead."""

AnswerFunction: TypeAlias = Callable[
    [ModelRequest], FixedAnswer | Awaitable[FixedAnswer] | AsyncIterable[str | Delta]
]
"""Answers a request: a function, a coroutine function, or an async generator function."""

Answer: TypeAlias = FixedAnswer | AnswerFunction
"""What a script has for one request."""


class ScriptedModel:
    """A model that answers from a script.

    It is a `Model`, and also a plain function from messages to text.

    Args:
        answers: one for each request, in order. An answer is a text; a list of pieces, `str` and `Delta`s, with an
            exception where the answer breaks off; an exception, raised instead of an answer; or a function of the
            `ModelRequest`, sync or async, that returns one of these or is an async generator of pieces. A function
            instead of the list answers every request.
        chunk: how many characters of a text come at once; `None` for all of it. The pieces of lists are not cut.
        delay: seconds before each piece. Other tasks may run before each piece in any case.
        name: the model's name in traces and errors.
        provider: the name of its service there.

    Raises:
        ConfigError: `answers`, `chunk` or `delay` cannot be used; the message says which answer is wrong.

    Attributes:
        requests: the requests so far, in order, each copied when it was made.
        closed_early: how many answers were closed by their reader before their end, as a parser does after a batch of
            calls, and a run does when it is cancelled.

    Several agents may ask one model at once, even from several threads. Which answer each of them gets then depends on
    which asks first: give each agent its own model, or a function that decides by the request.
    """

    def __init__(
        self,
        answers: Sequence[Answer] | AnswerFunction,
        *,
        chunk: int | None = 4,
        delay: float = 0.0,
        name: str = "scripted",
        provider: str = "scripted",
    ) -> None:
        if chunk is not None and chunk < 1:
            raise ConfigError(f"chunk must be at least 1 character, or None for all, got {chunk}")
        if delay < 0:
            raise ConfigError(f"delay must be at least 0 seconds, got {delay}")
        self.name = name
        self.provider = provider
        self.requests: list[ModelRequest] = []
        self.closed_early = 0
        self._every: AnswerFunction | None = answers if callable(answers) else None
        self._answers: list[Answer] = [] if callable(answers) else _checked_answers(answers)
        self._chunk = chunk
        self._delay = delay
        self._origin = "given"
        self._wrong: str | None = None
        self._lock = threading.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Delta, None]:
        """Give the next answer, piece by piece.

        Raises:
            AssertionError: there is no answer left; the message says how many there were, and describes the request.
        """
        asked = replace(request, messages=copy_of(request.messages))
        answer = self._next(asked)
        whole = False
        try:
            async with aclosing(self._pieces(answer, asked)) as pieces:
                async for piece in pieces:
                    yield piece
            whole = True
        except (GeneratorExit, asyncio.CancelledError):
            raise
        except BaseException:
            whole = True  # broken off by the script, not by the reader
            raise
        finally:
            with self._lock:
                self.closed_early += not whole

    def __call__(
        self, messages: Sequence[Mapping[str, Any]]
    ) -> AsyncGenerator[str | ReasoningDelta | Finish, None]:
        """Give the next answer as a plain model function does: what `parse_tokens` reads, all but usage.

        Raises:
            AssertionError: there is no answer left.
            ConfigError: the answer has a tool call of the provider's own kind, which must not be lost.
        """
        return text_in(self.stream(ModelRequest(messages)))

    def assert_complete(self) -> None:
        """Fail unless every answer was used, and no request was left without one.

        Raises:
            AssertionError: an answer is left, or a request got no answer; the message says which.
        """
        __tracebackhide__ = True
        if self._wrong is not None:
            raise AssertionError(self._wrong)
        used, answers = len(self.requests), self._answers
        if used < len(answers):
            raise AssertionError(
                f"{self.name}: only {used} of {_answers(len(answers))} used; "
                f"the next one is {shortened(repr(answers[used]))}"
            )

    def _next(self, asked: ModelRequest) -> Answer:
        with self._lock:
            number = len(self.requests)
            self.requests.append(asked)
        if self._every is not None:
            return self._every
        if number < len(self._answers):
            return self._answers[number]
        raise self._fault(
            f"request {number + 1} has no answer, since {_answers(len(self._answers))} {self._origin}; "
            f"{in_words(asked)}"
        )

    def _fault(self, wrong: str) -> AssertionError:
        """Make an error, and keep its message for `assert_complete`, since agents catch what models raise."""
        wrong = f"{self.name}: {wrong}"
        self._wrong = self._wrong or wrong
        return AssertionError(wrong)

    async def _pieces(
        self, answer: Answer, asked: ModelRequest
    ) -> AsyncGenerator[str | Delta, None]:
        if callable(answer):
            given = answer(asked)
            if isinstance(given, AsyncIterable):
                async with closing(given):
                    async for delta in given:
                        yield delta
                return
            answer = await given if inspect.isawaitable(given) else given
            _check(answer, f"what the answer's function returned for {in_words(asked)}")
        for piece in _cut(answer, self._chunk):
            await asyncio.sleep(self._delay)
            if isinstance(piece, BaseException):
                raise piece
            yield piece


def _cut(answer: FixedAnswer, chunk: int | None) -> Sequence[Piece]:
    match answer:
        case str():
            size = chunk or len(answer) or 1
            return [answer[start : start + size] for start in range(0, len(answer), size)]
        case BaseException():
            return [answer]
        case _:
            return answer


def _checked_answers(answers: object) -> list[Answer]:
    if isinstance(answers, str) or not isinstance(answers, Sequence):
        raise ConfigError(
            "answers must be a list with an answer for each request, or a function of the request, "
            f"got {shortened(repr(answers))}"
        )
    answers = cast("Sequence[Answer]", answers)
    for number, answer in enumerate(answers):
        if not callable(answer):
            _check(answer, f"answers[{number}]")
    return list(answers)


def _check(answer: object, where: str) -> None:
    if isinstance(answer, str | BaseException):
        return
    if not isinstance(answer, Sequence):
        raise ConfigError(
            f"{where} must be a text, a list of str and Deltas, an exception or a function, "
            f"got {shortened(repr(answer))}"
        )
    for number, piece in enumerate(cast("Sequence[object]", answer)):
        if not isinstance(piece, str | Delta | BaseException):
            raise ConfigError(
                f"{where}[{number}] must be a str, a Delta or an exception, "
                f"got {shortened(repr(piece))}"
            )


def _answers(number: int) -> str:
    return "1 answer was" if number == 1 else f"{number} answers were"
