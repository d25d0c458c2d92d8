"""Where cogency-rs differs from cogency 3.3.0 on purpose: one named predicate each.

A predicate looks at the input only. Where it holds, `promised` gives the input that makes cogency do what we
promise, so that cogency stays the oracle: a call whose argument holds `</execute>` must give what cogency gives
for the same call with that argument escaped. Where no such input exists, the test that uses the predicate says
what we give instead.

`docs/differences.md` is made from this module (`python -m parity.document`, in `tests/`), and `test_differences`
holds it, and every example, to what both really do.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, isfinite
from types import FunctionType
from typing import Any

from cogency_rs import Limits, ToolError, ToolResult

from .oracle import (
    THEIR_REPORT,
    TIME,
    Batch,
    Parsed,
    Raised,
    Scenario,
    Script,
    Shape,
    Source,
    Turn,
    cogency,
    content_of,
    event,
    outcome,
    their_parse,
    their_turns,
    with_content,
)
from .pieces import DEFAULT, Piece, generous, pieces


@dataclass(frozen=True)
class Example:
    """An input and what each side makes of it, in the vocabulary of `examples`."""

    code: str
    theirs: Any
    ours: Any


@dataclass
class Difference:
    """One deliberate difference.

    Attributes:
        applies: the predicate.
        room: what the input of the predicate belongs to.
        theirs: what cogency 3.3.0 does.
        ours: what cogency-rs does.
        why: the reason.
    """

    applies: Callable[..., bool]
    room: str
    theirs: str
    ours: str
    why: str
    examples: tuple[Example, ...]

    def __post_init__(self) -> None:
        self.name: str = self.applies.__name__
        self._promised: Callable[[Any], Any] = lambda given: given

    def __call__(self, *given: Any) -> bool:
        return self.applies(*given)

    def promises(self, rewrite: Callable[[Any], Any]) -> None:
        """Use `rewrite` to turn an input into the one that makes cogency do what we promise."""
        self._promised = rewrite

    def promised(self, given: Any) -> Any:
        return self._promised(given)


ALL: dict[str, Difference] = {}

PARSER, TOOLS, TURNS, PROMPT, TEXTS = ROOMS = (
    "Parser",
    "Tool calls",
    "Accumulator",
    "Next prompt",
    "Calls and results as text",
)


def difference(
    room: str, *examples: Example, theirs: str, ours: str, why: str
) -> Callable[[Callable[..., bool]], Difference]:
    def named(applies: Callable[..., bool]) -> Difference:
        made = Difference(applies, room, theirs, ours, why, examples)
        ALL[made.name] = made
        return made

    return named


# The parser: a piece of text, and the limits it is read with.

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_REPORT = "Error: Malformed tool call syntax. …"


@difference(
    PARSER,
    Example(
        """events('<execute>[{"name": "w", "args": {"x": "</execute>"}}]</execute>')""",
        theirs=[("respond", _REPORT), ("respond", '"}}]</execute>')],
        ours=[("call", '{"name": "w", "args": {"x": "</execute>"}}'), ("execute",)],
    ),
    theirs="A block ends at the first `</execute>`, also inside a JSON string: the call is lost and the "
    "tail of the block is shown to the user.",
    ours="A block ends at the first `</execute>` outside a JSON string.",
    why="The protocol promises that JSON strings may hold any text.",
)
def closing_tag_in_a_string(piece: Piece, limits: Limits) -> bool:
    if piece.kind != "execute" or "</execute>" not in piece.body:
        return False
    return piece.size <= limits.max_block_bytes


@closing_tag_in_a_string.promises
def _(piece: Piece) -> Piece:
    body = piece.body.replace("</execute>", "\\u003c/execute>")
    return piece.with_body(body, closed=piece.closed)


@difference(
    PARSER,
    Example(
        r"""events('<execute>[{"name": "w", "args": {"x": "1\n2"}}]</execute>')""",
        theirs=[("respond", _REPORT)],
        ours=[("call", '{"name": "w", "args": {"x": "1\\n2"}}'), ("execute",)],
    ),
    theirs="A line break, tab or other control character that stands unescaped in a JSON string makes the "
    "block malformed.",
    ours="It is read as what it is, as `json.loads(strict=False)` does.",
    why="Models write file contents with raw line breaks, and their meaning is clear.",
)
def control_character_in_a_string(piece: Piece, limits: Limits) -> bool:
    return piece.calls(limits) is not None and any(
        map(_CONTROL.search, _STRING.findall(piece.body))
    )


@control_character_in_a_string.promises
def _(piece: Piece) -> Piece:
    def escaped(string: re.Match[str]) -> str:
        return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", string[0])

    return piece.with_body(_STRING.sub(escaped, piece.body))


@difference(
    PARSER,
    Example(
        "events('Hm. <think>let me')",
        [("respond", "Hm. <think>let me")],
        [("respond", "Hm. "), ("think", "let me")],
    ),
    theirs="A `<think>` that is still open when the text ends is shown to the user, tag and all.",
    ours="It becomes a `think` event, or nothing if it is blank.",
    why="Reasoning is not for the user, least of all when the model was cut off.",
)
def unclosed_think(piece: Piece, _: Limits) -> bool:
    return piece.kind == "think" and not piece.closed


@unclosed_think.promises
def _(piece: Piece) -> Piece:
    return piece.with_body(piece.body)


@difference(
    PARSER,
    Example(
        """events('Write <results>, then </results>. <think>Hm.</think>')""",
        theirs=[
            ("respond", "Write "),
            ("result", ", then "),
            ("respond", ". "),
            ("think", "Hm."),
        ],
        ours=[("respond", "Write <results>, then </results>. "), ("think", "Hm.")],
    ),
    Example(
        """events('A <results> tag. <think>Hm.</think>')""",
        theirs=[("respond", "A <results> tag. <think>Hm.</think>")],
        ours=[("respond", "A <results> tag. "), ("think", "Hm.")],
    ),
    theirs="`<results>` is a tag wherever it stands.",
    ours="It is one only if a JSON array or `</results>` follows, with nothing but whitespace between; the first "
    "`Limits.max_block_bytes` (10 MiB) behind it decide. Any other is text.",
    why="Results are an array; a model that writes about the tag must not lose its words.",
)
def results_without_an_array(piece: Piece, _: Limits) -> bool:
    _, tag, behind = piece.body.partition(RESULTS)
    if piece.kind != "text" or not tag:
        return False
    return piece.closed or "</results>" in behind


RESULTS = "<results>"
NO_TAG = "<\U000f0000results>"
"""What stands for `<results>` that is text, which no text makes cogency say; `promised_parse` puts it back."""


@results_without_an_array.promises
def _(piece: Piece) -> Piece:
    return piece.with_body(piece.body.replace(RESULTS, NO_TAG))


@difference(
    PARSER,
    Example("events('<results>[1')", [("respond", "<results>[1")], [("result", "[1")]),
    theirs="A `<results>` that is still open when the text ends is shown to the user, tag and all.",
    ours="It becomes a `result` event, which the accumulator drops like any result the model wrote; at least the `[` "
    "of its array is there.",
    why="The protocol's own text is not for the user.",
)
def unclosed_results(piece: Piece, _: Limits) -> bool:
    return piece.kind == "results" and not piece.closed


@unclosed_results.promises
def _(piece: Piece) -> Piece:
    return piece.with_body(piece.body)


@difference(
    PARSER,
    Example(
        """events('<execute>[{"name": "w"')""",
        theirs=[("respond", '<execute>[{"name": "w"')],
        ours=[("respond", _REPORT)],
    ),
    theirs="An `<execute>` that is still open when the text ends is shown to the user, tag and all, and "
    "nothing says that no call was run.",
    ours="It becomes one report of a malformed block, unless all its calls are there. No call of it is run.",
    why="The model must learn that its calls did not happen.",
)
def unclosed_execute(piece: Piece, limits: Limits) -> bool:
    return not piece.closed and piece.is_malformed(limits)


@unclosed_execute.promises
def _(piece: Piece) -> Piece:
    return piece.with_body("cut off")


@difference(
    PARSER,
    Example(
        """events('<execute>[{"name": "w", "args": {}}]</exec')""",
        theirs=[("respond", '<execute>[{"name": "w", "args": {}}]</exec')],
        ours=[("call", '{"name": "w", "args": {}}'), ("execute",)],
    ),
    theirs="A block whose closing tag is missing when the text ends is shown to the user.",
    ours="It runs if its array is complete, also where a part of the tag is there; not where the source has raised.",
    why="Servers take the stop strings out of what they send.",
)
def array_without_its_closing_tag(piece: Piece, limits: Limits) -> bool:
    return piece.kind == "execute" and not piece.closed and not piece.is_malformed(limits)


@array_without_its_closing_tag.promises
def _(piece: Piece) -> Piece:
    return piece.with_body(piece.array)


@difference(
    PARSER,
    Example(
        "report('<execute>[1, x]</execute>')",
        theirs="Error: Malformed tool call syntax. Invalid JSON in <execute> block: Expecting value: "
        "line 1 column 5 (char 4)",
        ours="Error: Malformed tool call syntax. In the execute block: expected a JSON value at line 1, "
        "column 5. No call was run. Write the whole block again, as one JSON array: "
        '[{"name": "...", "args": {...}}].',
    ),
    Example(
        "calls('no block')",
        theirs=("ProtocolError", "No <execute> block found"),
        ours=("ProtocolError", "No <execute> block found in the text"),
    ),
    theirs="What is wrong with a malformed block is said in the words of Python's `json`.",
    ours="The report begins with the same sentence and goes on in its own words: what is wrong, at which line "
    "and column, and what to write instead. `ProtocolError` has the same words and the same `original_input`.",
    why="The reader is a model, and it must be able to write the block again.",
)
def words_of_a_malformed_block(piece: Piece, limits: Limits) -> bool:
    return piece.is_malformed(limits)


@difference(
    PARSER,
    Example(
        """events('<execute>[{"name": "w", "args": {"x": ' + "[" * 200 + "]" * 200 + "}}]</execute>")""",
        theirs=[("call", '{"name": "w", "args": {"x": [[[[[[[[[[[[…'), ("execute",)],
        ours=[("respond", _REPORT)],
    ),
    Example(
        """events("<execute>" + "[" * 2000 + "]" * 2000 + "</execute>")""",
        theirs=[("RecursionError",)],
        ours=[("respond", _REPORT)],
    ),
    theirs="Brackets may be nested as deep as Python's recursion limit lets them; beyond it the parser "
    "raises `RecursionError`.",
    ours="More than `Limits.max_depth` (200) open brackets make the block malformed. The parser never raises.",
    why="Malformed text must not end the program, and what is accepted must not depend on the caller's stack.",
)
def nesting_beyond_the_limit(piece: Piece, limits: Limits) -> bool:
    return piece.kind == "execute" and piece.closed and piece.depth > limits.max_depth


@nesting_beyond_the_limit.promises
def _(piece: Piece) -> Piece:
    return piece.with_body("too deep")


@difference(
    PARSER,
    Example(
        """events("<execute>[" + ", ".join(['{"name": "w", "args": {}}'] * 1025) + "]</execute>")[-2:]""",
        theirs=[("call", '{"name": "w", "args": {}}'), ("execute",)],
        ours=[("respond", _REPORT)],
    ),
    theirs="A block may hold any number of calls.",
    ours="More than `Limits.max_calls` (1024) make the block malformed.",
    why="A model that repeats itself must not start calls without end.",
)
def calls_beyond_the_limit(piece: Piece, limits: Limits) -> bool:
    return isinstance(piece.value, list) and len(piece.value) > limits.max_calls


@calls_beyond_the_limit.promises
def _(piece: Piece) -> Piece:
    return piece.with_body("too many")


@difference(
    PARSER,
    Example(
        """events('<execute>[{"name": "w", "args": {"x": "' + "x" * (10 << 20) + '"}}]</execute>')""",
        theirs=[("call", '{"name": "w", "args": {"x": "xxxxxxxxxxx…'), ("execute",)],
        ours=[("respond", _REPORT)],
    ),
    theirs="A block may have any size.",
    ours="A body of more than `Limits.max_block_bytes` (10 MiB) is malformed; the block ends at the first "
    "`</execute>` there is.",
    why="What is held in memory must be bounded, whatever the model writes.",
)
def block_beyond_the_limit(piece: Piece, limits: Limits) -> bool:
    return piece.kind == "execute" and piece.closed and piece.size > limits.max_block_bytes


@block_beyond_the_limit.promises
def _(piece: Piece) -> Piece:
    return piece.with_body("too long")


@difference(
    PARSER,
    Example(
        """lengths("x" * (11 << 20))""",
        theirs=[11 << 20],
        ours=[10 << 20, 1 << 20],
    ),
    theirs="Text between two tags is one event, whatever its length.",
    ours="Text of more than `Limits.max_block_bytes` (10 MiB) comes in pieces of at most that size.",
    why="As above.",
)
def text_beyond_the_limit(piece: Piece, limits: Limits) -> bool:
    return piece.kind in {"text", "think", "results"} and piece.size > limits.max_block_bytes


@difference(
    PARSER,
    Example(
        """events('<execute>[{"name": "w", "args": {"x": ' + "7" * 5000 + "}}]</execute>")""",
        theirs=[("ValueError",)],
        ours=[("call", '{"name": "w", "args": {"x": 777777777777…'), ("execute",)],
    ),
    theirs="An integer of more than 4300 digits ends the parser with Python's `ValueError`.",
    ours="The parser hands it on as it stands. The call then fails with a message that says so, and "
    "`parse_execute_block` raises `ProtocolError`.",
    why="Malformed text must not end the program.",
)
def integer_beyond_python(piece: Piece, _: Limits) -> bool:
    if piece.kind != "execute" or (not piece.closed and piece.value is None):
        return False
    read = outcome(json.loads, piece.array.strip(), strict=False)
    return isinstance(read, Raised) and read.kind == "ValueError"


@difference(
    PARSER,
    Example(
        """events(["Hel", "lo <end", ">"], stream="token")""",
        theirs=[("respond", "Hello "), ("end",)],
        ours=[("respond", "Hel"), ("respond", "lo "), ("end",)],
    ),
    theirs="The parser knows no mode. Text is handed out when the next tag is complete or the stream ends, so "
    'that `Agent(stream="token")` shows an answer all at once.',
    ours='With `stream="token"`, or behind an accumulator in that mode, `think` and `respond` text is handed '
    "out as it arrives. Joined, the pieces are the same text.",
    why="That is what streaming is for.",
)
def text_in_pieces(stream: str) -> bool:
    return stream == "token"


def text_of(source: Source) -> tuple[str, bool]:
    """The text of a source, and whether all of it came."""
    if isinstance(source, str):
        return source, True
    text = ""
    for chunk in source:
        if not isinstance(chunk, str):
            return text, False
        text += chunk
    return text, True


@difference(
    PARSER,
    Example(
        """events(["So far", ConnectionError("reset")])""",
        theirs=[("ConnectionError",)],
        ours=[("respond", "So far"), ("ConnectionError",)],
    ),
    theirs="When the source raises, the text behind the last complete tag is lost.",
    ours="It is handed out as if the text had ended there; then the same exception goes on.",
    why="The user keeps what the model said.",
)
def text_before_an_error_of_the_source(source: Source) -> bool:
    text, is_whole = text_of(source)
    if is_whole or not text:
        return False
    last = pieces(text, is_cut=True)[-1]
    return last.kind == "text" or (not last.closed and not _is_blank(last))


@difference(
    PARSER,
    Example(
        """events(['<execute>[{"name": "w"', ConnectionError("reset")])""",
        theirs=[("ConnectionError",)],
        ours=[
            (
                "respond",
                "Error: The stream broke off inside an execute block (ConnectionError: reset). No call was run.",
            ),
            ("ConnectionError",),
        ],
    ),
    Example(
        """events(['<execute>[{"name": "w", "args": {}}]', ConnectionError("reset")])""",
        theirs=[("ConnectionError",)],
        ours=[
            (
                "respond",
                "Error: The stream broke off inside an execute block (ConnectionError: reset). No call was run.",
            ),
            ("ConnectionError",),
        ],
    ),
    theirs="When the source raises inside an execute block, the block is lost.",
    ours="A report says what was raised and that no call was run, also where the block's array is complete. A block "
    "that is malformed already is reported as that.",
    why="The model has done nothing wrong, and must learn that its calls did not happen.",
)
def stream_that_breaks_off_in_a_block(source: Source) -> bool:
    text, is_whole = text_of(source)
    return not is_whole and text != "" and pieces(text, is_cut=True)[-1].breaks_off()


def broken_off(error: Raised) -> str:
    """The report of a block in which the source raised `error`."""
    why = f"{error.kind}: {error.text}" if error.text else error.kind
    return f"Error: The stream broke off inside an execute block ({why}). No call was run."


def _is_blank(piece: Piece) -> bool:
    return piece.kind in {"think", "results"} and not piece.body.strip()


@difference(
    PARSER,
    Example(
        "raised(lambda: parse_tokens(['a list']))",
        theirs="nothing",
        ours=("TypeError", "source must be str or an async iterable of str, not list"),
    ),
    theirs="A source that cannot be iterated raises `TypeError` when the first event is asked for.",
    ours="`parse_tokens` raises it at once.",
    why="The error points at the call that is wrong.",
)
def source_that_is_no_text(source: Any) -> bool:
    return not isinstance(source, str) and not hasattr(source, "__aiter__")


@difference(
    PARSER,
    Example("is_closed_behind('<execute>[]</execute>')", theirs=False, ours=True),
    theirs="The source is left open behind a complete batch, when the consumer stops and when the source fails.",
    ours="It is closed (`aclose`) at once, as soon as nothing more of it will be read.",
    why="The model stops writing what nobody reads, and its connection is free again.",
)
def source_with_a_close(source: Any) -> bool:
    return hasattr(source, "aclose")


@difference(
    PARSER,
    Example(
        "calls('</execute> <execute>[]</execute>')",
        theirs=(
            "ProtocolError",
            "Invalid JSON in <execute> block: Expecting value: line 1 column 1 (char 0)",
        ),
        ours=[],
    ),
    theirs="`parse_execute_block` takes the first `</execute>` of the text for the block's end, also where it stands "
    "before the block.",
    ours="The block ends behind its beginning.",
    why="Text before a block cannot be part of it.",
)
def stray_closing_tag(text: str) -> bool:
    start = text.find("<execute>")
    return 0 <= text.find("</execute>") < start


TEXT = (
    array_without_its_closing_tag,
    results_without_an_array,
    nesting_beyond_the_limit,
    calls_beyond_the_limit,
    block_beyond_the_limit,
    closing_tag_in_a_string,
    control_character_in_a_string,
    integer_beyond_python,
    unclosed_think,
    unclosed_results,
    unclosed_execute,
    words_of_a_malformed_block,
)


def promised_text(text: str, limits: Limits = DEFAULT) -> tuple[str, set[str]]:
    """The text that makes cogency do what we promise for `text`, and the differences that it takes."""
    return _promised_pieces(pieces(text, limits), limits)


def _promised_pieces(given: Iterable[Piece], limits: Limits) -> tuple[str, set[str]]:
    names: set[str] = set()
    promised: list[str] = []
    for piece in given:
        applying = [each for each in TEXT if each(piece, limits)]
        for each in applying:
            names.add(each.name)
            piece = each.promised(piece)
        promised.append(str(piece))
    return "".join(promised), names


def promised_parse(source: Source, limits: Limits = DEFAULT) -> tuple[Parsed, set[str]]:
    """The events that we promise for a source, with reports of malformed blocks by name, and the differences.

    What the source raises is not among them.
    """
    text, is_whole = text_of(source)
    found = pieces(text, limits, is_cut=not is_whole)
    breaks_off = stream_that_breaks_off_in_a_block(source)
    if breaks_off:
        found[-1] = found[-1].with_body("cut off")
    rewritten, names = _promised_pieces(found, limits)
    with generous() if integer_beyond_python.name in names else nullcontext():
        parsed = their_parse(rewritten).named(THEIR_REPORT)
    events = [
        with_content(shape, content.replace(NO_TAG, RESULTS))
        if isinstance(content := content_of(shape), str)
        else shape
        for shape in parsed.events
    ]
    if breaks_off:
        names.add(stream_that_breaks_off_in_a_block.name)
        events[-1] = with_content(events[-1], BROKEN_OFF)
    return replace(parsed, events=events), names


BROKEN_OFF = "<broken off>"
"""What stands for the report of a block in which the source raised: `broken_off` says what it is."""


# Tool calls: what a tool does.


@difference(
    TOOLS,
    Example("result(returns('42'))", theirs="42", ours=("Success", "42", False)),
    Example(
        "saved(call('t') + execute, returns('42'))",
        theirs=[("call", '{"name": "t", "args": {}}'), ("AttributeError",)],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "success", "content": "42"}]',
            ),
        ],
    ),
    theirs="A tool that returns something else than a `ToolResult` ends the whole turn with `AttributeError`; its "
    "call stays in the log without a result.",
    ours="The value is the content of a success.",
    why="A failed tool does not matter to others, and a plain value is what a tool's author meant.",
)
def value_that_is_no_result(script: Script) -> bool:
    return not isinstance(script.value, BaseException) and not _is_result(script.value)


@value_that_is_no_result.promises
def _(script: Script) -> Script:
    return replace(script, value=ToolResult(outcome="Success", content=script.value))


def _is_result(value: Any) -> bool:
    return hasattr(value, "outcome") and hasattr(value, "error")


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done'), how='plain'))",
        theirs=(
            "Tool execution failed: object ToolResult can't be used in 'await' expression",
            None,
            True,
        ),
        ours=("done", None, False),
    ),
    theirs="A tool whose `execute` is a plain `def` runs, and then fails.",
    ours="It is a tool like any other, and runs in a worker thread.",
    why="What does not wait need not be a coroutine.",
)
def plain_def_tool(script: Script) -> bool:
    return script.how == "plain" and not isinstance(script.value, BaseException)


@plain_def_tool.promises
def _(script: Script) -> Script:
    return replace(script, how="async")


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done', content={1, 2})))",
        theirs=("done", {1, 2}, False),
        ours=(
            "Tool execution failed: its content (set) is no JSON value: Object of type set is not JSON "
            "serializable",
            None,
            True,
        ),
    ),
    Example(
        "saved(call('t') + execute, returns(ToolResult('done', content={1, 2})))",
        theirs=[("call", '{"name": "t", "args": {}}'), ("TypeError",)],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: its content (set) is '
                'no JSON value: Object of type set is not JSON serializable"}]',
            ),
        ],
    ),
    theirs="Content that JSON cannot hold ends the whole turn with `TypeError` when the results are written.",
    ours="It is that call's failure, and names the type.",
    why="A failed tool does not matter to others.",
)
def content_that_is_no_json(script: Script) -> bool:
    return _has_json_fault(script) and not number_that_json_does_not_have([script.value])


def _failing_for_its_json(script: Script) -> Script:
    return replace(
        script,
        value=ToolResult(f"Tool execution failed: its {_json_fault(script.value)}", error=True),
    )


content_that_is_no_json.promises(_failing_for_its_json)


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('measured', content={'rows': [{'mean': -inf}]})))",
        theirs=("measured", {"rows": [{"mean": -inf}]}, False),
        ours=(
            "Tool execution failed: its content (dict) is no JSON value: JSON has no -Infinity, and "
            '["rows"][0]["mean"] is one',
            None,
            True,
        ),
    ),
    Example(
        "array(ToolResult('measured', content=nan))",
        theirs='[{"tool": "t", "status": "success", "content": NaN}]',
        ours=("ValueError", 'a result of "t" is no JSON value: JSON has no NaN'),
    ),
    theirs="`NaN` and infinities are written into the results as Python writes them, which other readers of JSON "
    "refuse, the whole array with them.",
    ours="They are their call's failure, which says where one stands. `format_results_array` raises `ValueError`.",
    why="A result is strict JSON, so that a browser's `JSON.parse` reads it.",
)
def number_that_json_does_not_have(results: Sequence[Any]) -> bool:
    return any(_odd_number(value) is not None for result in results for value in _written(result))


def _written(result: Any) -> tuple[Any, ...]:
    """What of a result the model is shown."""
    if not _is_result(result):
        return ()
    return (result.outcome,) if result.error else (result.outcome, result.content)


def _odd_number(value: Any, path: str = "") -> str | None:
    """Why JSON cannot hold a value that Python's `json` writes but for `allow_nan=False`, or `None`."""
    if isinstance(outcome(json.dumps, value), Raised):
        return None
    if isinstance(value, float) and not isfinite(value):
        name = json.dumps(value)
        return f"JSON has no {name}, and {path} is one" if path else f"JSON has no {name}"
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list | tuple) else items
    found = (_odd_number(item, f"{path}[{json.dumps(key)}]") for key, item in items)
    return next(filter(None, found), None)


