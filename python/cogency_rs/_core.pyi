"""The Rust core. What users need of it is exported by `cogency_rs`; the rest is for its shells."""

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from typing import Any, Literal, Self, final

from typing_extensions import disjoint_base

from .types import CallMode, Dialects, ErrorMode, Event, StreamMode, ToolCall, TurnEvent

__all__ = [
    "BUILD",
    "ArgumentSchema",
    "CircuitBreaker",
    "Dialect",
    "EarlyCall",
    "Finish",
    "FoldOptions",
    "Folding",
    "Limits",
    "Parser",
    "Schedule",
    "Source",
    "Thought",
    "ToolSchemas",
    "Turn",
    "WithdrawnCalls",
    "__version__",
    "check_json",
    "decide",
    "format_results",
    "read_block",
    "system_prompt",
    "to_messages",
]

BUILD: Literal["debug", "release"]
"""How the core was compiled; debug code is many times slower."""

_Steps = list[
    TurnEvent | tuple[tuple[str, str, float], ...] | list[str] | EarlyCall | WithdrawnCalls
]

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
class Finish:
    """Why a model stopped writing, among the chunks of its text.

    Args:
        reason: the provider's word for it, such as "stop" or "length"; `None` for none.
    """

    __match_args__ = ("reason",)

    def __new__(cls, reason: str | None) -> Finish: ...
    @property
    def reason(self) -> str | None: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Thought:
    """Reasoning that a provider hands over apart from the text, among its chunks.

    Args:
        text: the next piece of it.
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> Thought: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Dialect:
    """How a model writes its calls.

    Args:
        name: one of `presets()`.

    Raises:
        ConfigError: there is no such preset; says which there are.

    A dialect is a value: which marks open and close what, and what shape a call has between them. Equal fields make
    equal dialects. It can be copied, pickled, compared and used as a key.
    """

    def __new__(cls, name: str) -> Dialect: ...
    @staticmethod
    def presets() -> list[str]:
        """The names of the dialects that models were taught."""

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Dialect:
        """A dialect of these fields, as `to_dict` gives them.

        Raises:
            ConfigError: a field is missing, unknown or wrong; says which.
        """

    @staticmethod
    def from_response_template(template: dict[str, Any]) -> Dialect:
        """The dialect that a `response_template` of Hugging Face transformers describes, version 1.

        Text is read from behind the template's prefix. Where transformers ends a value at the first mark that looks
        like its end, or keeps only the last of several texts, the dialect reads more.

        Raises:
            ConfigError: the template says something that cannot be read in one pass; says which field, and why.
        """

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def models(self) -> str:
        """Which models were taught it; empty where it is for any that is told how."""

    @property
    def stop(self) -> list[str]:
        """Strings at which a server is to stop."""

    def to_dict(self) -> dict[str, Any]:
        """All fields, of plain values."""

    def write_calls(self, calls: Iterable[ToolCall]) -> str:
        """Calls as a model writes them that was taught this dialect, for examples in a prompt.

        What is written reads back as it was. A text that a form without escapes cannot hold, such as a value with the
        mark that ends it, has a character reference in the place of that mark's first character.

        Raises:
            TypeError, ValueError: what `json.dumps` raises for arguments that JSON cannot hold.
        """

    def replace(self, **changes: Any) -> Dialect:
        """Another dialect, in which these fields are other ones.

        Raises:
            ConfigError: as `from_dict`.
        """

    def __replace__(self, **changes: Any) -> Dialect: ...
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ToolSchemas:
    """The schemas of tools, read once for many parsers.

    Args:
        tools: objects with a `name` and a `schema`, or declarations: dicts with a `name` and `parameters`,
            `input_schema` or `inputSchema`, also as `function` of another.
    """

    def __new__(cls, tools: Iterable[Any]) -> ToolSchemas: ...

@final
class Parser:
    """A model's text to events, without any waiting.

    Args:
        dialect: how the model writes its calls; see `parse_tokens`.
        tools: see `parse_tokens`.
        stream: `"event"` for complete units, `"token"` for `think` and `respond` text as it arrives.
        calls: see `parse_tokens`.
        limits: bounds on a block of calls; `Limits()` when not given.
        errors: see `parse_tokens`.
        lenient: see `parse_tokens`.
        begins_in_think: see `parse_tokens`.

    Raises:
        ConfigError: `dialect` is not known, or `stream`, `calls` or `errors` is none of its modes.

    How the text is cut into chunks never matters. The cost is linear in the text.
    """

    def __new__(
        cls,
        *,
        dialect: Dialects = "cogency",
        tools: ToolSchemas | Iterable[Any] | None = None,
        stream: StreamMode = "event",
        calls: CallMode = "whole",
        limits: Limits | None = None,
        errors: ErrorMode = "respond",
        lenient: bool = False,
        begins_in_think: bool | None = None,
    ) -> Parser: ...
    def feed(self, text: str) -> list[Event]:
        """Read the next chunk.

        Args:
            text: of any length; also a lone surrogate is text.

        Returns:
            The events it completes, in order; after `done` there are none.

        Raises:
            TypeError: `text` is no `str`. Whatever is in it, it never raises.

        The cost is linear in `text`, whatever came before.
        """

    def finish(
        self, reason: str | None = None, *, error: BaseException | None = None
    ) -> list[Event]:
        """Say that the text has ended.

        Args:
            reason: why the model stopped, in the provider's word; with "length" nothing runs of what was cut.
            error: what the source of the text raised; likewise.

        Returns:
            The events of what was still open. A second time there are none.
        """

    @property
    def done(self) -> bool:
        """Whether nothing more will come: a batch is complete, or the text has ended."""

@disjoint_base
class CircuitBreaker:
    """Opens after `max_failures` failures in a row.

    Args:
        max_failures: any number; with 0 it is open from the start.
        counts: what an accumulator tells it of a batch: `"batches"` for one failure where no call of it succeeded,
            `"calls"` for each call that failed, as cogency 3.3.0 counts.

    Attributes:
        max_failures: as it was given.
        consecutive_failures: failures since the last success.

    Raises:
        TypeError: `max_failures` is no number.
        ConfigError: `counts` is not known.
    """

    max_failures: float
    consecutive_failures: int

    def __new__(
        cls, max_failures: float = 3, *, counts: Literal["batches", "calls"] = "batches"
    ) -> Self: ...
    def record_success(self) -> None:
        """Count a success: the failures before it are forgotten."""

    def record_failure(self) -> bool:
        """Count a failure.

        Returns:
            Whether the breaker is open now.
        """

    def is_open(self) -> bool:
        """Whether there were at least `max_failures` failures in a row."""

    def close(self) -> None:
        """Begin to count anew."""

@final
class EarlyCall:
    """A step: a call whose batch is not complete may begin.

    Attributes:
        place: its place in the batch, from 0.
        call: canonical JSON.
    """

    @property
    def place(self) -> int: ...
    @property
    def call(self) -> str: ...

@final
class WithdrawnCalls:
    """A step: the calls that began early do not count from a place on.

    Attributes:
        place: the place in the batch, from 0.
    """

    @property
    def place(self) -> int: ...

@final
class Turn:
    """One turn: text or events go in, steps come out.

    A step is an event dict to emit, a tuple of `(type, content, timestamp)` rows to save together, a list of calls
    (canonical JSON) to run, or, with `eager`, an `EarlyCall` or `WithdrawnCalls`. Steps come in the order in which they
    are to be carried out. A `Source` feeds it text.

    Args:
        stream: see `Accumulator`.
        dialect: how the model writes its calls; see `parse_tokens`.
        tools: see `parse_tokens`.
        calls: see `parse_tokens`.
        limits: bounds on a block of calls; `Limits()` when not given.
        errors: see `parse_tokens`.
        lenient: see `parse_tokens`.
        begins_in_think: see `parse_tokens`.
        eager: whether a call is handed out as soon as it is complete.

    Attributes:
        outcome: how the turn came out, as far as it has come: a `TurnOutcome` by its value.
        finish_reason: why the model stopped, where its source said so.

    Raises:
        ConfigError: `dialect` is not known, or `stream`, `calls` or `errors` is none of its modes.

    The cost is linear in the text.
    """

    def __new__(
        cls,
        *,
        stream: StreamMode,
        dialect: Dialects = "cogency",
        tools: ToolSchemas | Iterable[Any] | None = None,
        calls: CallMode = "whole",
        limits: Limits | None = None,
        errors: ErrorMode = "respond",
        lenient: bool = False,
        begins_in_think: bool | None = None,
        eager: bool = False,
    ) -> Turn: ...
    @property
    def outcome(self) -> str: ...
    @property
    def finish_reason(self) -> str | None: ...
    def finish(self, *, error: BaseException | None = None) -> _Steps:
        """Say that the model's text has ended, or that its source raised `error`; returns what is left to do."""

    def error(
        self,
        kind: str,
        content: str,
        raw: str,
        line: int | None,
        column: int | None,
        code: str | None = None,
    ) -> None:
        """Take an error that some other parser reported; see `ErrorEvent`."""

    def event(self, kind: str, content: str) -> None:
        """Take an event that some other parser made.

        Args:
            kind: its type; one that is no part of a turn only ends the text before it.
            content: its text; of a `call`, and of a `call_ready`, which says that a call is complete and its batch is
                not, canonical JSON.
        """

    def results(self, results: Sequence[Any], breaker: CircuitBreaker) -> _Steps:
        """Take the results of the batch.

        Args:
            results: one for each call and in call order; each with `outcome`, `content` and `error`.
            breaker: counts them; when it opens, the turn ends.

        Raises:
            AttributeError, TypeError: a result is none, or JSON cannot hold it.
        """

