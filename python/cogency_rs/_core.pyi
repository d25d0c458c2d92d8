"""The Rust core. `cogency_rs` exports what users need; the rest is for the package's Python shells."""

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Self, final

from typing_extensions import disjoint_base

from .types import (
    CallMode,
    Dialects,
    ErrorMode,
    Event,
    FinishKind,
    StreamMode,
    ToolCall,
    ToolResult,
    TurnEvent,
)

__all__ = [
    "BUILD",
    "EVENTS",
    "AnswerReader",
    "ArgumentSchema",
    "ArgumentValues",
    "CallGrammar",
    "ChatReader",
    "CircuitBreaker",
    "Detection",
    "Dialect",
    "EarlyCall",
    "Exchange",
    "FieldText",
    "Finish",
    "FoldOptions",
    "Folding",
    "HttpClient",
    "Inbox",
    "JsonFault",
    "Limits",
    "ObjectReader",
    "Parser",
    "PromptParts",
    "Schedule",
    "Source",
    "ToolSchemas",
    "Turn",
    "WithdrawnCalls",
    "__version__",
    "check_json",
    "decide",
    "estimated_tokens",
    "event_of_cut",
    "forget_random_numbers",
    "format_results",
    "hand_in_clock",
    "line_difference",
    "prompt_parts",
    "read_block",
    "to_messages",
    "turning_marks",
    "uuid7",
]

BUILD: Literal["debug", "release"]
"""How the core was compiled; debug code is many times slower."""

EVENTS: tuple[tuple[str, tuple[str, ...]], ...]
"""The `type` of each kind of event of parsers, turns, hooks and runs, and all its keys in their order."""

_Steps = list[
    TurnEvent | tuple[tuple[str, str, float], ...] | list[str] | EarlyCall | WithdrawnCalls
]

__version__: str

@final
class Limits:
    """Limits on blocks of calls, which keep memory bounded whatever the text.

    Args:
        max_block_bytes: how many UTF-8 bytes the body of an execute block may have. Longer pieces of other text are
            emitted in parts of this size.
        max_depth: how many brackets may be open at once in an execute block.
        max_calls: how many calls a batch may have, in all its blocks.

    Raises:
        ConfigError: a value is not a whole number above 0.
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
        reason: the provider's word for it, such as "stop" or "length"; `None` if there is none.
        details: what the provider says about it, such as why it refuses to answer.

    Attributes:
        kind: what the word means, in upper or lower case: the answer is `"whole"`, or ends with `"calls"`; it was cut
            for its `"length"`, `"refused"` by the model or its provider, or `"broken"` off; or the word is `"unknown"`.
    """

    __match_args__ = ("reason",)

    def __new__(cls, reason: str | None, *, details: str | None = None) -> Finish: ...
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def details(self) -> str | None: ...
    @property
    def kind(self) -> FinishKind: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Detection:
    """The dialect of a chat template; see `Dialect.detect`.

    Attributes:
        dialect: the dialect.
        evidence: the reasons for it, one sentence each.
        doubts: what is uncertain about it, one sentence each.
    """

    @property
    def dialect(self) -> Dialect: ...
    @property
    def evidence(self) -> list[str]: ...
    @property
    def doubts(self) -> list[str]: ...