def _has_json_fault(script: Script) -> bool:
    return _is_result(script.value) and _json_fault(script.value) is not None


number_that_json_does_not_have.promises(_failing_for_its_json)


def _json_fault(result: Any) -> str | None:
    for name, value in zip(("outcome", "content"), _written(result), strict=False):
        read = outcome(json.dumps, value)
        fault = read.text if isinstance(read, Raised) else _odd_number(value)
        if fault is not None:
            return f"{name} ({type(value).__name__}) is no JSON value: {fault}"
    return None


@difference(
    TOOLS,
    Example(
        "result(raises(CancelledError('gave up')))",
        theirs=("CancelledError", "gave up"),
        ours=("Tool execution failed: the tool cancelled itself: gave up", None, True),
    ),
    theirs="A tool that raises `asyncio.CancelledError` of its own ends the whole turn.",
    ours="It is that call's failure. A cancellation of the turn is told apart from it.",
    why="A failed tool does not matter to others.",
)
def tool_that_cancels_itself(script: Script) -> bool:
    return isinstance(script.value, asyncio.CancelledError)


@tool_that_cancels_itself.promises
def _(script: Script) -> Script:
    text = str(script.value)
    return replace(script, value=Exception(f"the tool cancelled itself{text and f': {text}'}"))


@difference(
    TOOLS,
    Example(
        "result(raises(SystemExit(3)))",
        theirs=("SystemExit", "3"),
        ours=("Tool execution failed: the tool asked the program to exit with 3", None, True),
    ),
    theirs="A tool that calls `sys.exit`, or raises any other exception that is no `Exception`, ends the program.",
    ours="It is that call's failure. Only `KeyboardInterrupt` goes through.",
    why="A failed tool does not matter to others.",
)
def tool_that_exits(script: Script) -> bool:
    return isinstance(script.value, BaseException) and not isinstance(
        script.value, Exception | asyncio.CancelledError | KeyboardInterrupt
    )


