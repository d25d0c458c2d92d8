"""The parser: text in pieces, where it comes from, and what a text promises as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from cogency_rs.protocol import Limits

from ..oracle import (
    THEIR_REPORT,
    Parsed,
    Raised,
    Source,
    content_of,
    outcome,
    their_parse,
    with_content,
)
from ..pieces import DEFAULT, Piece, generous, pieces
from .parser_blocks import (
    NO_TAG,
    array_without_its_closing_tag,
    block_beyond_the_limit,
    calls_beyond_the_limit,
    closing_tag_in_a_string,
    control_character_in_a_string,
    nesting_beyond_the_limit,
    quoted_tag,
    results_without_an_array,
    unclosed_execute,
    unclosed_results,
    unclosed_think,
    words_of_a_malformed_block,
)
from .registry import PARSER, Example, difference


@difference(
    PARSER,
    Example(
        """events('<execute>[{"name": "w", "args": {"x": ' + "7" * 5000 + "}}]</execute>")""",
        theirs=[("ValueError",)],
        ours=[("call", '{"name": "w", "args": {"x": 777777777777…'), ("execute",)],
    ),
    theirs="An integer of more than 4300 digits ends the parser with Python's `ValueError`.",
    ours="The parser passes it on unchanged. The call then fails with a message that says so, and "
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
    theirs="The parser has no modes. Text is emitted when the next tag is complete or the stream ends, so "
    '`Agent(stream="token")` shows an answer all at once.',
    ours='With `stream="token"`, or before an accumulator in that mode, `think` and `respond` text is '
    "emitted as it arrives. Joined, the pieces are the same text.",
    why="That is what streaming is for.",
)
def text_in_pieces(stream: str) -> bool:
    return stream == "token"


def text_of(source: Source) -> tuple[str, bool]:
    """The text of a source, and whether it is whole."""
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
    theirs="When the source raises, the text after the last complete tag is lost.",
    ours="It is emitted as if the text had ended there; then the same exception is raised.",
    why="The user keeps the model's text.",
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
                "Error: The stream broke off inside an execute block (ConnectionError: reset). No call in it was run.",
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
                "Error: The stream broke off inside an execute block (ConnectionError: reset). No call in it was run.",
            ),
            ("ConnectionError",),
        ],
    ),
    theirs="When the source raises inside an execute block, the block is lost.",
    ours="A report says what was raised and that no call was run, even if the block's array is complete. A block "
    "that is malformed already is reported as that.",
    why="The model has done nothing wrong, and must learn that its calls did not happen.",
)
def stream_that_breaks_off_in_a_block(source: Source) -> bool:
    text, is_whole = text_of(source)
    return not is_whole and text != "" and pieces(text, is_cut=True)[-1].breaks_off()


def broken_off(error: Raised) -> str:
    """The report of a block in which the source raised `error`."""
    why = f"{error.kind}: {error.text}" if error.text else error.kind
    return f"Error: The stream broke off inside an execute block ({why}). No call in it was run."


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
def source_that_is_not_text(source: Any) -> bool:
    return not isinstance(source, str) and not hasattr(source, "__aiter__")


@difference(
    PARSER,
    Example("is_closed_after('<execute>[]</execute>')", theirs=False, ours=True),
    theirs="The source is left open after a complete batch, when the consumer stops, and when the source fails.",
    ours="It is closed (`aclose`) at once, as soon as nothing more of it will be read.",
    why="The model stops writing text that is not read, and its connection is free again.",
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
    theirs="`parse_execute_block` takes the first `</execute>` of the text for the block's end, even "
    "before the block.",
    ours="The end of a block comes after its beginning.",
    why="Text before a block cannot be part of it.",
)
def stray_closing_tag(text: str) -> bool:
    start = text.find("<execute>")
    return 0 <= text.find("</execute>") < start


@difference(
    PARSER,
    Example(
        r"""events(["a\ud83d", "\ude00b\ud83d"])""",
        theirs=[("respond", "a\ud83d\ude00b\ud83d")],
        ours=[("respond", "a\U0001f600b\ufffd")],
    ),
    theirs="Halves of a surrogate pair in the text stay halves, also where two chunks bring both of them. SQLite "
    "refuses such text, which ends the turn.",
    ours="The halves are joined. A half without the other becomes U+FFFD, and `replaced_characters` counts it.",
    why="A source that counts in UTF-16 may cut a character, and the rest of its answer must not be lost.",
)
def half_of_a_character(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


half_of_a_character.promises(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
)


TEXT = (
    array_without_its_closing_tag,
    results_without_an_array,
    quoted_tag,
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
    """The text that makes cogency do what we promise for `text`, and the differences that apply."""
    text, names = _in_whole_characters(text)
    promised, others = _promised_pieces(pieces(text, limits), limits)
    return promised, names | others


def _in_whole_characters(text: str) -> tuple[str, set[str]]:
    if not half_of_a_character(text):
        return text, set()
    return half_of_a_character.promised(text), {half_of_a_character.name}


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
    """The events that we promise for a source, and the differences that apply.

    `MALFORMED` stands for each report of a malformed block. The exception of a source that raises is left out.
    """
    text, is_whole = text_of(source)
    text, halves = _in_whole_characters(text)
    found = pieces(text, limits, is_cut=not is_whole)
    breaks_off = stream_that_breaks_off_in_a_block(source)
    if breaks_off:
        found[-1] = found[-1].with_body("cut off")
    rewritten, names = _promised_pieces(found, limits)
    names |= halves
    with generous() if integer_beyond_python.name in names else nullcontext():
        parsed = their_parse(rewritten).named(THEIR_REPORT)
    events = [
        with_content(shape, content.replace(NO_TAG, "<"))
        if isinstance(content := content_of(shape), str)
        else shape
        for shape in parsed.events
    ]
    if breaks_off:
        names.add(stream_that_breaks_off_in_a_block.name)
        events[-1] = with_content(events[-1], BROKEN_OFF)
    return replace(parsed, events=events), names


BROKEN_OFF = "<broken off>"
"""Stands for the report of a block in which the source raised; `broken_off` makes the report."""
