"""What a model writes and reads: its text to events while it streams, and calls and results to text.

Signatures, texts and errors are those of cogency 3.3.0.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Sequence,
)
from contextlib import aclosing
from typing import Any, TypedDict, cast

from ._core import (
    CallGrammar as CallGrammar,
    Finish,
    Limits as Limits,
    Parser,
    Source,
    ToolSchemas,
    Turn,
    format_results,
    read_block,
)
from .errors import ConfigError, ProtocolError, ToolParseError
from .guards.arguments import check_dialect
from .guards.json import read_json
from .models.request import ReasoningDelta
from .tools.registry import is_json_schema, is_object
from .tools.toolbox import spelled
from .types import CallMode, Dialects, ErrorMode, Event, StreamMode, ToolCall, ToolResult

__all__ = [
    "CallGrammar",
    "Limits",
    "format_call_agent",
    "format_result_agent",
    "format_results_array",
    "parse_execute_block",
    "parse_tool_call",
    "parse_tool_result",
    "tool_instructions",
]


_TRIPLE_QUOTED = re.compile(r'"""([^"]*?)"""', re.DOTALL)


def tool_instructions(tools: Iterable[Any]) -> str:
    """List tools for a prompt: a line each, `name(required, optional?) - description`.

    A parameter of a flat schema is required unless it says `"required": False`; a parameter of a JSON Schema is
    required if the schema's `required` lists it.
    """
    return "TOOLS:\n" + "\n".join(tool_line(tool) for tool in tools)


def tool_line(tool: Any) -> str:
    """The line of one tool in `tool_instructions`."""
    schema: Any = getattr(tool, "schema", None) or {}
    parameters: Iterable[tuple[str, Any]]
    if is_json_schema(schema):
        required = {name for name in schema.get("required", ()) if isinstance(name, str)}
        parameters = [(name, name in required) for name in schema["properties"]]
    else:
        parameters = [(name, info.get("required", True)) for name, info in schema.items()]
    listed = (name if required else f"{name}?" for name, required in parameters)
    return f"{tool.name}({', '.join(listed)}) - {tool.description}"


def format_call_agent(call: ToolCall) -> str:
    """Write a call as the log holds it: JSON of `name`, `args` and, if the call has them, `id` and `server`."""
    written = {"name": call.name, "args": call.args}
    for key in ("id", "server"):  # cogency's own calls lack both
        if (value := getattr(call, key, None)) is not None:
            written[key] = value
    return json.dumps(written)


def format_result_agent(result: ToolResult) -> str:
    """Write a result as plain text: its outcome and, from the next line on, its content if it has any."""
    return f"{result.outcome}\n{result.content}" if result.content else result.outcome


def format_results_array(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
    """Write the results array that the model reads.

    Args:
        calls: the calls of a batch.
        results: their results, one for each, in the same order.

    Returns:
        A JSON array whose items have `tool`, `status` and `content`. The content of a success is the result's content,
        or its outcome if the content is `None` or `""`. A success with a content has `outcome` too, before `content`,
        unless the outcome is empty or only the word `Success`. The content of a failure is its message.

    Raises:
        ValueError: the numbers of calls and results differ, or a result holds `NaN` or an infinity, which JSON does
            not have; the message names the tool and the place.
        TypeError: a result holds any other value that JSON cannot hold.
    """
    pairs = list(zip(calls, results, strict=True))
    return format_results([call.name for call, _ in pairs], [result for _, result in pairs])


def parse_tool_call(json_str: str) -> ToolCall:
    """Read one call from text that may have other text around it.

    Text before the first `{` and after the last `}` is ignored, and strings may have triple quotes. `args` may be
    missing.

    Raises:
        ToolParseError: what is left is not JSON, or not a call; `original_json` is the text that was read.
    """
    text = json_str.strip()
    start, end = text.find("{"), text.rfind("}")
    if start != -1 and end != -1:
        text = text[start : end + 1]
    if '"""' in text:
        text = _TRIPLE_QUOTED.sub(r'"\1"', text)
    try:
        return _call(json.loads(text))
    except json.JSONDecodeError as error:
        raise ToolParseError(f"JSON parse failed: {error}", original_json=text) from error
    except Exception as error:
        raise ToolParseError(str(error), original_json=text) from error


def parse_tool_result(content: str) -> list[ToolResult]:
    """Read results from text: a JSON object with `outcome` and `content`, or an array of such objects.

    Any other text is one result, with the text as its outcome.

    Raises:
        ValueError: an `outcome` or `content` is not a string.
    """
    try:
        value: Any = json.loads(content)
    except (json.JSONDecodeError, TypeError):
        value = None
    match value:
        case _ if is_object(value):
            return [_result(value)]
        case [*items]:
            return [_result(item) for item in items if is_object(item)]
        case _:
            return [ToolResult(outcome=content, content="")]


def _call(value: Any) -> ToolCall:
    if not is_object(value):
        raise ValueError(f"Expected dict, got {type(value).__name__}")
    name: Any = value.get("name")
    args = value.get("args", {})
    _check_field("name", name, str)
    _check_field("args", args, dict)
    id, server = (value.get(key) for key in ("id", "server"))
    return ToolCall(
        name, args, id if isinstance(id, str) else None, server if isinstance(server, str) else None
    )


def _result(value: dict[str, Any]) -> ToolResult:
    fields = {key: value[key] for key in ("outcome", "content") if value.get(key) is not None}
    for key, field in fields.items():
        _check_field(key, field, str)
    return ToolResult(outcome=fields.get("outcome", ""), content=fields.get("content", ""))


def _check_field(key: str, value: Any, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise ValueError(f"Field '{key}' must be {wanted.__name__}, got {type(value).__name__}")


class ReadingOptions(TypedDict):
    """How a text is read: the options that `Parser` and `Turn` both take."""

    dialect: Dialects
    tools: ToolSchemas | None
    calls: CallMode
    limits: Limits | None
    errors: ErrorMode
    lenient: bool
    begins_in_think: bool | None


logger: logging.Logger = logging.getLogger(__name__)


def parse_tokens(
    source: AsyncIterable[str | ReasoningDelta | Finish] | str,
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
        source: chunks of text, cut anywhere, or the whole text. Among the chunks may be `ReasoningDelta(text)`, for
            reasoning that the provider sends apart from the text, and `Finish(reason)`, for why the model stopped.
        dialect: how the model writes its calls: a name of `Dialect.presets()`, a `Dialect`, or a tuple of these, all of
            which are read.
        tools: the tools whose schemas give the types of raw values, in dialects that have such values: objects of
            `@tool` or `Tool`, or declarations as providers take them.
        stream: `"event"` for complete units, `"token"` for `think` and `respond` text as it arrives.
        calls: `"stream"` to show calls before they are complete, too: `tool_call_start` once the name of a tool of
            `tools` (of any, without these) is known and its arguments have begun, and `tool_call_delta` with each value
            in them, strings in pieces. Only the `call` event that follows a complete block counts.
        limits: bounds on a block of calls; `Limits()` by default.
        errors: `"event"` to report output that cannot be read in an `error` event, `"respond"` to report it in the text
            of the answer, as cogency 3.3.0 does.
        lenient: whether blocks are also read as small models write them: in a Markdown fence; one call without the
            array; `args`, `arguments`, `parameters` or `input` for each other, as an object or a string that holds one;
            a comma before a closing bracket; a raw value without its closing mark. Valid blocks mean the same, except
            for a raw value that contains another parameter's opening and not its end.
        begins_in_think: whether the text begins inside reasoning that the prompt has opened; `None` for what the
            dialect says.

    Yields:
        Event dicts (`think`, `respond`, `call`, `execute`, `result`, `error`, `end`). The generator ends after
        `execute`. In cogency's own dialect `execute` follows the first block at once; the rest of the source is
        discarded, and the source is closed. In most others all blocks of an answer are one batch, and `execute` comes
        when the answer ends.

    Raises:
        TypeError: the source is not text, or yields anything but `str`, `ReasoningDelta` and `Finish`.
        ConfigError: `stream`, `limits` or `errors` has a wrong value.

    An exception of the source is raised here, after the events of the text already received. Malformed output never
    raises: it is reported. An `error` event has `kind` ("malformed"; "unfinished" if the model stopped inside a block;
    "truncated" if its text was cut), `content` (the message to the model), `raw` (the block as the model wrote it,
    with its tags), and `line` and `column` in `raw`, from 1, or `None` if the answer was cut outside every block.

    The cost is linear in the text, however it is cut; memory is bounded by the longest open block.
    """
    check_dialect(dialect)
    reading: ReadingOptions = {
        "dialect": dialect,
        "tools": tools
        if tools is None or isinstance(tools, ToolSchemas)
        else ToolSchemas(spelled(tools)),
        "calls": calls,
        "limits": limits,
        "errors": errors,
        "lenient": lenient,
        "begins_in_think": begins_in_think,
    }
    return aiter(TextStream(source, reading, stream))


def parse_execute_block(text: str) -> list[ToolCall]:
    """Read the first `<execute>` block of a text.

    Returns:
        Its calls, in order.

    Raises:
        ProtocolError: the text has no block, the block is not a JSON array of `{"name": str, "args": dict}`, or an
            integer in it has more digits than Python reads. It says what is wrong and where; `original_input` is the
            text.
        AttributeError, TypeError: `text` is not a `str`.
    """
    stripped = text.strip()
    if not isinstance(stripped, str):  # bytes; a plain TypeError, as in cogency
        raise TypeError(f"text must be a str, got {type(text).__name__}")
    try:
        calls = [read_json(call) for call in read_block(stripped)]
    except ValueError as error:
        raise ProtocolError(str(error), cause=error, original_input=stripped) from error
    return [ToolCall(call["name"], call["args"]) for call in calls]


class TextStream:
    """A text, for one reader only: iterating over it gives its events.

    An accumulator reads the source itself, in its own streaming mode, so that no event is made only to be read again.
    """

    __slots__ = ("_source", "_stream", "reading", "taken")

    def __init__(
        self,
        source: AsyncIterable[str | ReasoningDelta | Finish] | str,
        reading: ReadingOptions,
        stream: StreamMode,
    ) -> None:
        if not isinstance(source, str) and not hasattr(source, "__aiter__"):
            raise TypeError(
                f"source must be str or an async iterable of str, not {type(source).__name__}"
            )
        limits: object = reading["limits"]
        if limits is not None and not isinstance(limits, Limits):
            raise ConfigError(f"limits must be a Limits, got {limits!r}")
        self._source = source
        self._stream: StreamMode = stream
        self.reading = reading
        self.taken: bool = False

    def __aiter__(self) -> AsyncGenerator[Event, None]:
        return _events(self, Parser(stream=self._stream, **self.reading))

    def open(self, sink: Parser | Turn) -> ClosedOnce:
        """Begin to read the text into `sink`."""
        self.taken = True
        source = self._source
        return ClosedOnce(_whole(source) if isinstance(source, str) else aiter(source), sink)


class ClosedOnce(Source):
    """Reads an async iterator, and closes it only once.

    Attributes:
        failed: the exception that the iterator raised; `None` if it raised none.
    """

    def __init__(
        self,
        iterator: AsyncIterator[Any],
        sink: Parser | Turn,
        enter: Callable[[Any], Any] | None = None,
    ) -> None:
        self._open: AsyncIterator[Any] | None = iterator
        self.failed: Exception | None = None

    async def aclose(self) -> None:
        """Close the iterator, if it can be closed.

        Its items are no longer needed, so a failure to close is logged and has no other effect.
        """
        close = getattr(self._open, "aclose", None)
        self._open = None
        if close is None:
            return
        try:
            await close()
        except Exception:
            logger.warning("The source of a model's text could not be closed", exc_info=True)


class LateEvents:
    """A `parse_tokens(...)` that can be made only once something was asked: the dialect, of a server.

    An accumulator makes them, and reads their text itself.
    """

    def __init__(self, make: Callable[[], Awaitable[TextStream]]) -> None:
        self.make = make

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        async with aclosing(aiter(await self.make())) as events:
            async for event in events:
                yield event


async def _whole(text: str) -> AsyncGenerator[str, None]:
    """A whole text as its only chunk."""
    yield text


def unread_text_of(events: Any) -> TextStream | None:
    """The text that `events` will be read from; `None` if they are not ours, or have begun to read."""
    if isinstance(events, TextStream):
        return None if events.taken else events
    # Read from the generator's frame: a weak registry would leak every generator that its own source refers to.
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
            else:  # one event, as usual in token mode
                yield events
        await source.aclose()
        for event in parser.finish(error=source.failed):
            yield event
        if source.failed is not None:
            raise source.failed
    finally:
        await source.aclose()