@tool_that_exits.promises
def _(script: Script) -> Script:
    error = script.value
    words = _with_its_class(error)
    if isinstance(error, SystemExit):
        words = f"the tool asked the program to exit with {error.code!r}"
    return replace(script, value=Exception(words))


@difference(
    TOOLS,
    Example(
        "result(raises(KeyError('missing')))",
        theirs=("Tool execution failed: 'missing'", None, True),
        ours=("Tool execution failed: KeyError: 'missing'", None, True),
    ),
    Example(
        "result(raises(TimeoutError()))",
        theirs=("Tool execution failed: ", None, True),
        ours=("Tool execution failed: TimeoutError", None, True),
    ),
    theirs="A tool's exception is told by its text, and by nothing where it has none. One whose text cannot be made "
    "ends the turn.",
    ours="Its class stands before the text, and alone where there is none. Only a `ToolError`, cogency's own too, is "
    "told by its text, as in cogency.",
    why="The model must be able to tell what happened; the text of a `ToolError` was written for it.",
)
def error_with_its_class(script: Script) -> bool:
    error = script.value
    if not isinstance(error, Exception):
        return False
    own_words = isinstance(error, ToolError | cogency("core.errors").ToolError) and str(error)
    return not own_words


@error_with_its_class.promises
def _(script: Script) -> Script:
    return replace(script, value=Exception(_with_its_class(script.value)))


def _with_its_class(error: BaseException) -> str:
    text = outcome(str, error)
    named = type(error).__name__
    return named if isinstance(text, Raised) or not text else f"{named}: {text}"


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done')), name='x')",
        theirs=("Tool 'x' not registered", None, True),
        ours=("Tool 'x' not registered. Known tools: t", None, True),
    ),
    theirs="The message says which tool is not there.",
    ours="It begins with the same words and goes on with the tools that are.",
    why="The model can correct itself at once.",
)
def tool_that_is_not_registered(name: Any, tools: Collection[Any]) -> bool:
    return len(tools) > 0 and name not in tools


SCRIPTS = (
    plain_def_tool,
    error_with_its_class,
    tool_that_cancels_itself,
    tool_that_exits,
    value_that_is_no_result,
    content_that_is_no_json,
)


def promised_script(script: Script) -> tuple[Script, set[str]]:
    """The tool that makes cogency do what we promise, and the differences that it takes."""
    names: set[str] = set()
    for each in SCRIPTS:
        if each(script):
            names.add(each.name)
            script = each.promised(script)
    if number_that_json_does_not_have([script.value]):
        names.add(number_that_json_does_not_have.name)
        script = number_that_json_does_not_have.promised(script)
    return script, names


def promised_scripts(
    scripts: Mapping[str, Script], called: set[Any]
) -> tuple[dict[str, Script], set[str]]:
    """The tools that make cogency do what we promise, and the differences of those that are called."""
    names: set[str] = set()
    promised: dict[str, Script] = {}
    for name, script in scripts.items():
        promised[name], found = promised_script(script)
        names |= found if name in called else set()
    for name in called:
        if tool_that_is_not_registered(name, scripts):
            names.add(tool_that_is_not_registered.name)
            message = f"Tool '{name}' not registered. Known tools: {', '.join(scripts)}"
            promised[name] = Script(ToolResult(message, error=True))
    return promised, names


