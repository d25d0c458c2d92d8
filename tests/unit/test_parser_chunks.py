"""Chunking never matters: any cutting of a text gives the events of the whole text.

Texts are made of what a parser can stumble over: tags and their beginnings, JSON with tags and
escapes in its strings, blocks that are valid, damaged or cut off. What the whole text gives is held
against `expected`, the specification read literally, with `json` for the JSON.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from outlines import Outline, read, runs

from cogency_rs import Limits

if TYPE_CHECKING:
    pass


PREFIX = "Error: Malformed tool call syntax."
MALFORMED: Outline = ("respond", PREFIX)
SMALL = Limits(max_block_bytes=40, max_depth=4, max_calls=2)

relaxed = settings(deadline=None, max_examples=150)


# The specification, read literally.

OPENING = re.compile("<(think|execute|results|end)>")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def expected(text: str) -> list[Outline]:
    events: list[Outline] = []
    at = 0
    while tag := OPENING.search(text, at):
        if text[at : tag.start()].strip():
            events.append(("respond", text[at : tag.start()]))
        at = tag.end()
        if tag[1] == "end":
            events.append(("end", None))
        elif tag[1] == "execute":
            block, at = expected_block(text, at)
            events += block
            if ("execute", None) in block:
                return events
        else:
            content, _, _ = text[at:].partition(f"</{tag[1]}>")
            if content.strip():
                events.append((tag[1].removesuffix("s"), content))
            at += len(content) + len(f"</{tag[1]}>")
    if text[at:]:
        events.append(("respond", text[at:]))
    return events


def expected_block(text: str, start: int) -> tuple[list[Outline], int]:
    """The events of the block whose body begins at `start`, and where the text goes on.

    A body that `json` reads ends outside its strings, and no shorter one can be read: so the block
    ends at the first closing tag that makes it readable.
    """
    closings = [
        (tag.start(), tag.end()) for tag in re.finditer("</execute>", text) if tag.start() >= start
    ]
    for close, behind in closings:
        try:
            value = json.loads(text[start:close].strip(), strict=False)
        except json.JSONDecodeError:
            continue
        calls = expected_calls(value)
        return ([MALFORMED], behind) if calls is None else ([*calls, ("execute", None)], behind)
    if not closings:
        return [MALFORMED], len(text)
    outside = STRING.sub("", text[start:])
    # All closing tags stand in complete strings: broken and cut off cannot be told apart so easily.
    assume('"' in outside or "</execute>" in outside)
    return [MALFORMED], closings[0][1]


def expected_calls(value: Any) -> list[Outline] | None:
    """The calls in a block's value, or `None` where one of them is none."""
    if not isinstance(value, list):
        return None
    calls: list[Outline] = []
    for item in value:
        match item:
            case {"name": str(name), "args": dict(args)}:
                calls.append(("call", json.dumps({"name": name, "args": args})))
            case _:
                return None
    return calls


# Texts.

TAGS = ["<think>", "</think>", "<execute>", "</execute>", "<results>", "</results>", "<end>"]
JSON_PIECES = [
    '"',
    "\\",
    '\\"',
    "\\\\",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "1e5",
    "-",
    "NaN",
]
TEXT_PIECES = [
    "a",
    "oops",
    " ",
    "\n",
    "\r\n",
    "\x1c",
    "é",
    "日",
    "\u2028",
    "😀",
    "\ud83d",
    "\ude00",
    "\0",
    "<",
    ">",
    "/",
]

tags = st.sampled_from(TAGS)
partial_tags = st.builds(lambda tag, size: tag[: size % len(tag)], tags, st.integers(1, 20))
pieces = st.one_of(tags, partial_tags, st.sampled_from(JSON_PIECES), st.sampled_from(TEXT_PIECES))
strings = st.lists(pieces, max_size=4).map("".join)
values = st.recursive(
    st.one_of(strings, st.integers(), st.floats(), st.none(), st.booleans()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=4,
)
calls = st.lists(
    st.fixed_dictionaries({"name": strings, "args": st.dictionaries(strings, values, max_size=3)}),
    max_size=3,
)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """A block's JSON in one of the ways a model may write it."""
    body = json.dumps(
        draw(calls | values),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
        separators=draw(st.sampled_from([None, (",", ":")])),
    )
    if draw(st.booleans()):
        body = body.replace("\\n", "\n").replace("\\u0000", "\0")
    padding = st.sampled_from(["", "\n", " ", "\u3000"])
    return draw(padding) + body + draw(padding)


@st.composite
def damaged_bodies(draw: st.DrawFn) -> str:
    """A body with something put in, or taken out, at one place."""
    body = draw(bodies())
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(len(body), start + 3)))
    return body[:start] + draw(st.just("") | pieces) + body[end:]


@st.composite
def cut_off(draw: st.DrawFn) -> str:
    body = draw(bodies())
    return "<execute>" + body[: draw(st.integers(0, len(body)))]