@disjoint_base
class Source:
    """An async iterator that is read into a parser or a turn.

    Awaited, it reads until there are events or steps to hand out, and gives these, in a list or as the one event that
    they are; or `None` when the iterator has ended or no more of it is wanted: then the rest is in the sink's `finish`.

    Args:
        iterator: gives chunks of text, and `Finish` among them; or, with `enter`, anything.
        sink: what reads them.
        enter: called with every item, to hand it to the turn.

    Raises:
        TypeError: a chunk is neither.

    Whatever the iterator raises passes on. The cost of an item is that of reading it: between two of them the event
    loop takes no step unless the iterator waits.
    """

    def __new__(
        cls,
        iterator: AsyncIterator[Any],
        sink: Parser | Turn,
        enter: Callable[[Any], None] | None = None,
    ) -> Self: ...
    def __await__(self) -> Generator[Any, Any, Any]: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any:
        """Go on; returns what to wait for."""

    def send(self, value: Any) -> Any:
        """Go on with what the event loop sent; returns what to wait for."""

    def throw(self, *error: Any) -> Any:
        """Go on with what the event loop threw in; returns what to wait for."""

    def close(self) -> None:
        """Give up the item that is awaited."""

@final
class Schedule:
    """Which calls of a batch may run now, and which have run out of time.

    Calls begin in call order, never more at once than may; a sequential call begins when all calls before it are over,
    and runs alone.

    Args:
        count: how many calls there are.
        concurrency: how many may run at once, at least 1; `None` for all.
        deadline: when the time of the whole batch is up, as `loop.time()` counts; `None` for never.
    """

    def __new__(
        cls, count: int, *, concurrency: int | None = None, deadline: float | None = None
    ) -> Schedule: ...
    @property
    def count(self) -> int:
        """How many calls there are."""

    def add(self, count: int) -> None:
        """Add calls behind those that there are."""

    def truncate(self, count: int) -> None:
        """Forget the calls from this index on, all of which are over."""

    def set_deadline(self, deadline: float) -> None:
        """Set when the time of the whole batch is up."""

    def set_sequential(self, index: int) -> None:
        """Make a call sequential: what stands before it ends first, it runs alone, then comes the rest."""

    def ask(self, index: int) -> bool | tuple[int, int]:
        """Ask whether a call may run; if so, `leave` must follow.

        Returns:
            `True` if it may now; `False` if it may not any more; else a ticket, handed out again when it may.
        """

    def withdraw(self, ticket: tuple[int, int]) -> None:
        """Give up a ticket that was not handed out again."""

    def leave(self, index: int) -> list[tuple[int, int]]:
        """Say that a call runs no longer; it may ask again. Returns the tickets of those that may run now."""

    def over(self, index: int) -> list[tuple[int, int]]:
        """Say that a call is over and will not ask again. Returns the tickets of those that may run now."""

    def close(self) -> None:
        """Let no further call run."""

    def start_clock(self, index: int, now: float, limit: float) -> None:
        """Give a call so many seconds, from now on."""

    def hold_clock(self, index: int, now: float) -> None:
        """Stop a call's clock while it waits for something that is not its own work."""

    def resume_clock(self, index: int, now: float) -> None:
        """Let a clock that is held go on."""

    def next_deadline(self) -> float | None:
        """When `due` is to be asked next; `None` for never."""

    def due(self, now: float) -> tuple[bool, list[int]]:
        """Say whose time is up: whether it is that of the whole batch, and the calls; each is told of once."""