def promised_batch(batch: Batch) -> tuple[Batch, set[str]]:
    scripts, names = promised_scripts(batch.scripts, {name for name, _ in batch.calls})
    return replace(batch, scripts=scripts), names


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done')), args=None)",
        theirs=("TypeError", "'NoneType' object is not iterable"),
        ours=(
            "Invalid arguments for tool 't': they must be an object, and were NoneType",
            None,
            True,
        ),
    ),
    theirs="Arguments of a `ToolCall` that are no `dict` end the batch with the exception that `dict(args)` raises.",
    ours="They are that call's failure.",
    why="One bad call does not matter to others.",
)
def arguments_that_are_no_mapping(args: Any) -> bool:
    return not isinstance(args, dict)


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done')), schema={'x': {'type': 'integer', 'required': True}})",
        theirs=("done", None, False),
        ours=(
            "Invalid arguments for tool 't': argument 'x' is required, and was not given",
            None,
            True,
        ),
    ),
    Example(
        "result(returns(ToolResult('done')), args={'x': '1'}, schema={'x': {'type': 'integer'}})",
        theirs=("done", None, False),
        ours=(
            """Invalid arguments for tool 't': argument 'x' must be an integer, and was a string: "1\"""",
            None,
            True,
        ),
    ),
    theirs="A tool starts with whatever arguments the model gave; what its schema says is for the prompt only.",
    ours='An argument that is missing although its schema says `"required": True`, and one that breaks `type`, `min`, '
    "`max`, `min_length` or `max_length`, is that call's failure, and the tool does not start.",
    why="The protocol promises it: missing and wrong arguments are errors, and the message says which.",
)
def arguments_against_the_schema(
    schema: Mapping[str, Mapping[str, Any]], args: Mapping[str, Any]
) -> bool:
    """For a flat schema."""
    return any(
        _breaks(info, args[name]) if name in args else info.get("required") is True
        for name, info in schema.items()
    )


def _breaks(info: Mapping[str, Any], value: Any) -> bool:
    if value is None and info.get("default", 0) is None:
        return False
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "integer": number and (isinstance(value, int) or value.is_integer()),
        "number": number,
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    if not fits.get(info.get("type", ""), True):
        return True
    if number and (value < info.get("min", value) or value > info.get("max", value)):
        return True
    length = len(value) if isinstance(value, str | list) else None
    return length is not None and not (
        info.get("min_length", 0) <= length <= info.get("max_length", length)
    )


@difference(
    TOOLS,
    Example(
        "result(falsy(returns(ToolResult('done'))))",
        theirs=("Tool 't' not registered", None, True),
        ours=("done", None, False),
    ),
    theirs="A tool that is falsy (it has `__len__` or `__bool__`) counts as not registered.",
    ours="It is a tool like any other.",
    why="What counts is that it is there.",
)
def falsy_tool(tool: Any) -> bool:
    return not tool


@difference(
    TOOLS,
    Example(
        "raised(lambda: Accumulator('u', 'c', execution=Execution(log, [5], 30, '', 'sandbox')))",
        theirs="nothing",
        ours=(
            "ConfigError",
            "5 cannot be a tool: it needs a name that is a str, and an execute method",
        ),
    ),
    Example(
        "raised(lambda: Accumulator('u', 'c', execution=Execution(None, [], 30, '', 'sandbox')))",
        theirs="nothing",
        ours=(
            "ConfigError",
            "storage has no save_message method: None. Use SQLite(), or any object with async def "
            "save_message(conversation_id, user_id, type, content, timestamp)",
        ),
    ),
    Example(
        "raised(lambda: Accumulator('u', 'c', execution=Execution(log, [], 30, '', 'sandbox'), stream='tokens'))",
        theirs="nothing",
        ours=("ConfigError", 'stream must be "event" or "token", got \'tokens\''),
    ),
    theirs="A tool without a name or without `execute`, a class in place of an instance, a storage without "
    "`save_message` and an unknown mode are found, if at all, in the middle of a turn.",
    ours="`Accumulator` refuses them with `ConfigError`.",
    why="The error points at the call that is wrong.",
)
def execution_that_cannot_carry_a_turn(execution: Any, stream: str) -> bool:
    return (
        stream not in {"event", "token"}
        or not hasattr(execution.storage, "save_message")
        or not all(map(_is_a_tool, execution.tools))
    )


def _is_a_tool(tool: Any) -> bool:
    execute = getattr(tool, "execute", None)
    if isinstance(tool, type) and isinstance(tool.__dict__.get("execute"), FunctionType):
        return False  # it has no instance to be called with
    return isinstance(getattr(tool, "name", None), str) and callable(execute)


@difference(
    TOOLS,
    Example(
        "batch([ToolCall('t', {})], [tool('t', returns('done')), 5])[0]",
        theirs="done",
        ours="ConfigError",
    ),
    Example(
        "batch([ToolCall('t', {})], [len])",
        theirs=("AttributeError", "'builtin_function_or_method' object has no attribute 'name'"),
        ours=(
            "ConfigError",
            "<built-in function len> cannot be a tool: make a tool of the function with @cogency_rs.tool",
        ),
    ),
    theirs="`execute_tools` looks at tools only until it finds the one that is called, and at its `execute` when it "
    "calls it. Without calls it does not look at its execution at all.",
    ours="It looks at all of them before anything runs, and refuses with `ConfigError` what has no name, no `execute`, "
    "or is a class in place of an instance. Under `install()` it does as cogency does.",
    why="The error points at the program's mistake, and does not wait for the model to call that tool.",
)
def something_that_is_not_a_tool(execution: Any) -> bool:
    """`execution`: of `execute_tools`, not under `install()`."""
    return execution is None or not all(map(_is_a_tool, execution.tools))


@difference(
    TOOLS,
    Example(
        "batch([ToolCall('t', {})], [tool('t', returns('first')), tool('t', returns('second'))])",
        theirs=["first"],
        ours=(
            "ConfigError",
            "two tools are named 't', so a call of that name could mean either: rename one",
        ),
    ),
    theirs="Of two tools with one name, the first is called.",
    ours="`execute_tools` and `Accumulator` refuse them with `ConfigError`, unless they are the same tool. Under "
    "`install()` the first is called.",
    why="A call of that name could mean either, and the second would never run.",
)
def tools_of_one_name(tools: Sequence[Any]) -> bool:
    """Not under `install()`."""
    named = [tool for tool in tools if isinstance(getattr(tool, "name", None), str)]
    return len({tool.name for tool in named}) < len({id(tool) for tool in named})


@difference(
    TOOLS,
    Example(
        "batch([{'name': 't', 'args': {}}], [])",
        theirs=("AttributeError", "'dict' object has no attribute 'name'"),
        ours=(
            "TypeError",
            "calls must be ToolCall objects, got dict: {'name': 't', 'args': {}}",
        ),
    ),
    Example(
        "batch(ToolCall('t', {}), [])",
        theirs=("TypeError", "'ToolCall' object is not iterable"),
        ours=("TypeError", "calls must be a list of ToolCall; for one call there is execute_tool"),
    ),
    Example(
        "batch(None, [])",
        theirs=[],
        ours=("TypeError", "'NoneType' object is not iterable"),
    ),
    theirs="Something among the calls of `execute_tools` that is not a call ends the batch with `AttributeError`, "
    "while calls before it may run. `None` in place of the calls is an empty batch.",
    ours="`TypeError`, which says what was given, before anything runs. Under `install()` it is as in cogency.",
    why="The error points at the call that is wrong.",
)
def something_that_is_not_a_call(calls: Any) -> bool:
    """`calls`: of `execute_tools`, not under `install()`."""
    if not isinstance(calls, Iterable):
        return True
    return not all(hasattr(call, "name") and hasattr(call, "args") for call in calls)


@difference(
    TOOLS,
    Example(
        "result(shows('user_id'), args={'user_id': 'ada'}, schema={'user_id': {'type': 'string'}})",
        theirs=("shown", "user", False),
        ours=("shown", "ada", False),
    ),
    theirs="What the turn gives to a tool (`user_id`, `storage`, `access`, …) takes the place of an argument of the "
    "same name, whatever the tool's schema says.",
    ours="An argument that the schema declares is the model's: the turn does not give it.",
    why="The tool has said what it means by that name.",
)
def argument_of_the_turn_that_is_declared(schema: Mapping[str, Any]) -> bool:
    """For a flat schema and a JSON Schema."""
    return any(name in declared_arguments(schema) for name in TURN_ARGUMENTS)


@difference(
    TOOLS,
    Example(
        "result(shows('access'), schema={'type': 'object', 'properties': {}, 'additionalProperties': False})",
        theirs=("shown", "system", False),
        ours=("shown", None, False),
    ),
    theirs="Every tool is given what belongs to the turn (`user_id`, `storage`, `access`, …).",
    ours="Not one whose `schema` is a JSON Schema with `additionalProperties: false`: it is called with the model's "
    "arguments alone.",
    why="Such a tool takes what its schema lists, and often fails over anything else.",
)
def schema_without_further_arguments(schema: Mapping[str, Any]) -> bool:
    return _is_json_schema(schema) and schema.get("additionalProperties") is False


TURN_ARGUMENTS = ("storage", "sandbox_dir", "access", "conversation_id", "user_id", "timeout")
"""What a turn gives to tools; `timeout` to the one named `shell`."""