def in_tags(name: str, content: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return content.map(lambda text: f"<{name}>{text}</{name}>")


texts = st.lists(
    st.one_of(
        pieces,
        strings,
        in_tags("think", strings),
        in_tags("results", strings),
        in_tags("execute", bodies()),
        in_tags("execute", damaged_bodies()),
        cut_off(),
    ),
    max_size=6,
).map("".join)


@st.composite
def cut_texts(draw: st.DrawFn) -> list[str]:
    """A text in chunks, cut anywhere, some of them empty."""
    text = draw(texts)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


# The whole text.


@relaxed
@given(texts)
def test_a_text_gives_the_events_of_the_specification(text):
    found = read([text])
    assert [
        MALFORMED if (content or "").startswith(PREFIX) else (kind, content)
        for kind, content in found
    ] == expected(text)


@relaxed
@given(st.one_of(bodies(), damaged_bodies()))
def test_a_block_gives_the_events_of_the_specification(body):
    text = f"<execute>{body}</execute>ok"
    found = read([text])
    assert [
        MALFORMED if (content or "").startswith(PREFIX) else (kind, content)
        for kind, content in found
    ] == expected(text)


# The same text in chunks.


@relaxed
@given(texts)
@example('<execute>[{"name": "t", "args": {"a": "\\\\"</execute>"}}]</execute>')
@example('<execute>["</execute>", 1</execute>')
@example("<think>a</thin<think></think> <en<end> ")
@example("<execute>1 0</execute>")
def test_one_character_at_a_time_gives_the_same_events(text):
    assert read(text) == read([text])


@relaxed
@given(texts)
def test_two_chunks_give_the_same_events_wherever_the_cut_is(text):
    text = text[:200]
    whole = read([text])
    assert [cut for cut in range(len(text) + 1) if read([text[:cut], text[cut:]]) != whole] == []


@relaxed
@given(cut_texts())
def test_any_chunks_give_the_same_events(chunks):
    assert read(chunks) == read(["".join(chunks)])


@relaxed
@given(cut_texts())
def test_any_chunks_give_the_same_events_under_small_limits(chunks):
    assert read(chunks, limits=SMALL) == read(["".join(chunks)], limits=SMALL)


# Token mode: the same text, in other pieces.


@relaxed
@given(texts)
def test_token_mode_gives_the_text_of_event_mode(text):
    assert runs(read([text], stream="token")) == runs(read([text]))


@relaxed
@given(texts)
def test_token_mode_gives_the_same_text_one_character_at_a_time(text):
    assert runs(read(text, stream="token")) == runs(read([text]))


@relaxed
@given(texts)
def test_token_mode_gives_the_same_text_wherever_the_cut_is(text):
    text = text[:200]
    whole = runs(read([text]))
    assert [
        cut
        for cut in range(len(text) + 1)
        if runs(read([text[:cut], text[cut:]], stream="token")) != whole
    ] == []


@relaxed
@given(cut_texts())
def test_token_mode_gives_the_same_text_for_any_chunks(chunks):
    assert runs(read(chunks, stream="token")) == runs(read(["".join(chunks)]))


@relaxed
@given(cut_texts())
def test_token_mode_gives_the_same_text_under_small_limits(chunks):
    whole = runs(read(["".join(chunks)], limits=SMALL))
    assert runs(read(chunks, stream="token", limits=SMALL)) == whole


@relaxed
@given(cut_texts())
def test_token_mode_gives_no_empty_pieces(chunks):
    assert [content for _, content in read(chunks, stream="token") if content == ""] == []


# Call content: `json` says what it is.

ESCAPES = [r"\"", r"\\", r"\/", r"\b", r"\f", r"\n", r"\r", r"\t"]

number_literals = st.from_regex(
    r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?", fullmatch=True
)
string_literals = st.lists(
    st.one_of(
        st.characters(exclude_characters='"\\'),
        st.sampled_from(ESCAPES),
        st.integers(0, 0xFFFF).map(lambda code: f"\\u{code:04x}"),
        st.integers(0xD800, 0xDFFF).map(lambda code: f"\\u{code:04X}"),
        tags,
    )
).map(lambda parts: '"' + "".join(parts) + '"')


def assert_reads_as_json(argument: str) -> None:
    body = f'[{{"name": "t", "args": {{"a": {argument}}}}}]'
    [call] = json.loads(body, strict=False)
    assert read([f"<execute>{body}</execute>"]) == [("call", json.dumps(call)), ("execute", None)]


@relaxed
@given(number_literals | st.floats().map(repr).filter(lambda text: "n" not in text))
def test_a_number_is_what_json_makes_of_it(literal):
    assert_reads_as_json(literal)


@relaxed
@given(string_literals)
def test_a_string_is_what_json_makes_of_it(literal):
    assert_reads_as_json(literal)


@relaxed
@given(st.lists(st.tuples(string_literals, number_literals)))
def test_an_object_is_what_json_makes_of_it(members):
    assert_reads_as_json("{" + ",".join(f"{key}:{value}" for key, value in members) + "}")


@relaxed
@given(calls, st.booleans(), st.sampled_from([None, 0, 2]))
def test_calls_are_what_json_makes_of_them(value, ensure_ascii, indent):
    body = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)
    expected = expected_calls(json.loads(body))
    assert read([f"<execute>{body}</execute>"]) == [*expected, ("execute", None)]
