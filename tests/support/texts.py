"""Generates texts that are hard to parse.

They have tags and parts of tags, JSON with tags and escapes in its strings, and blocks that are valid, damaged or cut.
"""

from __future__ import annotations

import json

from hypothesis import strategies as st

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


def whole(text: str) -> str:
    """The text as a parser hands it out: a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
    """The JSON of a block, in one of the ways in which a model may write it."""
    body = json.dumps(
        draw(calls | values),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
        separators=draw(st.sampled_from([None, (",", ":")])),
    )
    if draw(st.booleans()):
        body = body.replace("\\n", "\n").replace("\\u0000", "\0")
    padding = st.sampled_from(["", "\n", " ", "\u3000"])
    return whole(draw(padding) + body + draw(padding))


@st.composite
def damaged_bodies(draw: st.DrawFn) -> str:
    """A body with something inserted or removed at one place."""
    body = draw(bodies())
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(len(body), start + 3)))
    return body[:start] + draw(st.just("") | pieces) + body[end:]


@st.composite
def cut_off(draw: st.DrawFn) -> str:
    """A block without its end: an array that may be complete, and perhaps a part of the closing tag."""
    name = draw(st.sampled_from(["execute", "execute", "results"]))
    body = draw(bodies())
    end = draw(st.just(len(body)) | st.integers(0, len(body)))
    return f"<{name}>{body[:end]}" + draw(st.sampled_from(["", "", "</", f"</{name}"]))


def in_tags(name: str, content: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return content.map(lambda text: f"<{name}>{text}</{name}>")


texts = st.lists(
    st.one_of(
        pieces,
        strings,
        in_tags("think", strings),
        in_tags("results", strings),
        in_tags("results", bodies() | damaged_bodies()),
        in_tags("execute", bodies()),
        in_tags("execute", damaged_bodies()),
        cut_off(),
    ),
    max_size=6,
).map(lambda parts: whole("".join(parts)))