@final
class Dialect:
    """How a model writes its calls.

    Args:
        name: one of `presets()`.

    Raises:
        ConfigError: there is no such preset; the message has the nearest ones.

    A dialect is a value: it has the marks that open and close each part, and the shape of a call between them. Dialects
    with equal fields are equal. They can be copied, pickled, compared and used as keys.
    """

    def __new__(cls, name: str) -> Dialect: ...
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any: ...
    @staticmethod
    def presets() -> list[str]:
        """The names of the known dialects."""

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Dialect:
        """Make a dialect from its fields, as `to_dict` returns them.

        Raises:
            ConfigError: a field is missing, unknown or wrong; the message says which.
        """

    @staticmethod
    def from_response_template(template: dict[str, Any]) -> Dialect:
        """Make the dialect that a `response_template` of Hugging Face transformers, version 1, describes.

        Text is read from the end of the template's prefix on. Where transformers ends a value at the first mark that
        looks like its end, or keeps only the last of several texts, the dialect reads more.

        Raises:
            ConfigError: the template describes a text that cannot be read in one pass; the message says which field,
                and why.
        """

    @staticmethod
    def detect(source: str | PathLike[str] | Mapping[str, Any]) -> Detection | None:
        """Find out from a model's chat template which dialect it was taught.

        The template is rendered with one tool, one call and one result, and each preset reads the output: what a
        template does counts, not the model's name. Where it cannot be rendered, the marks in its text are
        searched. A template without tools has the dialect `hermes`, and `doubts` say so.

        Args:
            source: the text of a template; a dict as in `tokenizer_config.json`; or the path of a template, of a
                `tokenizer_config.json`, of a GGUF file, or of a folder that has one of these.

        Returns:
            The dialect, or `None` if the template writes calls that no preset reads.

        Raises:
            ConfigError: there is no file, or no template in it.

        A template's time and memory are bounded. Only the head of a GGUF file is read.
        """

    @property
    def name(self) -> str:
        """The name of the dialect."""

    @property
    def models(self) -> str:
        """The models that were taught the dialect; empty if it suits any model that is shown how to write it."""

    @property
    def stop(self) -> list[str]:
        """Strings at which a server should stop writing."""

    def to_dict(self) -> dict[str, Any]:
        """All fields, as plain values."""

    def call_marks(self) -> tuple[list[str], list[str]]:
        """The marks that open calls, and those that close them: those of a block of calls first."""

    def write_calls(
        self, calls: Iterable[ToolCall], *, tools: ToolSchemas | Iterable[Any] | None = None
    ) -> str:
        """Write calls in this dialect, as models that were taught it do; for examples in a prompt.

        A parser with the same tools reads back the same calls. Without `tools`, this holds for a parser that knows a
        tool for each call, with exactly the types of the call's arguments. In text without escapes, each mark of the
        dialect is broken up, as `inert` does it, and the parser undoes that.

        Args:
            calls: the calls, in their order.
            tools: the tools that the reader knows. A text such as `"5"` for a parameter that may be a number too can
                be written only in some dialects.

        Raises:
            ConfigError: the dialect cannot hold a call: it would be read as another one or as none.
            TypeError, ValueError: JSON cannot hold the arguments; as `json.dumps`.
        """

    def write_turn(
        self,
        content: str | None = None,
        *,
        reasoning: str | None = None,
        calls: Iterable[ToolCall] | None = None,
        tools: ToolSchemas | Iterable[Any] | None = None,
        first: int = 0,
    ) -> str:
        """Write an answer in this dialect: reasoning, text, and calls, as the model would have written it.

        Reasoning is left out where the dialect has no marks for it. Marks in the texts are broken up, as `inert` does.

        Args:
            content: the text for the user.
            reasoning: what the model thought.
            calls: the calls, as `write_calls` takes them.
            tools: see `write_calls`.
            first: the number of the first call in the conversation, for dialects that number their calls.

        Raises:
            ConfigError, TypeError, ValueError: as `write_calls`.
        """

    def write_results(
        self,
        results: Iterable[ToolResult],
        *,
        calls: Iterable[ToolCall] | None = None,
        first: int = 0,
    ) -> str:
        """Write what tools returned, as models of this dialect read it: the content of the next message.

        Args:
            results: the results of a batch, in the order of its calls. Text in them is made safe, see `inert`.
            calls: the calls that they answer; a dialect that shows a result with the name or the id of its call takes
                both from here.
            first: see `write_turn`.

        Raises:
            AttributeError, TypeError, ValueError: as `format_results_array`.
        """

    def declare(self, tools: Iterable[Any]) -> str:
        """Declare tools as models of this dialect were taught to see them: a part of the system message.

        `system_prompt` has the same text, with more words around it.

        Args:
            tools: as `ToolSchemas` takes them.

        Raises:
            ConfigError: JSON cannot hold a tool's schema.
            AttributeError, TypeError: `tools` is not made of tools.

        Equal tools give equal text. The cost is linear in the schemas.
        """

    def grammar(
        self,
        tools: Iterable[Any],
        *,
        form: Literal["gbnf"] = "gbnf",
        calls: Literal["auto", "required", "none"] | str = "auto",
        parallel: bool = True,
        reasoning: Literal["auto", "open", "none"] = "auto",
    ) -> CallGrammar:
        """Make the grammar of the answers that a parser of this dialect reads as calls of these tools without error.

        A server that holds a model to it lets the model write nothing else: text without any mark of the dialect,
        and calls of these tools, as the dialect writes them, with arguments that fit the tools' JSON Schemas.

        Args:
            tools: as `ToolSchemas` takes them.
            form: `"gbnf"` is what llama.cpp reads.
            calls: `"auto"` for text, calls, or both; `"required"` for at least one call and no text; `"none"` for no
                call; or the name of the tool that must be called. Without tools, `"auto"` allows no call.
            parallel: whether there may be several calls.
            reasoning: `"auto"` if the answer may begin with reasoning, or begins in it where the dialect says so;
                `"open"` if the prompt has opened it; `"none"` if there is none.

        Raises:
            ConfigError: a schema does not end, no value fits it, or the dialect cannot hold a name, a key or a value;
                the message says which tool, and where in its parameters. Or the named tool does not exist, a call is
                required without tool, or the dialect has no grammar.
            TypeError: `tools` is not made of tools.

        Properties are written in the order in which they are declared, and undeclared ones only where the schema has
        `additionalProperties`. Whatever else of a schema a grammar cannot express, it allows, and lists in `widened`.
        The cost is linear in the schemas.
        """

    def inert(self, text: str) -> str:
        """Break up each mark in text from outside, so that it opens and ends nothing in a prompt.

        A mark is what the dialect reads by, or one of its `tokens`. A word joiner (U+2060), which has no width, follows
        its first character. If the text has joiners there already, it gets one more. If it begins or ends with half of
        a mark that a prompt could complete, a joiner is put at that end.

        `to_messages`, `assemble` and `system_prompt` do this themselves. A dialect whose `prompt` has
        `"inert": "kept"`, as cogency's own, returns the text as it is.

        The cost is linear in the text.
        """

    def exact(self, text: str) -> str:
        """Undo `inert`: `exact(inert(text)) == text` for every text.

        Parsers do this for the names and arguments of calls, since a model may copy what it was shown. The cost is
        linear in the text.
        """

    def replace(self, **changes: Any) -> Dialect:
        """Make a copy in which these fields are changed.

        Where marks or forms of calls change but `prompt` does not, the words of the models' template are left out:
        they show other calls.

        Raises:
            ConfigError: as `from_dict`.
        """

    def __replace__(self, **changes: Any) -> Dialect: ...
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class CallGrammar:
    """The answers that a model can write, for a server that holds it to a grammar; made by `Dialect.grammar`."""

    @property
    def text(self) -> str:
        """The grammar, as the server reads it; also `str(grammar)`."""

    @property
    def widened(self) -> list[str]:
        """What the grammar allows but the schemas do not.

        Each entry is the tool, where in its parameters, and the keyword: `"book.seats: uniqueItems"`.
        """