def declared_arguments(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    declared: Mapping[str, Any] = schema["properties"] if _is_json_schema(schema) else schema
    return declared


def _is_json_schema(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" and isinstance(schema.get("properties"), Mapping)


def promised_arguments(
    schema: Mapping[str, Any], args: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """What a tool is called with, where the turn gives `given` to one that declares nothing."""
    if schema_without_further_arguments(schema):
        return dict(args)
    declared = declared_arguments(schema)
    return {**args, **{name: value for name, value in given.items() if name not in declared}}


# The accumulator: what a parser hands over, event by event, as 3.3.0's accumulator holds it.

TEXT_KINDS = ("think", "respond")
BARRIER = {"type": "result", "content": "", "timestamp": 0.0}
"""An event behind which cogency's accumulator holds no text, and that does nothing else."""


@dataclass(frozen=True)
class Step:
    """An event in its turn.

    Attributes:
        event: the event, or the exception that the source raises in its place.
        pending: the text that is neither saved nor dropped yet.
        stream: the accumulator's mode.
    """

    event: Any
    pending: str
    stream: str

    @property
    def kind(self) -> Any:
        return self.event.get("type") if isinstance(self.event, dict) else None

    @property
    def content(self) -> Any:
        return self.event.get("content") or ""

    @property
    def raises(self) -> Exception | None:
        """What ends the turn here, on both sides."""
        if isinstance(self.event, Exception):
            return self.event
        try:
            kind = self.event["type"]
            if kind == "call":
                parse_call(self.content)
        except Exception as error:
            return error
        return None


def parse_call(content: Any) -> Any:
    return cogency("core.codec").parse_tool_call(content)


@difference(
    TURNS,
    Example(
        "emitted(respond('I look it up.') + call('t') + execute, returns(ToolResult('done')))[:2]",
        theirs=[("call", '{"name": "t", "args": {}}'), ("respond", "I look it up.")],
        ours=[("respond", "I look it up."), ("call", '{"name": "t", "args": {}}')],
    ),
    theirs="Text before a call is saved behind it and, in event mode, emitted behind it. Text before and behind a "
    "call is joined.",
    ours="Text is saved and emitted before the call that follows it.",
    why="The log and the user see the turn in the order in which it was written.",
)
def text_before_a_call(step: Step) -> bool:
    return step.kind == "call" and step.pending != ""


@difference(
    TURNS,
    Example(
        'saved(\'<results>[{"tool": "t", "status": "success"}]</results>Paid.\')',
        theirs=[("result", '[{"tool": "t", "status": "success"}]'), ("respond", "Paid.")],
        ours=[("respond", "Paid.")],
    ),
    theirs="A `<results>` block that the model wrote is saved and emitted like the results of a batch.",
    ours="It is dropped.",
    why="Results come from the system; a model must not forge them.",
)
def results_that_the_model_wrote(step: Step) -> bool:
    return step.kind == "result" and isinstance(step.content, str) and bool(step.content.strip())


@difference(
    TURNS,
    Example(
        "saved(respond('a') + metric + respond('b'))",
        theirs=[("respond", "a"), ("respond", "ab")],
        ours=[("respond", "a"), ("respond", "b")],
    ),
    theirs="An event of any other type (`metric`, `user`, `error`, …) makes the accumulator save and emit the text "
    "before it, and then save and emit that text again.",
    ours="It only ends the text before it.",
    why="What was said once is in the log once.",
)
def event_of_another_type(step: Step) -> bool:
    known = (*TEXT_KINDS, "call", "result", "execute", "end")
    return isinstance(step.kind, str) and step.kind not in known and step.pending != ""


@difference(
    TURNS,
    Example(
        "emitted(error('No JSON.'))",
        theirs=[],
        ours=[("error", "No JSON.")],
    ),
    Example(
        "saved(error('No JSON.') + respond('Sorry.'))",
        theirs=[("respond", "Sorry.")],
        ours=[("error", '{"kind": "malformed", "content": "No JSON.", "raw": "Sorry."}')],
    ),
    Example(
        "saved(error('No JSON.') + respond('Again:') + call('t') + execute, returns(ToolResult('done')))[:3]",
        theirs=[
            ("call", '{"name": "t", "args": {}}'),
            ("respond", "Again:"),
            ("result", '[{"tool": "t", "status": "success", "content": "done"}]'),
        ],
        ours=[
            ("error", '{"kind": "malformed", "content": "No JSON.", "raw": ""}'),
            ("respond", "Again:"),
            ("call", '{"name": "t", "args": {}}'),
        ],
    ),
    theirs="An event of the type `error` is neither saved nor emitted.",
    ours="It is emitted, and saved as a row of the type `error`: a JSON object with its `kind`, `content` and `raw`. "
    "What the model says behind it goes into `raw`, as it wrote it, unless calls follow in the same turn; then it has "
    "rows of its own.",
    why="The model is shown what it wrote, and what was wrong with it, until a later step succeeds.",
)
def error_of_a_parser(step: Step) -> bool:
    return step.kind == "error" and isinstance(step.content, str)


@difference(
    TURNS,
    Example(
        "saved(respond(' ') + execute + respond('a'), stream='token')",
        theirs=[("respond", " a")],
        ours=[("respond", "a")],
    ),
    theirs="Whitespace before `execute` is joined to the text behind it.",
    ours="Whitespace that is all the text before `execute` is dropped, like everywhere else.",
    why="`execute` ends a text.",
)
def blank_text_before_execute(step: Step) -> bool:
    return step.kind == "execute" and step.pending != "" and not step.pending.strip()


@difference(
    TURNS,
    Example(
        "saved(respond('So far') + [ConnectionError('reset')])",
        theirs=[("ConnectionError",)],
        ours=[("respond", "So far"), ("ConnectionError",)],
    ),
    theirs="When the source raises, or hands over something that is no event or no call, the text before it is neither "
    "saved nor, in event mode, emitted.",
    ours="It is saved and emitted; then the same exception goes on.",
    why="The user keeps what the model said.",
)
def text_before_an_error(step: Step) -> bool:
    return step.raises is not None and step.pending.strip() != ""


@difference(
    TURNS,
    Example(
        "emitted([{'type': 'respond', 'content': 5}])",
        theirs=[("AttributeError",)],
        ours=[("TypeError",)],
    ),
    theirs="Content that is no `str` is found when the text is complete, by an operation that fails. A type that is no "
    "`str` counts as another type.",
    ours="Both raise `TypeError` at once.",
    why="The error points at the event that is wrong.",
)
def event_without_text(step: Step) -> bool:
    if step.raises is not None:
        return False
    if step.kind in {*TEXT_KINDS, "result", "error"}:
        return not isinstance(step.content, str)
    return not isinstance(step.kind, str)


@difference(
    TURNS,
    Example(
        "exactly([{'content': 'a', 'type': 'respond', 'by': 'x', 'timestamp': 1.0}], stream='token')",
        theirs=[{"content": "a", "type": "respond", "by": "x", "timestamp": 1.0}],
        ours=[{"type": "respond", "content": "a", "timestamp": "now"}],
    ),
    theirs="In token mode the parser's own `think` and `respond` events are handed on, with all their keys and "
    "their time.",
    ours="New ones are made, with `type`, `content` and the time at which they are emitted.",
    why="Both modes emit the same shape.",
)
def streamed_event_with_other_keys(step: Step) -> bool:
    if step.stream != "token" or step.kind not in TEXT_KINDS or event_without_text(step):
        return False
    timed = isinstance(step.event.get("timestamp"), float)
    return not timed or {**step.event, "timestamp": 0.0} != _streamed(step.event)


def _streamed(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": event["type"], "content": event.get("content") or "", "timestamp": 0.0}


STEPS = (
    text_before_a_call,
    results_that_the_model_wrote,
    event_of_another_type,
    error_of_a_parser,
    blank_text_before_execute,
    text_before_an_error,
    event_without_text,
    streamed_event_with_other_keys,
)


@dataclass(frozen=True)
class LeftOver:
    """What an accumulator of cogency still holds when a turn is over."""

    text: str
    calls: int


@difference(
    TURNS,
    Example(
        "saved_in_turns(respond('a'), respond('b'))",
        theirs=[("respond", "a"), ("respond", "ab")],
        ours=[("respond", "a"), ("respond", "b")],
    ),
    Example(
        "saved_in_turns(call('t') + execute, call('t') + execute, tool=returns(ToolResult('1')), until='result')",
        theirs=[
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "success", "content": "1"}]'),
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "success", "content": "1"}, '
                '{"tool": "t", "status": "success", "content": "1"}]',
            ),
        ],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "success", "content": "1"}]'),
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "success", "content": "1"}]'),
        ],
    ),
    theirs="An accumulator that carries out several turns (as the WebSocket mode does) takes text, and calls whose "
    "results the consumer did not wait to see the end of, into the next turn: text is saved again, calls run again.",
    ours="Only the circuit breaker lasts from turn to turn.",
    why="What was said once is in the log once, and what was called once runs once.",
)
def state_between_turns(left: LeftOver) -> bool:
    return left.text != "" or left.calls > 0


