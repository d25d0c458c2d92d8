"""The parser: tags and execute blocks, and the limits of a block."""

from __future__ import annotations

import re

from cogency_rs.protocol import Limits

from ..pieces import STRING, Piece
from .registry import PARSER, Example, difference

_CONTROL = re.compile(r"[\x00-\x1f]")
_TAG = re.compile("<(think|execute|results|end)>")
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
    theirs="An unescaped line break, tab or other control character in a JSON string makes the block malformed.",
    ours="It is read as that character, as `json.loads(strict=False)` does.",
    why="Models write file contents with raw line breaks, and their meaning is clear.",
)
def control_character_in_a_string(piece: Piece, limits: Limits) -> bool:
    return piece.calls(limits) is not None and any(map(_CONTROL.search, STRING.findall(piece.body)))


@control_character_in_a_string.promises
def _(piece: Piece) -> Piece:
    def escaped(string: re.Match[str]) -> str:
        return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", string[0])

    return piece.with_body(STRING.sub(escaped, piece.body))


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
    theirs="`<results>` is a tag everywhere.",
    ours="It is a tag only if a JSON array or `</results>` follows, with nothing but whitespace between, "
    "within the next `Limits.max_block_bytes` (10 MiB). Otherwise it is text.",
    why="Results are an array; a model that writes about the tag must not lose its words.",
)
def results_without_an_array(piece: Piece, _: Limits) -> bool:
    return "<results>" in piece.body and _is_read_by_cogency(piece)


def _is_read_by_cogency(text: Piece) -> bool:
    """Whether cogency takes a tag in our text for a tag: the first one, if its closing tag or another piece follows."""
    tag = _TAG.search(text.body)
    if text.kind != "text" or not tag:
        return False
    return text.closed or tag[1] == "end" or f"</{tag[1]}>" in text.body[tag.end() :]


NO_TAG = "<\U000f0000"
"""Stands for the `<` of a tag that is text, since cogency reads it as a tag; `promised_parse` puts it back."""


@results_without_an_array.promises
def _(piece: Piece) -> Piece:
    return without_tags(piece)


def without_tags(piece: Piece) -> Piece:
    body = re.sub(r"<(?=/?(?:think|execute|results|end)>)", NO_TAG, piece.body)
    return piece.with_body(body, closed=piece.closed)


@difference(
    PARSER,
    Example(
        "events('The tag `<end>` says so.')",
        theirs=[("respond", "The tag `"), ("end",), ("respond", "` says so.")],
        ours=[("respond", "The tag `<end>` says so.")],
    ),
    Example(
        r"""events('<think>Not "</think>" yet.</think>So.')""",
        theirs=[("think", 'Not "'), ("respond", '" yet.</think>So.')],
        ours=[("think", 'Not "</think>" yet.'), ("respond", "So.")],
    ),
    Example(
        r"""events('```\n<think>a</think>\n```')""",
        theirs=[("respond", "```\n"), ("think", "a"), ("respond", "\n```")],
        ours=[("respond", "```\n<think>a</think>\n```")],
    ),
    theirs="A tag counts everywhere.",
    ours="A tag between two equal quotes, or in a Markdown fence, is text; `<execute>` only if no array follows.",
    why="A model that writes about the tags must not lose its words, and must not end its answer.",
)
def quoted_tag(piece: Piece, _: Limits) -> bool:
    if piece.kind in {"think", "results"}:
        return f"</{piece.kind}>" in piece.body
    has_tag = re.search("<(think|execute|end)>", piece.body) is not None
    return has_tag and _is_read_by_cogency(piece)


@quoted_tag.promises
def _(piece: Piece) -> Piece:
    return without_tags(piece)


@difference(
    PARSER,
    Example("events('<results>[1')", [("respond", "<results>[1")], [("result", "[1")]),
    theirs="A `<results>` that is still open when the text ends is shown to the user, tag and all.",
    ours="If at least the `[` of its array is there, it becomes a `result` event, which the accumulator drops like any "
    "result the model wrote.",
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
    ours="It runs if its array is complete, even if a part of the tag is there, but not if the source has raised.",
    why="Servers remove the stop strings from the text that they send.",
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
        "column 5. No call in it was run. Write the whole block again, as one JSON array: "
        '[{"name": "...", "args": {...}}].',
    ),
    Example(
        "calls('no block')",
        theirs=("ProtocolError", "No <execute> block found"),
        ours=("ProtocolError", "No <execute> block found in the text"),
    ),
    theirs="A malformed block is reported in the words of Python's `json`.",
    ours="The report begins with the same sentence and then says more: what is wrong, at which line "
    "and column, and what to write instead. After the hundredth malformed block of an answer, one report says how many "
    "more there are. `ProtocolError` has the same words and the same `original_input`.",
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
    "`</execute>`.",
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
    why="What is held in memory must be bounded, whatever the model writes.",
)
def text_beyond_the_limit(piece: Piece, limits: Limits) -> bool:
    return piece.kind in {"text", "think", "results"} and piece.size > limits.max_block_bytes