@final
class ToolSchemas:
    """The schemas of tools, read once for many parsers.

    Args:
        tools: objects with a `name` and a `schema`, or declarations: dicts with a `name` and `parameters`,
            `input_schema` or `inputSchema`, or dicts with such a dict as their `function`. A call that names its
            server finds a tool named `server`, NUL and the call's name.
    """

    def __new__(cls, tools: Iterable[Any]) -> ToolSchemas: ...

@final
class Parser:
    """Parses a model's text into events, and never waits.

    Args:
        dialect: how the model writes its calls; see `parse_tokens`.
        tools: see `parse_tokens`.
        stream: `"event"` for complete units, `"token"` for `think` and `respond` text as it arrives.
        calls: see `parse_tokens`.
        limits: bounds on a block of calls; `Limits()` by default.
        errors: see `parse_tokens`.
        lenient: see `parse_tokens`.
        begins_in_think: see `parse_tokens`.

    Raises:
        ConfigError: `dialect` is not known, or `stream`, `calls` or `errors` has a wrong value.

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
            text: of any length. The halves of a surrogate pair are joined, even where one chunk ends and the next one
                begins; a half without the other becomes U+FFFD.

        Returns:
            The events that the chunk completes, in order; none after `done`.

        Raises:
            TypeError: `text` is not a `str`. No text raises.

        The cost is linear in `text`, whatever came before.
        """

    def finish(
        self, reason: str | None = None, *, error: BaseException | None = None
    ) -> list[Event]:
        """Report that the text has ended.

        Args:
            reason: why the model stopped, in the provider's word; if it is "length", calls that were cut do not run.
            error: what the source of the text raised; then calls that were cut do not run, either.

        Returns:
            The events of the text that was still open; none the second time.
        """

    @property
    def done(self) -> bool:
        """Whether no more events will follow: a batch is complete, or the text has ended."""

    @property
    def replaced_characters(self) -> int:
        """How many halves of surrogate pairs in the text became U+FFFD."""