@final
class ArgumentSchema:
    """A tool's schema, compiled once to check many calls.

    Args:
        schema: cogency's flat form, `{"arg": {"type": ..., "required": ..., "min": ...}}`, or JSON Schema of the draft
            that its `$schema` names, else of 2020-12. A `format` is not checked, and no reference out of the schema is
            followed.
        form: how it is written; told by its look when `None`: JSON Schema has the `type` "object".

    A schema that cannot be compiled raises nothing: it is a fault of every call.

    Raises:
        ValueError: `form` is another word.
    """

    def __new__(
        cls, schema: Any, form: Literal["flat", "json schema"] | None = None
    ) -> ArgumentSchema: ...
    def is_of(self, schema: Any) -> bool:
        """Whether it is what this schema compiles to. The cost is linear in the schema."""

    def faults(self, args: Any) -> list[str]:
        """Say what is wrong with a call's arguments.

        Returns:
            A sentence for each fault, which names the argument, in the order of the schema's properties; no more than
            ten, and then how many there are besides. Empty if they fit.

        The cost of arguments that fit is linear in the arrays and objects among them; text is read only for a pattern.
        """

def read_block(text: str) -> list[str]:
    """Read the calls of the first execute block.

    Returns:
        The calls, each as `json.dumps` writes it.

    Raises:
        ProtocolError: there is no block, or it is malformed; says where. `original_input` is the text.
        TypeError: `text` is no `str`.

    The cost is linear in the text.
    """