@dataclass
class Unread:
    """An error of a parser, as we promise it.

    Attributes:
        event: what the parser handed over.
        behind: the runs of text that go into its row, by their type.
    """

    event: Mapping[str, Any]
    behind: list[tuple[str, str]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        kind = self.event.get("kind")
        return kind if kind in ("malformed", "unfinished", "truncated") else "malformed"

    @property
    def place(self) -> dict[str, Any]:
        line, column = self.event.get("line"), self.event.get("column")
        known = line is not None and column is not None
        return {"line": line, "column": column} if known else {}

    @property
    def shape(self) -> Shape:
        place = self.place or {"line": None, "column": None}
        raw = self.event.get("raw") or ""
        more = {"kind": self.kind, "code": self.event.get("code"), **place, "raw": raw}
        return event("error", self.event.get("content") or "", **more)

    @property
    def row(self) -> str:
        raw = self.event.get("raw") or ""
        for kind, content in self.behind:
            raw += f"<think>{content}</think>" if kind == "think" else content
        content = self.event.get("content") or ""
        return json.dumps({"kind": self.kind, "content": content, "raw": raw, **self.place})


@dataclass
class Promised:
    """A turn as cogency's accumulator is to be given it.

    Attributes:
        events: those that make it do what we promise. `MARK` and a number stand for an error, which it does not know.
        names: the differences that it takes.
        left: what it holds behind them.
        outcome: how the turn comes out, unless the breaker opens.
        errors: by what stands for them.
    """

    events: tuple[Any, ...]
    names: set[str]
    left: LeftOver
    outcome: str
    errors: dict[str, Unread]


MARK = "\U000f0000error "


def promised_events(events: Sequence[Any], stream: str) -> Promised:
    """The events that make cogency's accumulator do what we promise."""
    names: set[str] = set()
    promised: list[Any] = []
    errors: dict[str, Unread] = {}
    outcome = "answered"
    pending, open_calls = "", 0
    unread: list[Unread] = []  # that are not saved yet, with what is said behind them
    calls_follow = has_called = False

    def saved() -> None:
        nonlocal calls_follow
        for each in unread if calls_follow else []:
            each.behind.clear()
        unread.clear()
        calls_follow = False

    for given in events:
        step = Step(given, pending, stream)
        applying = {each.name for each in STEPS if each(step)}
        names |= applying
        if step.raises is not None or event_without_text(step):
            if pending.strip():
                names.add(text_before_an_error.name)
                promised.append(BARRIER)
            promised.append(given if step.raises is not None else TypeError(""))
            outcome = "truncated" if outcome in ("answered", "malformed") else outcome
            break
        if step.kind == "execute" or (calls_follow and step.kind != "call"):
            saved()
        if step.kind == "call" or step.kind == "execute":
            calls_follow = step.kind == "call"
            has_called |= calls_follow
            outcome = "acted" if step.kind == "execute" and open_calls else outcome
            promised += [BARRIER, given] if pending else [given]
            pending, open_calls = "", open_calls + 1 if step.kind == "call" else 0
        elif step.kind in TEXT_KINDS:
            last = next((each for each in reversed(promised)), None)
            joins = isinstance(last, dict) and last.get("type") == step.kind
            pending = pending + step.content if joins else step.content
            promised.append(_streamed(given))
            if unread and not has_called:
                behind = unread[-1].behind
                before = behind.pop()[1] if joins and behind else ""
                behind.append((step.kind, before + step.content))
            if step.kind == "respond" and step.content.strip() and outcome == "acted":
                outcome = "answered"
        elif step.kind == "error":
            mark = f"{MARK}{len(errors)}"
            errors[mark] = Unread(given)
            unread.append(errors[mark])
            promised += [BARRIER, _streamed({"type": "respond", "content": mark}), BARRIER]
            outcome = "truncated" if errors[mark].kind == "truncated" else "malformed"
            pending = ""
        elif step.kind == "end":
            promised.append(given)
            outcome = outcome if outcome in ("malformed", "truncated") else "ended"
            break
        else:
            promised.append(BARRIER)
            pending = ""
    saved()
    return Promised(tuple(promised), names, LeftOver(pending, open_calls), outcome, errors)


# The accumulator: what comes of a turn.


@difference(
    TURNS,
    Example(
        "array(ToolResult('read 3 lines', content='a b c'))",
        theirs='[{"tool": "t", "status": "success", "content": "a b c"}]',
        ours='[{"tool": "t", "status": "success", "outcome": "read 3 lines", "content": "a b c"}]',
    ),
    theirs="A success with content is shown without its outcome.",
    ours="It carries `outcome` too, before `content`, unless that is empty or the word `Success`.",
    why="The outcome says what happened, which the content alone often does not.",
)
def success_with_its_outcome(results: Sequence[Any]) -> bool:
    return any(
        not result.error and not _is_absent(result.content) and not _is_wordless(result.outcome)
        for result in results
    )


@difference(
    TURNS,
    Example(
        "array(ToolResult('counted', content=0))",
        theirs='[{"tool": "t", "status": "success", "content": "counted"}]',
        ours='[{"tool": "t", "status": "success", "outcome": "counted", "content": 0}]',
    ),
    Example(
        "array(ToolResult('Success', content=[]))",
        theirs='[{"tool": "t", "status": "success", "content": "Success"}]',
        ours='[{"tool": "t", "status": "success", "content": []}]',
    ),
    theirs="Content that is falsy (`0`, `false`, `[]`, `{}`) is lost.",
    ours='Only `None` and `""` count as no content.',
    why="Zero is an answer.",
)
def falsy_content(results: Sequence[Any]) -> bool:
    return any(
        not result.error and not result.content and not _is_absent(result.content)
        for result in results
    )


def _is_absent(content: Any) -> bool:
    return content is None or content == ""


def _is_wordless(outcome: Any) -> bool:
    return outcome is None or (isinstance(outcome, str) and outcome in {"", "Success"})


ARRAYS = (success_with_its_outcome, falsy_content, number_that_json_does_not_have)


def promised_array(names: Sequence[Any], results: Sequence[Any]) -> str:
    """The results array as we write it.

    Raises:
        ValueError: a result has a number that JSON does not have.
    """

    def item(name: Any, result: Any) -> dict[str, Any]:
        tool = _strict(name)
        try:
            said, *given = map(_strict, _written(result))
        except ValueError as error:
            raise ValueError(f"a result of {json.dumps(tool)} is no JSON value: {error}") from error
        if result.error:
            return {"tool": tool, "status": "failure", "content": said}
        if _is_absent(given[0]):
            return {"tool": tool, "status": "success", "content": said}
        told = {} if _is_wordless(said) else {"outcome": said}
        return {"tool": tool, "status": "success", **told, "content": given[0]}

    return json.dumps([item(*pair) for pair in zip(names, results, strict=True)])


def _strict(value: Any) -> Any:
    """Raise what we raise for a value that JSON cannot hold."""
    json.dumps(value)
    if (fault := _odd_number(value)) is not None:
        raise ValueError(fault)
    return value


@difference(
    TURNS,
    Example(
        "saved(call('t') + execute, raises(OSError('no disk')), max_failures=1)",
        theirs=[("call", '{"name": "t", "args": {}}')],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: OSError: no disk"}]',
            ),
        ],
    ),
    Example(
        "emitted(call('t') + execute, raises(OSError('no disk')), max_failures=1)[2:]",
        theirs=[("result", "Max failures. Terminating."), ("end",)],
        ours=[
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: OSError: no disk"}]',
            ),
            (
                "result",
                '[{"tool": "circuit_breaker", "status": "failure", "content": "Max failures. Terminating."}]',
            ),
            ("end",),
        ],
    ),
    theirs="When the circuit breaker opens, the results of the batch are neither saved nor emitted. `Max failures. "
    "Terminating.` and `end` come in their place.",
    ours="They are saved and emitted; then come the same two, of which the first is an array of results too.",
    why="Every call in the log has its result, somebody can see why the turn ended, and the content of every `result` "
    "event is an array.",
)
def batch_that_opens_the_breaker(results: Sequence[Any], failures: int, most: float) -> bool:
    """Results of a batch before which `failures` batches in a row had failed."""
    return failures_after(results, failures) >= most


def failures_after(results: Sequence[Any], failures: int) -> int:
    if not results:
        return failures
    return failures + 1 if all(result.error for result in results) else 0


@difference(
    TURNS,
    Example(
        "saved(call('t') + call('t') + execute, raises(ToolError('no')), max_failures=2)",
        theirs=[("call", '{"name": "t", "args": {}}'), ("call", '{"name": "t", "args": {}}')],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}, '
                '{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}]',
            ),
        ],
    ),
    theirs="The circuit breaker counts calls that fail, one behind the other.",
    ours="It counts batches in which no call succeeds. Under `install()` it counts calls.",
    why="The model has not read what one call of a batch did wrong when it writes the next.",
)
def failures_of_one_batch(results: Sequence[Any]) -> bool:
    theirs = 0
    for result in results:
        theirs = theirs + 1 if result.error else 0
    return theirs != failures_after(results, 0)


@difference(
    TURNS,
    Example(
        "saved_in_turns(call('t') + execute + end, call('t') + execute, tool=raises(ToolError('no')), max_failures=2)",
        theirs=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}]',
            ),
            ("call", '{"name": "t", "args": {}}'),
        ],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}]',
            ),
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Tool execution failed: no"}]',
            ),
        ],
    ),
    theirs="The circuit breaker counts on from turn to turn until a call succeeds, and once it is open it stays so.",
    ours="It closes when the model has answered or ended its turn, and when it has ended the turn itself.",
    why="What failed over one question says nothing of the next.",
)
def breaker_that_closes(outcome: str, failures: int) -> bool:
    """For a turn that came out so, and the failures behind it."""
    return failures > 0 and outcome in ("answered", "ended", "failed")


@difference(
    TURNS,
    Example(
        "saved(call('t') + call('t') + end, returns(ToolResult('done')))",
        theirs=[("call", '{"name": "t", "args": {}}'), ("call", '{"name": "t", "args": {}}')],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("call", '{"name": "t", "args": {}}'),
            (
                "result",
                '[{"tool": "t", "status": "failure", "content": "Cancelled"}, '
                '{"tool": "t", "status": "failure", "content": "Cancelled"}]',
            ),
        ],
    ),
    theirs="Calls that no `execute` follows stay in the log without a result, and run with the next turn's.",
    ours="Each has the result `Cancelled` in the log, which is not emitted, and is never run. Where that cannot be "
    "saved, the fault is logged.",
    why="Every call in the log has its result.",
)
def calls_without_execute(rows: Sequence[tuple[Any, ...]]) -> bool:
    return open_calls(rows) != []