@final
class ChatReader:
    """Reads a model's text into messages of OpenAI's chat API, whole or while it streams, and never waits.

    Args:
        dialect: how the model writes its calls; see `parse_tokens`.
        tools: the tools of the request, as `ToolSchemas` takes them. A call of any other tool is text. `None` if any
            tool may be called.
        tool_choice: as in the API: `"auto"`, `"required"`, `"none"` for no calls, or `{"type": "function", "function":
            {"name": ...}}` for calls of this tool only. A call that may not be made is text.
        ids: makes the id of a call without one, or with one that an earlier call of the answer already has; by default
            a random id.
        marks: the text of special tokens, by their ids, for a server that leaves them out of the text; see `feed`.
        limits: bounds on a block of calls; `Limits()` by default.
        lenient: see `parse_tokens`.
        begins_in_think: see `parse_tokens`.
        calls: `"whole"` for each call when its block is valid; `"stream"` for its name and the pieces of its arguments
            as they arrive.

    Raises:
        ConfigError: the dialect is unknown, `tool_choice` is not one of these, or it names a tool that does not exist.
        TypeError: `tools` is not made of tools.

    What cannot be read as a call is text of the answer, as the model wrote it. A delta is final: a call comes when its
    block is valid as a whole, and its arguments are valid JSON, in which no key is there twice; `NaN` and infinities
    are `null`. With `calls="stream"` a call of a tool that may be called comes in pieces that add up to the same: the
    first has its name and the first bracket of its arguments, and the bracket that closes these comes when the block is
    valid. If it is not, or the answer ends before, the last delta has an `error`, nothing follows, and the answer has
    no reason to have finished: no client may run the call.

    However the text is cut, the deltas join to the same message or end with that error. The dialect's marks, results
    that the model made up, and what follows the end of its turn are dropped. The cost is linear in the text; memory is
    bounded by the longest open block.
    """

    def __new__(
        cls,
        dialect: Dialects,
        tools: ToolSchemas | Iterable[Any] | None = None,
        *,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        ids: Callable[[], str] | None = None,
        marks: Mapping[int, str] | None = None,
        limits: Limits | None = None,
        lenient: bool = False,
        begins_in_think: bool | None = None,
        calls: CallMode = "whole",
    ) -> ChatReader: ...
    def read(self, text: str, reason: str | None = None) -> dict[str, Any]:
        """Read a whole answer. This does not affect what is fed.

        Args:
            text: the answer.
            reason: why the model stopped, in the provider's word; by default "stop".

        Returns:
            A message: `role`, `content` (`None` without text), and, if there are any, `reasoning_content` and
            `tool_calls`.

        Raises:
            TypeError: `text` is not a `str`. No text raises.
        """

    def feed(self, chunk: str, token_ids: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """Read the next chunk of an answer.

        Args:
            chunk: of any length; see `Parser.feed`.
            token_ids: the tokens of the chunk, if the reader was given `marks`. The mark of a token that is not in the
                text is put where the token is: in a chunk with several tokens, before or after the text of those
                without a mark. Other ids are ignored.

        Returns:
            Deltas, each with one of `content`, `reasoning_content` and `tool_calls`: a list of one call with `index`,
            `id`, `type` and `function`, which has its `name` and all its `arguments`. With `calls="stream"` further
            pieces of arguments have only `index` and `function`, and the last delta of an answer may have an `error`:
            its `message`, `type` and `code`.

        Raises:
            TypeError: `chunk` is not a `str`. No text raises.
        """

    def finish(self, reason: str | None = None) -> tuple[list[dict[str, Any]], str | None]:
        """Report that the answer has ended. The reader is then at the start of the next one.

        Args:
            reason: why the model stopped, in the provider's word; by default "stop".

        Returns:
            The last deltas, and the API's `finish_reason`: "tool_calls" if there were calls, "stop", "length" if the
            answer was cut, or "content_filter" if it was refused.
        """

@disjoint_base
class CircuitBreaker:
    """Opens after `max_failures` failures in a row.

    Args:
        max_failures: any number; with 0 the breaker is open from the start.
        counts: what an accumulator counts as one failure: `"batches"` for a batch in which no call succeeded, `"calls"`
            for a call that failed, as in cogency 3.3.0.

    Attributes:
        max_failures: as given.
        consecutive_failures: failures since the last success.

    Raises:
        TypeError: `max_failures` is not a number.
        ConfigError: `counts` is not known.
    """

    max_failures: float
    consecutive_failures: int

    def __new__(
        cls, max_failures: float = 3, *, counts: Literal["batches", "calls"] = "batches"
    ) -> Self: ...
    def record_success(self) -> None:
        """Count a success, which resets the count of failures."""

    def record_failure(self) -> bool:
        """Count a failure.

        Returns:
            Whether the breaker is open now.
        """

    def is_open(self) -> bool:
        """Whether there have been at least `max_failures` failures in a row."""

    def close(self) -> None:
        """Close the breaker, and begin to count again."""

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
    must be carried out. A `Source` feeds text into it.

    Args:
        stream: see `Accumulator`.
        dialect: how the model writes its calls; see `parse_tokens`.
        tools: see `parse_tokens`.
        calls: see `parse_tokens`.
        limits: bounds on a block of calls; `Limits()` by default.
        errors: see `parse_tokens`.
        lenient: see `parse_tokens`.
        begins_in_think: see `parse_tokens`.
        eager: whether a call is handed out as soon as it is complete.
        goes_on: whether the text continues where an earlier turn was cut: space at its beginning is kept.

    Attributes:
        outcome: how the turn has come out so far: the value of a `TurnOutcome`.
        finish_reason: why the model stopped; `None` if its source did not say.
        replaced_characters: how many halves of surrogate pairs in the model's text became U+FFFD.

    Raises:
        ConfigError: `dialect` is not known, or `stream`, `calls` or `errors` has a wrong value.

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
        goes_on: bool = False,
    ) -> Turn: ...
    @property
    def outcome(self) -> str: ...
    @property
    def finish_reason(self) -> str | None: ...
    @property
    def replaced_characters(self) -> int: ...
    def finish(self, *, error: BaseException | None = None) -> _Steps:
        """Report that the model's text has ended, or that its source raised `error`; returns the last steps."""

    def leave(self) -> _Steps:
        """Leave the turn while the model writes: the last steps save the text so far. Nothing is reported or run."""

    def error(
        self,
        kind: str,
        content: str,
        raw: str,
        line: int | None,
        column: int | None,
        code: str | None = None,
        finding: tuple[str, str | None, str | None] | None = None,
    ) -> None:
        """Take an error that another parser reported; see `ErrorEvent`.

        `finding` is what the log keeps, if that is not `content`: what is wrong in plain words; the name of what to do,
        which is written in the form of the model that reads the log; and with "call", the call to write, as JSON.
        """

    def pass_on(self, event: Any) -> Any:
        """Return an event of another parser that is not saved; after text that is not emitted yet, a list of steps."""

    def event(self, kind: str, content: str) -> None:
        """Take an event that another parser made.

        Args:
            kind: the type of the event; a type that is not part of a turn only ends the text before it.
            content: the text of the event; for a `call`, and for a `call_ready`, which says that a call is complete
                while its batch is not, canonical JSON.
        """

    def results(self, results: Sequence[Any], breaker: CircuitBreaker) -> _Steps:
        """Take the results of the batch.

        Args:
            results: one for each call, in call order; each with `outcome`, `content` and `error`.
            breaker: counts them; when it opens, the turn ends.

        Raises:
            AttributeError, TypeError: a result is not a result, or JSON cannot hold it.
        """

def turning_marks(dialect: str | Dialect | Sequence[str | Dialect]) -> list[str]:
    """The marks at which a call may begin, or the answer end, in a text of these dialects.

    Up to the first of them, an answer is text and reasoning.

    Raises:
        ConfigError: there is no such dialect.
    """