def check_json(value: Any) -> None:
    """Check that JSON can hold a value, without writing it where its types are Python's plain ones.

    Raises:
        TypeError, RecursionError: as `json.dumps`.
        ValueError: likewise; also for `NaN` and infinities, which JSON does not have. The message says where one is.

    Whatever the methods of a class of its own raise goes on too.
    """

def format_results(names: Sequence[str], results: Sequence[Any]) -> str:
    """Write the results array.

    Args:
        names: the tools' names, in call order.
        results: one for each; with `outcome`, `content` and `error`.

    Returns:
        A JSON array, as `json.dumps` writes it; see `format_results_array`.

    Raises:
        AttributeError, TypeError: a result is not one, or JSON cannot hold it.
        ValueError: JSON cannot hold a result, since it has `NaN` or an infinity in it.
    """

@final
class FoldOptions:
    """What a fold makes of the rows. Equal options fold a log to equal messages.

    Args:
        rules: "own" or "installed". By both, calls without results are shown as failed. By our own, results without
            calls are left out, and the report in a row of type `error` is shown until a call, results or a question
            follows. In an installed cogency, results without calls are shown and reports are not, as in cogency 3.3.0.
        escape_tags: see `to_messages`.
        max_result_chars: how many characters of each result's content are shown; `None` for all.
        tool_result_chars: the same for single tools, by name, in place of `max_result_chars`.
        dialect: see `to_messages`.

    Raises:
        ConfigError: `dialect` is not known.
        ValueError: `rules` is another word.
        OverflowError: a bound is below 0.
    """

    def __new__(
        cls,
        *,
        rules: Literal["own", "installed"] = "own",
        escape_tags: bool = False,
        max_result_chars: int | None = None,
        tool_result_chars: dict[str, int] | None = None,
        dialect: Dialects = "cogency",
    ) -> FoldOptions: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Folding:
    """A conversation that is folded while it grows."""

    def __new__(cls, options: FoldOptions) -> Folding: ...
    def extend(self, events: Iterable[Any]) -> None:
        """Take further events, oldest first; the cost is linear in them. Raises what `to_messages` raises."""

    def messages(self) -> list[dict[str, Any]]:
        """Write the messages of all events so far, in a new list of new dicts; the cost is linear in the messages."""

    def questions(self) -> list[int]:
        """Say at which of the messages a question stands, oldest first: there a turn begins."""