def open_calls(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The names of the calls at the end of a turn's rows that have no result."""
    names: list[Any] = []
    for row in rows:
        kind, content = row[2:4]
        if kind == "call":
            names.append(json.loads(content)["name"])
        elif kind == "result":
            names = []
    return names


def promised_turn(
    turn: Turn, given: Promised, failures: int, most: float
) -> tuple[Turn, set[str], int]:
    """What we promise where cogency, with a breaker that never opens, makes `turn` of `given`.

    Returns:
        The turn, the differences that it takes, and the failures behind it.
    """
    names: set[str] = set()
    outcome = given.outcome
    turn = _with_errors(turn, given.errors)
    arrays: list[str] = []
    opens = False
    for calls, results in turn.batches:
        arrays.append(promised_array([call.name for call in calls], results))
        names |= {each.name for each in ARRAYS if each(results)}
        if failures_of_one_batch(results):
            names.add(failures_of_one_batch.name)
        opens = batch_that_opens_the_breaker(results, failures, most)
        failures = failures_after(results, failures)
        if opens:
            names.add(batch_that_opens_the_breaker.name)
            outcome = "failed"
            break
    if breaker_that_closes(outcome, failures):
        names.add(breaker_that_closes.name)
        failures = 0
    events = _with_arrays(turn.events, arrays, lambda shape: dict(shape)["type"])
    rows = _with_arrays(turn.rows, arrays, lambda row: row[2])
    if opens:
        events, rows = _to_the_last_result(events, rows, len(arrays))
        events += [_STOPPED, event("end")]
    cancelled = [ToolResult("Cancelled", error=True)] * len(open_calls(rows))
    if calls_without_execute(rows):
        names.add(calls_without_execute.name)
        array = promised_array(open_calls(rows), cancelled)
        rows = [*rows, (*rows[0][:2], "result", array, rows[0][4])]
    return Turn(events, rows, None if opens else turn.raised), names, failures


_STOPPED = tuple(
    {
        "type": "result",
        "payload": (("outcome", "Max failures. Terminating."), ("content", ""), ("error", True)),
        "content": json.dumps(
            [
                {
                    "tool": "circuit_breaker",
                    "status": "failure",
                    "content": "Max failures. Terminating.",
                }
            ]
        ),
        "timestamp": TIME,
    }.items()
)


def _with_errors(turn: Turn, errors: Mapping[str, Unread]) -> Turn:
    """A turn with the events and rows of errors in place of what stands for them."""
    events = [
        errors[content_of(shape)].shape if content_of(shape) in errors else shape
        for shape in turn.events
    ]
    rows: list[Any] = []
    taken = 0  # rows to come that are part of an error
    for row in turn.rows:
        if row[3] in errors:
            unread = errors[row[3]]
            rows.append((*row[:2], "error", unread.row, row[4]))
            taken = sum(bool(content.strip()) for _, content in unread.behind)
        elif taken:
            taken -= 1
        else:
            rows.append(row)
    return replace(turn, events=events, rows=rows)


def _with_arrays(items: Sequence[Any], arrays: Sequence[str], kind_of: Callable[[Any], str]) -> Any:
    """Events or rows, with our arrays in place of cogency's."""
    left = list(arrays)

    def ours(item: Any) -> Any:
        if kind_of(item) != "result" or not left:
            return item
        array = left.pop(0)
        if isinstance(item[0], str):
            return (*item[:3], array, *item[4:])
        return with_content(item, array)

    return [ours(item) for item in items]


def _to_the_last_result(
    events: list[Shape], rows: list[Any], results: int
) -> tuple[list[Shape], list[Any]]:
    """Events and rows up to the result with this number, counted from 1."""
    at_events = [at for at, shape in enumerate(events) if dict(shape)["type"] == "result"]
    at_rows = [at for at, row in enumerate(rows) if row[2] == "result"]
    return events[: at_events[results - 1] + 1], rows[: at_rows[results - 1] + 1]


def promised_turns(scenario: Scenario) -> tuple[list[Turn], set[str]]:
    """What we promise for a scenario, and the differences that it takes."""
    names: set[str] = set()
    turns = [promised_events(given, scenario.stream) for given in scenario.turns]
    for number, each in enumerate(turns, 1):
        names |= each.names
        if number < len(turns) and state_between_turns(each.left):
            names.add(state_between_turns.name)
    calls = [call for each in turns for call in _calls(each.events)]
    scripts, found = promised_scripts(scenario.scripts, {call.name for call in calls})
    names |= found
    if any(_refusal(call.args) for call in calls):
        scripts = {**scripts, **_refusing_huge_integers(scripts, scenario.scripts)}
    events = tuple(each.events for each in turns)
    promised = replace(scenario, turns=events, scripts=scripts, max_failures=inf)
    failures = 0
    done: list[Turn] = []
    for turn, given in zip(their_turns(promised, apart=True), turns, strict=True):
        ours, found, failures = promised_turn(turn, given, failures, scenario.max_failures)
        names |= found
        done.append(ours)
    return done, names


def _calls(events: Sequence[Any]) -> list[Any]:
    calls = [each for each in events if isinstance(each, dict) and each.get("type") == "call"]
    reads = [outcome(parse_call, each.get("content") or "") for each in calls]
    return [read for read in reads if not isinstance(read, Raised)]


def _refusing_huge_integers(
    scripts: Mapping[str, Script], registered: Iterable[str]
) -> dict[str, Script]:
    """Tools that refuse calls with an integer beyond Python; those that are not registered do not come to it."""
    return {name: replace(scripts[name], how="async", refuse=_refusal) for name in registered}


def _refusal(args: Mapping[str, Any]) -> ToolResult | None:
    huge = next((number for number in _integers(args) if abs(number) >= 10**4300), None)
    if huge is None:
        return None
    with generous():
        digits = len(str(abs(huge)))
    return ToolResult(
        "Tool execution failed: its arguments cannot be read: Exceeds the limit (4300 digits) for integer string "
        f"conversion: value has {digits} digits; use sys.set_int_max_str_digits() to increase the limit",
        error=True,
    )


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _integers(item)


@difference(
    TURNS,
    Example(
        "saved(call('t') + call('t') + execute, returns(ToolResult('done')), failing_save=1)",
        theirs=[("call", '{"name": "t", "args": {}}'), ("OSError",)],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "failure", "content": "Cancelled"}]'),
            ("OSError",),
        ],
    ),
    Example(
        "emitted(call('t') + call('t') + execute, returns(ToolResult('done')), failing_save=1)",
        theirs=[("call", '{"name": "t", "args": {}}'), ("OSError",)],
        ours=[("OSError",)],
    ),
    theirs="Each call of a batch is emitted as soon as it is saved. When the storage refuses one, those before it stay "
    "in the log without a result.",
    ours="The calls of a batch are saved together and then emitted. When the storage refuses one, those before it have "
    "the result `Cancelled` in the log.",
    why="A batch is saved in one go, and every call in the log has its result.",
)
def storage_that_fails_at_a_call(kinds: Sequence[str], failing_save: int) -> bool:
    """`kinds`: the types of the rows of a turn, in the order in which they are saved."""
    return failing_save < len(kinds) and kinds[failing_save] == "call"


@difference(
    TURNS,
    Example(
        "saved_when_cancelled(call('t') + execute)",
        theirs=[("call", '{"name": "t", "args": {}}'), ("CancelledError",)],
        ours=[
            ("call", '{"name": "t", "args": {}}'),
            ("result", '[{"tool": "t", "status": "failure", "content": "Cancelled"}]'),
            ("CancelledError",),
        ],
    ),
    theirs="When a turn is cancelled while its tools run, their calls stay in the log without a result.",
    ours="The tools are cancelled and awaited; finished ones keep their result, the others read `Cancelled`; the "
    "results are saved; then the cancellation goes on.",
    why="Every call in the log has its result.",
)
def turn_that_is_cancelled(running: int) -> bool:
    """While `running` tools run."""
    return running > 0


@difference(
    TURNS,
    Example(
        "public_state(Accumulator)",
        theirs=[
            "call_timestamps",
            "circuit_breaker",
            "content",
            "conversation_id",
            "current_type",
            "pending_calls",
            "start_time",
            "storage",
            "stream",
            "user_id",
        ],
        ours=[
            "circuit_breaker",
            "conversation_id",
            "executions",
            "finish_reason",
            "outcome",
            "state",
            "stop",
            "storage",
            "stream",
            "user_id",
            "waiting",
        ],
    ),
    theirs="An accumulator shows the state of the turn it is in as attributes.",
    ours="That state belongs to the turn, in the core, and is not shown. `outcome`, `finish_reason`, `stop`, "
    "`executions` and `waiting` say how the last turn came out, and `state` is what hooks note.",
    why="Nothing of the state can be changed from outside without harm.",
)
def state_of_the_turn(attribute: str) -> bool:
    return attribute in {
        "call_timestamps",
        "content",
        "current_type",
        "executions",
        "finish_reason",
        "outcome",
        "pending_calls",
        "start_time",
        "state",
        "stop",
        "waiting",
    }


# The next prompt.


@difference(
    PROMPT,
    Example(
        """messages(call_row('{"name": "t", "args": {"x": ' + "7" * 5000 + "}}") + result_row("[]"))""",
        theirs=("ValueError",),
        ours=[
            ("assistant", '<execute>\n[\n  {\n    "name": "t",\n    "args": {\n      "x": 77…'),
            ("user", "<results>\n[]\n</results>"),
        ],
    ),
    theirs="A call in the log with an integer of more than 4300 digits raises Python's `ValueError`, at every prompt.",
    ours="It is shown to the model as it stands.",
    why="A log that was written can be read.",
)
def integer_in_the_log(row: Any) -> bool:
    return _is_stored_call(row) and _raised_by_reading(row) == "ValueError"


@difference(
    PROMPT,
    Example(
        """messages(call_row('{"name": "t", "args": {"x": ' + "[" * 1200 + "]" * 1200 + "}}") + result_row("[]"))""",
        theirs=("RecursionError",),
        ours=[
            ("assistant", '<execute>\n[\n  {\n    "name": "t",\n    "args": {\n      "x": [\n…'),
            ("user", "<results>\n[]\n</results>"),
        ],
    ),
    theirs="A call in the log whose brackets are nested too deep for Python's recursion limit raises `RecursionError`, "
    "at every prompt.",
    ours="It is shown to the model like any other.",
    why="A log that was written can be read.",
)
def nesting_in_the_log(row: Any) -> bool:
    return _is_stored_call(row) and Piece("execute", row["content"]).depth > 900


def _is_stored_call(row: Any) -> bool:
    """Whether a row is a call that is JSON."""
    if not isinstance(row, Mapping) or row.get("type") != "call":
        return False
    with generous():
        return not isinstance(outcome(json.loads, row.get("content")), Raised)


def _raised_by_reading(row: Mapping[str, Any]) -> str | None:
    read = outcome(json.loads, row["content"])
    return read.kind if isinstance(read, Raised) else None


ROWS = (integer_in_the_log, nesting_in_the_log)


@difference(
    PROMPT,
    Example(
        'history(user_row(\'a\') + call_row(\'{"name": "t", "args": {}}\'))',
        theirs=[("user", "a")],
        ours=[
            ("user", "a"),
            (
                "assistant",
                '<execute>\n[\n  {\n    "name": "t",\n    "args": {}\n  }\n]\n</execute>',
            ),
            (
                "user",
                '<results>\n[{"tool": "t", "status": "failure", "content": "Interrupted before completion"}]\n'
                "</results>",
            ),
        ],
    ),
    theirs="Calls that have no result in the log are left out.",
    ours="`assemble` shows them, each with the failure `Interrupted before completion`; where a later batch has "
    "results, in front of these. Under `install()` it does so too. `to_messages` leaves them out.",
    why="They may have been carried out in part, before whoever ran them died; the model must know.",
)
def calls_without_results(rows: Sequence[Any]) -> bool:
    return promised_log(rows) != list(rows)


def interrupted(names: Sequence[str]) -> str:
    """The results of calls that nobody finished."""
    failures = [ToolResult("Interrupted before completion", error=True)] * len(names)
    return promised_array(names, failures)


def promised_log(rows: Sequence[Any]) -> list[Any]:
    """The log with the results that `assemble` puts in the place of missing ones."""
    promised: list[Any] = []
    names: list[str] = []
    for row in [*rows, None]:
        kind = row["type"] if isinstance(row, dict) else None
        if kind == "user" or row is None:
            array = interrupted(names)
            promised += [{"type": "result", "content": array}] if names else []
        if kind == "result":
            results = outcome(json.loads, row.get("content"))
            if isinstance(results, list) and len(results) < len(names):
                failures = interrupted(names[: len(names) - len(results)])
                items = row["content"].split("[", 1)[1]
                row = {**row, "content": f"{failures[:-1]}, {items}" if results else failures}
        names = [] if kind in {"user", "result"} else names
        if kind == "call":
            read = outcome(json.loads, row["content"])
            if isinstance(read, dict) and not isinstance(
                outcome(parse_call, row["content"]), Raised
            ):
                names.append(read["name"])
        promised.append(row)
    return promised[:-1]


_ITS_OWN = "Our own `assemble` "
_ELSEWHERE = " Under `install()` it does what cogency's does."