@final
class Inbox:
    """What has come for one event loop.

    Attributes:
        socket: the number of a socket. A byte comes from it when there is something to take, and there was nothing
            before. The caller closes it.

    Raises:
        OSError: the system has no socket left.
    """

    def __new__(cls) -> Self: ...
    @property
    def socket(self) -> int: ...
    def take(self) -> list[int]:
        """The numbers of the exchanges that have something to take."""

@final
class Exchange:
    """A request that was sent. If it is garbage-collected before its end, its connection is closed."""

    @property
    def number(self) -> int:
        """What the inbox calls it."""

    def take(
        self,
    ) -> (
        tuple[
            tuple[int, list[tuple[str, str]]] | None, list[Any], tuple[str, *tuple[Any, ...]] | None
        ]
        | None
    ):
        """What has come; `None` if nothing has: then the inbox is notified when something does.

        Returns:
            The status and the headers, which come once, first. The next deltas, as those of `AnswerReader`. The end:
            `("answered",)`; `("body", bytes)` of an answer that is not read as deltas, or its beginning; or
            `("failed", kind, words)`, see `TransportError`.

        Raises:
            RuntimeError: it belongs to the process that this one was forked from.
        """

    def close(self) -> None:
        """Close its connection, unless the answer has ended: then it can be used again."""

@final
class HttpClient:
    """The connections to a service.

    Requests are sent and answers read on one thread, without Python, for all clients of the process.

    Args:
        user_agent: what the program calls itself.
        connect_timeout: how many seconds connecting may take.
        proxy: the address of a proxy; by default the environment's; "" for none.
        certificates: the path of a PEM file of certificates; by default those that the machine trusts.

    Raises:
        ValueError: the name of the argument that cannot be used, and why.
    """

    def __new__(
        cls,
        *,
        user_agent: str,
        connect_timeout: float,
        proxy: str | None = None,
        certificates: str | None = None,
    ) -> Self: ...
    def send(
        self,
        inbox: Inbox,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        body: bytes,
        *,
        read_timeout: float | None = None,
        total_timeout: float | None = None,
        api: str | None = None,
        secrets: Sequence[tuple[str, str]] = (),
        extras: bool = False,
        until: Sequence[str] | None = None,
    ) -> Exchange:
        """Send a request.

        Args:
            inbox: is notified of the answer.
            method: the method.
            url: the address.
            headers: the headers.
            body: the body.
            read_timeout: how many seconds may pass without news.
            total_timeout: how many seconds the whole answer may take.
            api: how to read the deltas of an answer whose status is a success; see `AnswerReader`. If not
                given, its body comes as it is.
            secrets: see `AnswerReader`.
            extras: see `AnswerReader`.
            until: if given, the inbox is notified of text only where one of these is in it, and after that of what may
                end a call: a closing bracket; always of the first piece, of a call that begins or has ended, and of
                the end.

        Raises:
            ValueError: the address, a header or a time is invalid.
            OSError: the system has no thread left.
        """

@final
class AnswerReader:
    """Reads the bytes of one answer of a service into deltas, and never waits.

    What only the owner of the reader needs is a tuple, with its kind first: `("fault", kind, message, body)` says why
    the answer is not complete, and nothing comes after it; `("note", words)` what was wrong and could still be read;
    `("info", id, model)` what the answer is called; `("refusal", words)` and `("redacted", data)` are pieces of these;
    `("extra", path, json)` is a field that has no delta of its own.

    Args:
        api: whose answer it is: that of chat completions and completions, or of Anthropic's messages.
        secrets: texts that no fault may show, each with what is shown in its place.
        max_bytes: the most bytes of one event.
        extras: whether fields without their own delta are handed out.

    Raises:
        ConfigError: there is no such API.
    """

    def __new__(
        cls,
        api: Literal["completions", "messages"],
        *,
        secrets: Sequence[tuple[str, str]] = (),
        max_bytes: int = 16777216,
        extras: bool = False,
    ) -> Self: ...
    @property
    def is_done(self) -> bool:
        """Whether the answer has ended, or cannot be read: what comes now changes nothing."""

    def feed(self, data: bytes) -> list[Any]:
        """Read the next bytes, cut anywhere; returns their deltas, neighbours of one kind joined. O(bytes)."""

    def finish(self) -> list[Any]:
        """Report that all bytes have come; returns the last deltas."""

    def break_off(self, why: str) -> list[Any]:
        """Report that no more bytes can come, and why; returns the last deltas."""

