"""The Rust core. What users need of it is exported by `cogency_rs`; the rest is for its shells."""

from asyncio import Future
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from typing import Any, Literal, Self, final

from .types import Event, StreamMode

BUILD: Literal["debug", "release"]
"""How the core was compiled; debug code is many times slower."""

__version__: str

@final
class Limits:
    """Bounds that keep memory bounded, whatever the text.

    Args:
        max_block_bytes: UTF-8 bytes in the body of an execute block. Longer runs of other text are emitted in pieces
            of this size.
        max_depth: brackets open at once in an execute block.
        max_calls: calls in an execute block.

    Raises:
        ConfigError: a value is no whole number above 0.
    """

    def __new__(
        cls, *, max_block_bytes: int = 10485760, max_depth: int = 200, max_calls: int = 1024
    ) -> Limits: ...
    @property
    def max_block_bytes(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def max_calls(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...

@final
class Parser:
    """A model's text to events, without any waiting.

    Args:
        stream: `"event"` for complete units, `"token"` for `think` and `respond` text as it arrives.
        limits: bounds on an execute block; `Limits()` when not given.

    Raises:
        ConfigError: `stream` is neither mode.

    How the text is cut into chunks never matters. The cost is linear in the text.
    """

    def __new__(cls, *, stream: StreamMode = "event", limits: Limits | None = None) -> Parser: ...
    def feed(self, text: str) -> list[Event]:
        """Read the next chunk; returns the events it completes. After `done` there are none.

        Raises:
            TypeError: `text` is no `str`.
        """

    def finish(self) -> list[Event]:
        """Say that the text has ended; returns the events of what was still open."""

    @property
    def done(self) -> bool:
        """Whether nothing more will come: a batch is complete, or the text has ended."""

class CircuitBreaker:
    """Opens after `max_failures` failures in a row."""

    max_failures: float
    consecutive_failures: int

    def __new__(cls, max_failures: float = 3) -> Self: ...
    def record_success(self) -> None:
        """Count a success: the failures before it are forgotten."""

    def record_failure(self) -> bool:
        """Count a failure; returns whether the breaker is open now."""

    def is_open(self) -> bool:
        """Whether so many calls in a row have failed."""

@final
class Turn:
    """One turn: text or events go in, steps come out.

    A step is an event dict to emit, a tuple of `(type, content, timestamp)` rows to save together, or a list of calls
    (canonical JSON) to run.
    """

    def __new__(cls, *, stream: StreamMode, limits: Limits | None = None) -> Turn: ...
    def finish(self) -> list[Any]:
        """Say that the model's text has ended; returns what is left to do."""

    def event(self, kind: str, content: str) -> None:
        """Take an event that some other parser made."""

    def results(self, results: Sequence[Any], breaker: CircuitBreaker) -> list[Any]:
        """Take the results of the batch, one for each call and in call order."""

class Source:
    """An async iterator that is read into a parser or a turn.

    Awaited, it reads until there are events or steps to hand out, and gives these; or `None` when the iterator has
    ended or no more of it is wanted: then the rest is in the sink's `finish`.

    Args:
        iterator: gives chunks of text; or, with `enter`, anything.
        sink: what reads them.
        enter: called with every item, to hand it to the turn.

    Raises:
        TypeError: a chunk is no `str`.

    Whatever the iterator raises passes on.
    """

    def __new__(
        cls,
        iterator: AsyncIterator[Any],
        sink: Parser | Turn,
        enter: Callable[[Any], None] | None = None,
    ) -> Self: ...
    def __await__(self) -> Generator[Any, Any, list[Any] | None]: ...

class ThreadJob:
    """A call that is to run in a worker thread: calling it runs it there."""

    def __new__(cls, *args: Any) -> Self: ...
    def __call__(self) -> Any:
        """Run the call."""

    def cancel(self) -> bool:
        """Ask the job to stop; returns whether it can be, and is to be waited for."""

@final
class Batch:
    """Calls that run at the same time, driven on the running loop.

    Args:
        count: how many.
        start: called with the index of each call, starts it; returns an awaitable, a `ThreadJob`, or the result itself.
        over: told of every call that is over, in the order in which they end: index, value, exception, state.
        call_timeout: seconds a call may take.
        batch_timeout: seconds the batch may take.
        concurrency: how many calls may run at once.
    """

    def __new__(
        cls,
        count: int,
        start: Callable[[int], Any],
        over: Callable[
            [
                int,
                Any,
                BaseException | None,
                Literal["over", "timeout", "batch timeout", "not started"],
            ],
            None,
        ],
        *,
        call_timeout: float | None = None,
        batch_timeout: float | None = None,
        concurrency: int | None = None,
    ) -> Batch: ...
    @property
    def done(self) -> bool:
        """Whether every call is over."""

    def wait(self) -> Future[None]:
        """Make a future that is ready when every call is over. One waiter at a time."""

    def cancel(self) -> None:
        """Ask every call that is not over to stop, and start no further one."""

def set_worker_threads(count: int) -> None:
    """Bound the worker threads for tools that block; 64 unless set.

    Raises:
        ConfigError: `count` is 0, or a batch has made the threads already.
    """

def worker_threads() -> int:
    """How many worker threads there may be for tools that block."""

def check_arguments(schema: Any, args: dict[str, Any]) -> str | None:
    """Check a call's arguments against its tool's schema; returns the first problem in words, or `None`."""

def read_block(text: str) -> list[str]:
    """Read the calls of the first execute block, each as canonical JSON."""

def format_results(names: Sequence[str], results: Sequence[Any]) -> str:
    """Write the results array for tools of these names and their results."""

@final
class Folding:
    """A conversation that is folded while it grows. Calls without results are shown as failed.

    Args:
        escape_tags: see `to_messages`.
    """

    def __new__(cls, *, escape_tags: bool = False) -> Folding: ...
    def extend(self, events: Iterable[Any]) -> None:
        """Take further events, oldest first; see `to_messages`."""

    def messages(self) -> list[dict[str, Any]]:
        """Write the messages of all events so far, in a new list of new dicts."""

def to_messages(events: Iterable[Any], *, escape_tags: bool = False) -> list[dict[str, Any]]:
    r"""Fold stored events into messages, as cogency 3.3.0 does.

    Args:
        events: rows with `type` and `content`, oldest first.
        escape_tags: write `\u003c` for every `<` between `<results>` and `</results>`, so that what a tool returned
            cannot close its block or open another. Results that are JSON keep their value. Nothing else is changed.

    Returns:
        Messages with `role` (`user` or `assistant`) and `content`.

    Raises:
        KeyError, TypeError, json.JSONDecodeError: a row is no row; as in cogency 3.3.0.

    The cost is linear in the text.
    """

def system_prompt(
    tools: Sequence[tuple[str, str]], identity: str | None = None, instructions: str | None = None
) -> str:
    """Write the system prompt for tools given as `(name, line)`."""