@difference(
    PROMPT,
    Example(
        "history(user_row('a') + result_row('[1]'))",
        theirs=[("user", "a"), ("user", "<results>\n[1]\n</results>")],
        ours=[("user", "a")],
    ),
    theirs="Results in the log that no call precedes are shown.",
    ours=f"{_ITS_OWN}leaves them out.{_ELSEWHERE}",
    why="A model that is shown results of calls that it never made takes them for the user's words.",
)
def results_without_calls(rows: Sequence[Any]) -> bool:
    return log_without_strays(rows) != list(rows)


def log_without_strays(rows: Sequence[Any]) -> list[Any]:
    """The log without the results that no call precedes."""
    kept: list[Any] = []
    calls = False
    for row in rows:
        if row["type"] != "result" or calls:
            kept.append(row)
        calls = row["type"] not in {"user", "result"} and (calls or _is_shown_call(row))
    return kept


def _is_shown_call(row: Any) -> bool:
    if not _is_stored_call(row):
        return False
    return not isinstance(outcome(parse_call, row["content"]), Raised)


@difference(
    PROMPT,
    Example(
        "history(user_row('a') + respond('b') + error_row('malformed', 'Write it again.', '<execute>[</execute>'))",
        theirs=[("user", "a"), ("assistant", "b")],
        ours=[
            ("user", "a"),
            ("assistant", "b\n<execute>[</execute>"),
            ("user", "Write it again."),
        ],
    ),
    theirs="Rows of type `error` are not shown.",
    ours="Our own `assemble` shows the report of a malformed, truncated or unfinished block as a user message, after "
    f"the text that it is about, until a call, results or a question follows.{_ELSEWHERE}",
    why="A model that sees what it wrote and what was wrong with it writes it better.",
)
def report_of_a_block(rows: Sequence[Any]) -> bool:
    return any(map(_report, rows[_first_open(rows) :]))


def _first_open(rows: Sequence[Any]) -> int:
    """Where what follows the last question, call or stray results begins."""
    first, calls = 0, False
    for index, row in enumerate(rows, 1):
        is_call = _is_shown_call(row)
        if row["type"] == "user" or is_call or (row["type"] == "result" and not calls):
            first = index
        calls = is_call or (calls and row["type"] not in {"user", "result"})
    return first


def log_with_reports(rows: Sequence[Any]) -> list[Any]:
    """The log with open reports as what the model and the user said. Calls before them have their results."""
    told, behind = list(rows[: (first := _first_open(rows))]), list(rows[first:])
    answered = [index for index, row in enumerate(behind, 1) if row["type"] == "result"]
    for (
        end
    ) in answered:  # of the calls before: reports of the same answer stand behind their results
        reports = [row for row in behind[:end] if _report(row)]
        behind = [row for row in behind[:end] if not _report(row)] + reports + behind[end:]
    for row in behind:
        report = _report(row)
        if report is None:
            told.append(row)
            continue
        told = promised_log(told)
        told += [{"type": "respond", "content": report["raw"]}] if report["raw"] else []
        told.append({"type": "user", "content": report["content"]})
    return told


def _report(row: Any) -> dict[str, str] | None:
    read = outcome(json.loads, row["content"]) if row["type"] == "error" else None
    match read:
        case {
            "kind": "malformed" | "truncated" | "unfinished",
            "content": str(content),
            "raw": str(raw),
        }:
            return {"content": content, "raw": raw}
    return None


@difference(
    PROMPT,
    Example(
        "end_of_history(call_row('{\"name\": \"t\"}') + result_row(dumps([{'content': 'x' * 100_007}])))",
        theirs='xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}]\n</results>',
        ours='[… 7 of 100,007 characters are not shown]"}]\n</results>',
    ),
    theirs="Whatever a tool returned is shown in full.",
    ours="Our own `assemble` shows so many characters of each result as `History(max_result_chars=)` or the tool's own "
    f"`max_result_chars` says, 100,000 if neither is given, and then how many more there are.{_ELSEWHERE}",
    why="One result must not be larger than the model's context.",
)
def results_beyond_the_bound(row: Any, most: int | None) -> bool:
    return most is not None and row["type"] == "result" and len(row["content"]) > most


@difference(
    PROMPT,
    Example(
        "history(user_row('a') + user_row('b'))",
        theirs=[("user", "a"), ("user", "b")],
        ours=[("user", "a\n\nb")],
    ),
    theirs="Messages of one role may follow each other.",
    ours="Our own `assemble` makes one message of them, with a blank line between them; not with "
    f"`History(merge_roles=False)`.{_ELSEWHERE}",
    why="Strict chat templates refuse two messages of one role in a row, which a cancelled turn leaves.",
)
def neighbours_of_one_role(messages: Sequence[Mapping[str, Any]]) -> bool:
    return any(one["role"] == next_one["role"] for one, next_one in pairwise(messages))


def turns(rows: Sequence[Any]) -> list[int]:
    """At which of our messages, as they are before they are merged, each turn begins."""
    ends = [index for index, row in enumerate(rows, 1) if row["type"] == "user"]
    return [len(messages_of(rows[:end])) - 1 for end in ends]


def messages_of(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """What cogency makes of the log that makes it do what we promise."""
    promised = promised_log(log_without_strays(log_with_reports(rows)))
    messages: list[dict[str, Any]] = cogency("context.conversation").to_messages(promised)
    return messages


@difference(
    PROMPT,
    Example(
        "history(user_row('a') + respond('b') + user_row('c') + respond('d'), window=3)",
        theirs=[("assistant", "b"), ("user", "c"), ("assistant", "d")],
        ours=[("user", "c"), ("assistant", "d")],
    ),
    Example(
        "history(user_row('a') + call_row('{\"name\": \"t\"}') + result_row('[1]'), window=1)",
        theirs=[("user", "<results>\n[1]\n</results>")],
        ours=[
            ("user", "a"),
            (
                "assistant",
                '<execute>\n[\n  {\n    "name": "t",\n    "args": {}\n  }\n]\n</execute>',
            ),
            ("user", "<results>\n[1]\n</results>"),
        ],
    ),
    theirs="`history_window` cuts anywhere: between a call and its results, or before the answer to a question.",
    ours="Our own `assemble` cuts before a question, so that whole turns are left that fit, and never leaves out the "
    f"last question and what follows it. A window below 1 is a `ConfigError`.{_ELSEWHERE}",
    why="Results without their calls mislead the model, and without its question there is nothing to answer.",
)
def window_in_a_turn(starts: Collection[int], messages: int, window: int | None) -> bool:
    return window is not None and messages > window and messages - window not in starts


@difference(
    PROMPT,
    Example(
        "prompt_of_swapped_ids()",
        theirs=["system"],
        ours=(
            "ConfigError",
            "user_id 'talk' and conversation_id 'ada' are swapped: the log has nothing for them, but it has a "
            "conversation 'talk'. Write assemble(user_id, conversation_id, ...)",
        ),
    ),
    theirs="`assemble` with `user_id` and `conversation_id` swapped gives the prompt of an empty conversation.",
    ours="Where the log has nothing for the ids, and has for the swapped ones, our own `assemble` raises "
    f"`ConfigError`.{_ELSEWHERE}",
    why="The storage takes the two in the other order, and a model without its conversation fails silently.",
)
def swapped_ids(stored: Collection[tuple[str, str]], user_id: str, conversation_id: str) -> bool:
    """`stored` has the ids, user first, under which there are rows."""
    return (user_id, conversation_id) not in stored and (conversation_id, user_id) in stored


@difference(
    PROMPT,
    Example(
        "system_prompt_is_cogencys()",
        theirs=True,
        ours=False,
    ),
    theirs="The system prompt is cogency's.",
    ours="`assemble` and `system_prompt` teach the same protocol in their own words. Under `install()` cogency's own "
    "prompt stays in use.",
    why="It is another program's text.",
)
def words_of_the_system_prompt(message: Mapping[str, Any]) -> bool:
    return message["role"] == "system"


@difference(
    PROMPT,
    Example(
        "listed({'type': 'object', 'properties': {'x': {}, 'y': {}}, 'required': ['x']})",
        theirs=("AttributeError", "'str' object has no attribute 'get'"),
        ours="TOOLS:\nt(x, y?) - does something",
    ),
    theirs="A tool whose schema is JSON Schema cannot be listed in a prompt.",
    ours="It is listed like any other.",
    why="JSON Schema is what most tools are described in.",
)
def tool_with_a_json_schema(tool: Any) -> bool:
    match getattr(tool, "schema", None):
        case {"type": "object", "properties": Mapping()}:
            return True
    return False


@difference(
    PROMPT,
    Example(
        "prompt(user_row('a') * 10_001)",
        theirs=(
            "StorageError",
            "Conversation exceeds 10000 events. Enable history_window to limit context size.",
        ),
        ours=(
            "StorageError",
            "Conversation conversation exceeds 10000 events. Enable history_window to limit what is loaded.",
        ),
    ),
    Example(
        "prompt(user_row('a'), profile=OSError('disk'))",
        theirs=(
            "RuntimeError",
            "Profile format failed for user: Profile fetch failed for user: disk",
        ),
        ours=("RuntimeError", "The profile of user could not be loaded: disk"),
    ),
    theirs="`assemble` raises `StorageError` for a conversation that is too long and `RuntimeError` for a profile that "
    "cannot be loaded.",
    ours="The same, in other words.",
    why="The messages name the conversation, and the cause once.",
)
def words_of_a_failed_assembly(events: Any, window: int | None, profile: Any) -> bool:
    too_long = window is None and isinstance(events, list) and len(events) > 10_000
    return too_long or isinstance(profile, Exception)


# Calls and results as text.


@difference(
    TEXTS,
    Example(
        """raised(lambda: parse_tool_result('{"outcome": 1}'))""",
        theirs=("ParseError", "Field 'outcome' must be str, got int"),
        ours=("ValueError", "Field 'outcome' must be str, got int"),
    ),
    theirs="`parse_tool_result` raises `cogency.core.protocols.ParseError`, which is a `ValueError`, for an outcome or "
    "content of the wrong type.",
    ours="It raises `ValueError` with the same message.",
    why="There is no other use for a class of its own.",
)
def result_with_a_wrong_field(content: Any) -> bool:
    read = outcome(json.loads, content)
    results = read if isinstance(read, list) else [read]
    return any(
        isinstance(result.get(key), int | float | list | dict)
        for result in results
        if isinstance(result, dict)
        for key in ("outcome", "content")
    )
