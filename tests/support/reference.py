"""A reference parser, written as the specification reads: slow, over the whole text, with `json` for the JSON.

The real parser reads a text once, while it arrives. This one searches the text as often as it needs to. They must
agree, but every malformed block is `MALFORMED` here, whatever its report says.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate

from cogency_rs.protocol import Limits
from support.outlines import Outline

MALFORMED: Outline = ("malformed", None)
DEFAULT = Limits()
OPENING = re.compile("<(think|execute|results|end)>")
CLOSE = "</execute>"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
WORDS = ["null", "true", "false", "NaN", "Infinity", "-Infinity"]
READER = json.JSONDecoder(strict=False)


def parse(text: str, limits: Limits = DEFAULT) -> list[Outline]:
    """The events of a text, in event mode."""
    events: list[Outline] = []
    at = 0
    while tag := next_tag(text, at, limits):
        before = text[at : tag.start()]
        events += run("respond", before, limits) if is_shown(before, limits) else []
        at = tag.end()
        if tag[1] == "end":
            events.append(("end", None))
        elif tag[1] == "execute":
            calls, length = block(text[at:], limits)
            if calls is not None:
                return [*events, *calls, ("execute", None)]
            events.append(MALFORMED)
            at += length
        else:
            content, close, _ = text[at:].partition(f"</{tag[1]}>")
            kind = tag[1].removesuffix("s")
            events += run(kind, content, limits) if is_shown(content, limits) else []
            at += len(content + close)
    return [*events, *run("respond", text[at:], limits)]


def next_tag(text: str, at: int, limits: Limits) -> re.Match[str] | None:
    """The first tag of `text` from `at` on; `<results>` is a tag only if an array follows, or nothing."""
    return next(
        (
            tag
            for tag in OPENING.finditer(text, at)
            if tag[1] != "results" or begins_with_results(text[tag.end() :], limits)
        ),
        None,
    )


def begins_with_results(text: str, limits: Limits) -> bool:
    """Whether `text` begins with an array or with the closing tag, within the limit."""
    array = text.lstrip()
    free = limits.max_block_bytes - size(text.removesuffix(array))
    # As bytes, since the last character may be cut. That matters only outside a string, where it would be wrong anyway.
    seen = encoded(array)[: max(0, free)].decode("latin-1")
    if not seen.startswith("["):
        return seen.startswith("</results>")
    return complaint(seen) is None or goes_on(seen) or goes_on_in_string(seen)


def is_shown(content: str, limits: Limits) -> bool:
    """Whether text before a tag is an event: blank text is one only if it is too long to be held back."""
    return bool(content.strip()) or size(content) > limits.max_block_bytes


def run(kind: str, content: str, limits: Limits) -> list[Outline]:
    """Text as events, each with as many characters as the limit allows, but at least one."""
    pieces: list[str] = []
    free = 0
    for character in content:
        if size(character) > free:
            pieces.append("")
            free = limits.max_block_bytes
        pieces[-1] += character
        free -= size(character)
    return [(kind, piece) for piece in pieces]


def block(text: str, limits: Limits) -> tuple[list[Outline] | None, int]:
    """The calls of the block whose body `text` begins with, `None` if malformed, and where the block ends."""
    first, close, _ = text.partition(CLOSE)
    broken = None, len(first + close)
    try:
        value, end = READER.raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError:
        is_cut_off = goes_on(text.lstrip()) and size(text) <= limits.max_block_bytes
        return (None, len(text)) if is_cut_off else broken
    rest = text[end:].lstrip()
    body = text.removesuffix(rest)
    # The closing tag may be missing, or be cut: servers remove stop strings.
    if (rest.startswith(CLOSE) or CLOSE.startswith(rest)) and size(body) <= limits.max_block_bytes:
        return calls(value, body, limits), len(body + rest[: len(CLOSE)])
    return broken


def goes_on(text: str) -> bool:
    """Whether `text` is a beginning of JSON that ends outside a string."""
    endings = ["", "0", *(word[at:] for word in WORDS for at in range(1, len(word)))]
    return ends_with_one_of(endings, text)


def goes_on_in_string(text: str) -> bool:
    """Whether `text` is a beginning of JSON that ends inside a string."""
    escapes = ["", '"', "n", *("u0000"[at:] for at in range(5))]
    return ends_with_one_of([escape + '"' for escape in escapes], text)


def ends_with_one_of(endings: list[str], text: str) -> bool:
    """Whether a suffix exists that moves the error of `json` in `text` to the end of the text."""
    return any(complaint(text + ending) == len(text + ending) for ending in endings)


def complaint(text: str) -> int | None:
    """The place at which `json` reports that `text` is not JSON; `None` if it is."""
    try:
        READER.raw_decode(text)
    except json.JSONDecodeError as error:
        return error.pos
    return None


def calls(value: object, body: str, limits: Limits) -> list[Outline] | None:
    """The calls in a block's value; `None` if one of them is not a call."""
    steps = {"[": 1, "{": 1, "]": -1, "}": -1}
    depths = accumulate(steps.get(character, 0) for character in STRING.sub("", body))
    if max(depths, default=0) > limits.max_depth:
        return None
    if not isinstance(value, list) or len(value) > limits.max_calls:
        return None
    contents: list[str] = []
    for item in value:
        match item:
            case {"name": str(name), "args": dict(args)}:
                contents.append(json.dumps({"name": name, "args": args}))
            case _:
                return None
    # Keys that are equal when the log is read back are equal here: an emoji and its two surrogates.
    return [("call", json.dumps(json.loads(content))) for content in contents]


def size(text: str) -> int:
    """How many bytes `text` has."""
    return len(encoded(text))


def encoded(text: str) -> bytes:
    """The bytes of `text`."""
    return text.encode("utf-8", "surrogatepass")