def to_messages(
    events: Iterable[Any], *, escape_tags: bool = False, dialect: Dialects = "cogency"
) -> list[dict[str, Any]]:
    r"""Fold stored events into messages, as cogency 3.3.0 does.

    Args:
        events: rows with `type` and `content`, oldest first.
        escape_tags: write `\u003c` for every `<` between `<results>` and `</results>`, so that what a tool returned
            cannot close its block or open another. Results that are JSON keep their value. Nothing else is changed.
            This is for cogency's own dialect; in every other one, results are always made so.
        dialect: how the model writes its calls and reads results: a name of `Dialect.presets()`, a `Dialect`, or a
            tuple of these, of which the first is written.

    Returns:
        Messages with `role` (`user` or `assistant`) and `content`. Calls stand in them as the model writes them, each
        result in the frame that the model knows. In that frame, the first character of what looks like one of the
        dialect's marks is a character reference, `&lt;` for `<`; in JSON it is the escape `\u003c`. Thoughts are left
        out where the dialect has no marks for them.

    Raises:
        ConfigError: `dialect` is not known.
        KeyError, TypeError, json.JSONDecodeError: a row is no row; as in cogency 3.3.0.

    The cost is linear in the text.
    """

def system_prompt(
    tools: Sequence[tuple[str, str, str, Any]],
    identity: str | None = None,
    instructions: str | None = None,
    dialect: Dialects = "cogency",
) -> str:
    """Write the system prompt.

    Args:
        tools: of each tool its name, the line that cogency's prompt has of it, what it does, and its schema.
        identity: who the model is; a neutral sentence when not given.
        instructions: what this user or task asks for in addition.
        dialect: how the model writes its calls; of several the first.

    Raises:
        ConfigError: `dialect` is not known, or a schema is none that JSON can hold.
    """

def decide(
    outcome: str, *, is_to_stop: bool, is_to_go_on: bool, is_refused: bool
) -> Literal["go_on", "recover", "wait", "stop"]:
    """Say what an agent does behind a step: ask the model again, show it what was wrong, wait for people, or stop.

    Args:
        outcome: how the step came out, a `TurnOutcome` by its value.
        is_to_stop: whether something asked that the run stops.
        is_to_go_on: whether a hook asked that it goes on all the same.
        is_refused: whether the answer is not what was asked for.

    Raises:
        ValueError: there is no such outcome.
    """