@disjoint_base
class Source:
    """Reads an async iterator into a parser or a turn.

    Awaiting it reads until there are events or steps, and returns them: a list, or a single event. It returns `None`
    when the iterator has ended or the sink wants no more; the sink's `finish` then returns the rest.

    Args:
        iterator: yields chunks of text, `ReasoningDelta` and `Finish`; with `enter`, anything.
        sink: reads the items.
        enter: called with every item, to hand it to the turn. What it returns is handed out, if it is not `None`.

    Raises:
        TypeError: an item is not one of these.

    An exception of the iterator is raised here. Between two items, the event loop makes no step unless the iterator
    waits, so an item costs only its reading.
    """

    def __new__(
        cls,
        iterator: AsyncIterator[Any],
        sink: Parser | Turn,
        enter: Callable[[Any], Any] | None = None,
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
        """Stop waiting for the next item."""

@final
class Schedule:
    """Decides which calls of a batch may run now, and which have run out of time.

    Calls begin in call order, at most `concurrency` of them at once. A sequential call begins when all calls before it
    are over, and runs alone.

    Args:
        count: how many calls there are.
        concurrency: how many may run at once, at least 1; `None` for all.
        deadline: when the time of the whole batch is up, as a time of `loop.time()`; `None` for never.

    Raises:
        ValueError: from any method: what it was told cannot be true, so nothing has changed. There is no such call, a
            call that leaves does not run, or one that asks is over.
    """

    def __new__(
        cls, count: int, *, concurrency: int | None = None, deadline: float | None = None
    ) -> Schedule: ...
    @property
    def count(self) -> int:
        """How many calls there are."""

    def add(self, count: int) -> None:
        """Add calls after the existing ones."""

    def truncate(self, count: int) -> None:
        """Forget the calls from this index on, all of which are over."""

    def set_deadline(self, deadline: float) -> None:
        """Set when the time of the whole batch is up."""

    def set_sequential(self, index: int) -> None:
        """Make a call sequential: the calls before it end first, it runs alone, then the calls after it start."""

    def ask(self, index: int) -> bool | tuple[int, int]:
        """Ask whether a call may run; if so, `leave` must follow.

        Returns:
            `True` if it may run now; `False` if it never may; else a ticket, which `leave` or `over` returns when it
            may.
        """

    def withdraw(self, ticket: tuple[int, int]) -> None:
        """Give up a ticket that has not been returned yet."""

    def leave(self, index: int) -> list[tuple[int, int]]:
        """Report that a call does not run now; it may ask again. Returns the tickets of the calls that may run now."""

    def over(self, index: int) -> list[tuple[int, int]]:
        """Report that a call is over, and will not ask again. Returns the tickets of the calls that may run now."""

    def close(self) -> None:
        """Let no further calls run."""

    def start_clock(self, index: int, now: float, limit: float) -> None:
        """Give a call `limit` seconds from `now` on."""

    def hold_clock(self, index: int, now: float) -> None:
        """Stop a call's clock, while it waits for something that is not its own work."""

    def resume_clock(self, index: int, now: float) -> None:
        """Start a call's clock again."""

    def next_deadline(self) -> float | None:
        """When `due` must be asked next; `None` for never."""

    def due(self, now: float) -> tuple[bool, list[int]]:
        """Whether the time of the whole batch is up, and the calls whose time is up; each is returned only once."""

@final
class ArgumentSchema:
    """A tool's schema, compiled once to check many calls.

    Args:
        schema: cogency's flat form, `{"arg": {"type": ..., "required": ..., "min": ...}}`, or JSON Schema of the draft
            that its `$schema` names, by default 2020-12. A `format` is not checked, and references out of the schema
            are not followed.
        form: the form of the schema; if `None`, a schema with the `type` "object" is JSON Schema, and any other is
            flat.

    A schema that cannot be compiled does not raise: it is a fault of every call.

    Attributes:
        problem: why the schema cannot be used; `None` if it can.

    Raises:
        ConfigError: `form` has a wrong value.
    """

    def __new__(
        cls, schema: Any, form: Literal["flat", "json schema"] | None = None
    ) -> ArgumentSchema: ...
    @property
    def problem(self) -> str | None: ...
    def is_of(self, schema: Any) -> bool:
        """Whether this was compiled from an equal schema. The cost is linear in the schema."""

    def faults(self, args: Any) -> list[str]:
        """Find what is wrong with a call's arguments.

        Returns:
            A sentence for each fault, which names the argument, in the order of the schema's properties; after ten
            faults, only how many more there are. Empty if the arguments fit.

        For arguments that fit, the cost is linear in the arrays and objects among them; text is read only for a
        pattern.
        """

@final
class JsonFault:
    """Why a text is not a JSON object.

    Attributes:
        problem: what is wrong.
        at: the index of the character in the text, from 0.
        is_the_end: whether the only fault is that the text ended.
    """

    def __new__(cls, problem: str, at: int, is_the_end: bool = False) -> Self: ...
    @property
    def problem(self) -> str: ...
    @property
    def at(self) -> int: ...
    @property
    def is_the_end(self) -> bool: ...

@final
class FieldText:
    """The next piece of a string that is the value of a key of the object itself.

    Attributes:
        key: the key.
        text: the piece, with its escapes read; may be empty.
        is_whole: whether the string ends with this piece.
    """

    @property
    def key(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def is_whole(self) -> bool: ...

@final
class ArgumentValues:
    """Reads the arguments of a call as JSON that arrives in pieces, and gives the values in it.

    The cost is linear in the text, however it is cut. After what is not JSON there are no more values.
    """

    def __new__(cls) -> Self: ...
    def feed(self, text: str) -> list[tuple[list[str | int], str]]:
        """Read the next piece.

        Returns:
            Each value in it, or the next piece of a string, after the keys and indices that lead to it. Left out are
            values after more than 16 of these, or 256 bytes of keys, and those after the first 10,000.
        """

@final
class ObjectReader:
    """Reads one JSON object while it arrives, so that a broken object is noticed at the place where it breaks.

    Like a block of calls it may have raw line breaks in strings, which models write. The cost is linear, however the
    text is cut.

    Args:
        is_alone: whether only white space may follow the object; else the text after it is not read.

    Attributes:
        fault: what is wrong; nothing is read after a fault.
        is_whole: whether the object has been closed.
        is_empty: whether there was only white space.
        text: all text that was fed, up to the piece with the fault.
        rest: the text after the object in the piece that ended it; "" while the object is not whole.
    """

    def __new__(cls, *, is_alone: bool = True) -> Self: ...
    def feed(self, text: str) -> list[FieldText]:
        """Read the next piece; returns the pieces of strings under the object's own keys."""

    def finish(self) -> JsonFault | None:
        """End the text; returns what is wrong with it, if anything is."""

    def value(self) -> dict[str, Any]:
        """The object, once it is whole.

        Raises:
            ValueError: an integer has more digits than Python reads.
        """

    @property
    def fault(self) -> JsonFault | None: ...
    @property
    def is_whole(self) -> bool: ...
    @property
    def is_empty(self) -> bool: ...
    @property
    def text(self) -> str: ...
    @property
    def rest(self) -> str: ...

def read_block(text: str) -> list[str]:
    """Read the calls of the first execute block.

    Returns:
        The calls, each as `json.dumps` writes it.

    Raises:
        ProtocolError: there is no block, or it is malformed; the message says where. `original_input` is the text.
        TypeError: `text` is not a `str`.

    The cost is linear in the text.
    """

def check_json(value: Any) -> None:
    """Check that JSON can hold a value. Values of Python's plain types are not written for that.

    Raises:
        TypeError, RecursionError: as `json.dumps`.
        ValueError: as `json.dumps`; also for `NaN` and infinities, which JSON does not have. The message says where
            one is.

    Exceptions of the methods of other types are raised here.
    """

def hand_in_clock(clock: Callable[[], float] | None) -> None:
    """Take the function that says what time it is, in seconds since the epoch; `None` for the computer's clock.

    If it raises, the computer's clock is asked. `cogency_rs.outside` hands it in.
    """

def uuid7() -> str:
    """Make the next id of a row, such as `"0192f3a4-5b6c-7d8e-9f01-23456789abcd"`. Any thread may call it.

    Raises:
        OSError: the system cannot provide random numbers.
    """

def forget_random_numbers() -> None:
    """Forget the random numbers that are kept for ids: after a fork, the parent has the same."""

def format_results(names: Sequence[str], results: Sequence[Any]) -> str:
    """Write the results array.

    Args:
        names: the tools' names, in call order.
        results: one for each; with `outcome`, `content` and `error`.

    Returns:
        A JSON array, as `json.dumps` writes it; see `format_results_array`.

    Raises:
        AttributeError, TypeError: a result is not a result, or JSON cannot hold it.
        ValueError: a result contains `NaN` or an infinity, which JSON does not have.
    """

@final
class FoldOptions:
    """How rows are folded into messages. Equal options fold a log into equal messages.

    Args:
        form: "text", in the dialect; "native", in which calls and results are separate messages, as in chat
            completions; or "react", in which they are actions and observations. In the last two the rules are always
            "own", and no text has a token of the dialect.
        rules: "own" or "installed". With both, calls without results are shown as failed. With "own", results without
            calls are left out, and the report in a row of type `error` is shown until a call, results or a question
            follows. With "installed", results without calls are shown and reports are not, as in cogency 3.3.0.
        escape_tags: see `to_messages`.
        max_result_chars: how many characters of each result's content are shown; `None` for all.
        tool_result_chars: the same for single tools, by name; overrides `max_result_chars`. For calls that name a
            server, by `server`, NUL and the name.
        tool_names: the names under which calls are shown that were written under other names; not in text. For calls
            that name a server, by `server`, NUL and the name.
        dialect: see `to_messages`.
        service: the service that is given back what only it can read, in the form "native"; see `context.returned`.

    Raises:
        ConfigError: `dialect` is not known, `form` or `rules` has a wrong value, or a bound is below 0.
    """

    def __new__(
        cls,
        *,
        form: Literal["text", "native", "react"] = "text",
        rules: Literal["own", "installed"] = "own",
        escape_tags: bool = False,
        max_result_chars: int | None = None,
        tool_result_chars: dict[str, int] | None = None,
        tool_names: dict[str, str] | None = None,
        dialect: Dialects = "cogency",
        service: str = "",
    ) -> FoldOptions: ...
    @property
    def form(self) -> Literal["text", "native", "react"]:
        """The form of the messages."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Folding:
    """A conversation that is folded while it grows."""

    def __new__(cls, options: FoldOptions) -> Folding: ...
    def extend(self, events: Iterable[Any]) -> None:
        """Take further events, oldest first. The cost is linear in the events. Raises what `to_messages` raises."""

    def messages(self, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """The messages of all events so far, from number `start` on, as a new list of new dicts.

        The cost is linear in these. The messages before the last question stay as they are. If `stop` is the number of
        a complete message, those before it are all.

        A row's `parts`, each `(type, media_type, data, at)`, make a list of the message's `content`: its text, as
        `{"type": "text", "text": ...}`, and the parts, as `{"type": ..., "media_type": ..., "data": ...}`. In what the
        user said, a part is before character `at`; those of results come after their text. A row `settled` is a message
        of the user; while calls have no results, it waits for these.

        In the form "native", a message of the assistant has `tool_calls` if it made calls, and after it comes a
        message of a `tool` for each call, with `tool_call_id`, `tool_execution_id` and `is_error`. An id that an
        earlier call has too is replaced by one that no call before has; it stays when further events come. If the
        calls are after the last question, their message has `reasoning` too: a list of one block with `text` and
        without a `signature`; an empty list if there was none.
        """

    def questions(self) -> list[int]:
        """The indices of the messages that are questions, oldest first; a turn begins at each."""

    def last_question(self) -> int | None:
        """The index of the last message that is a question; `None` if there is none."""

    def lacks_ids(self) -> bool:
        """Whether a call without its own id came since `name_calls`; only in the form "native"."""

    def name_calls(self, records: Sequence[Any]) -> None:
        """Give calls without their own id those of their records, oldest first, with `name`, `server` and `id`.

        A history leaves out the oldest rows, so they are matched from the end, up to the first of another name. A call
        without a record has an id that is made of its number. The cost is linear in the calls.
        """

def estimated_tokens(
    messages: Iterable[Mapping[str, Any]],
) -> tuple[int, list[Mapping[str, Any]]]:
    """The tokens of the messages of text, each a quarter of its characters, rounded up; and the other messages.

    A message of text is a dict whose `content` is a `str`. Its `tool_calls` count as JSON. The cost is linear in the
    messages and in the text of the calls.
    """

def line_difference(before: str, after: str) -> tuple[str, int, int]:
    """The lines in which two texts differ, as git shows them, in time and memory linear in the texts.

    Only a line feed ends a line. Where the shortest difference would take too long to find, it is a longer one; the
    same texts always have the same one. Other threads run meanwhile.

    Returns:
        The hunks of a unified difference, without its header, each line with a line feed; and how many lines are
        added and removed.

    Raises:
        UnicodeEncodeError: a text contains a lone surrogate.
    """

def to_messages(
    events: Iterable[Any], *, escape_tags: bool = False, dialect: Dialects = "cogency"
) -> list[dict[str, Any]]:
    r"""Fold stored events into messages, as cogency 3.3.0 does.

    Args:
        events: rows with `type` and `content`, oldest first.
        escape_tags: whether every `<` between `<results>` and `</results>` is written as `\u003c`, so that what a tool
            returned cannot close its block or open another. Results that are JSON keep their value. Nothing else is
            changed. This is for cogency's own dialect; in every other dialect, all text from outside is made safe.
        dialect: how the model writes its calls and reads results: a name of `Dialect.presets()`, a `Dialect`, or a
            tuple of these, of which the first is written.

    Returns:
        Messages with `role` (`user` or `assistant`) and `content`. Calls are in them as the model writes them, and
        each result in the frame that the model knows. Text that looks like one of the dialect's marks or tokens is
        broken up: see `Dialect.inert`. In a string of JSON the first character of such a mark is the escape `\u003c`.
        Thoughts are left out if the dialect has no marks for them.

    Raises:
        ConfigError: `dialect` is not known.
        KeyError, TypeError, json.JSONDecodeError: a row is malformed; as in cogency 3.3.0.

    The cost is linear in the text.
    """

@final
class PromptParts:
    """The parts of a system prompt.

    Attributes:
        identity: who the model is.
        calls: how calls are written and results are read; for a model that was taught calls, only rules.
        instructions: instructions for this user or task; empty without any.
        tools: the tools, with the words that the model's template has around them, and the space to the other parts.
        place: where the tools are: `"after_system"`, at the end of the system message; `"before_system"`, at its
            beginning; `"own_system"`, in a system message before it; `"user"`, at the beginning of the user's first
            message.
        text: all of it as one text. What belongs to the user's message is at its end.
    """

    @property
    def identity(self) -> str: ...
    @property
    def calls(self) -> str: ...
    @property
    def instructions(self) -> str: ...
    @property
    def tools(self) -> str: ...
    @property
    def place(self) -> Literal["after_system", "before_system", "own_system", "user"]: ...
    @property
    def text(self) -> str: ...
    def placed(self) -> tuple[list[str], str]:
        """Return the texts of the system messages, and what is before the text of the user's first message."""

def prompt_parts(
    tools: Sequence[tuple[str, str, str, Any]],
    identity: str | None = None,
    instructions: str | None = None,
    dialect: Dialects = "cogency",
) -> PromptParts:
    """Write the parts of the system prompt.

    Args:
        tools: for each tool its name, the line that lists it in cogency's dialect, its description, and its schema.
        identity: who the model is; by default a neutral sentence.
        instructions: further instructions for this user or task.
        dialect: how the model writes its calls; of several, the first counts.

    Raises:
        ConfigError: `dialect` is not known, or JSON cannot hold a schema.
    """

def event_of_cut(finish: Finish, *, is_thinking: bool = False) -> dict[str, Any] | None:
    """Make the `error` event of an answer that ended outside every call, which the core did not read itself.

    Args:
        finish: why it ended.
        is_thinking: whether reasoning was the last of it.

    Returns:
        The event of an answer that was cut or refused, with the `finding` that a `Turn` takes; `None` for any other.
    """

def decide(
    outcome: str, *, is_to_stop: bool, is_to_go_on: bool, is_refused: bool
) -> Literal["go_on", "recover", "wait", "stop"]:
    """Decide what an agent does after a step: ask the model again, show it what was wrong, wait for people, or stop.

    Args:
        outcome: how the step came out: the value of a `TurnOutcome`.
        is_to_stop: whether the run was asked to stop.
        is_to_go_on: whether a hook asked to go on anyway.
        is_refused: whether the answer is empty, or does not have the requested form.

    Raises:
        ConfigError: there is no such outcome.
    """
