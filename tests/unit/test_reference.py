"""The parser agrees with the reference parser, which is written as the specification reads."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, strategies as st

from cogency_rs.protocol import Limits
from support import reference
from support.examples import examples
from support.outlines import Outline, read, runs
from support.texts import bodies, damaged_bodies, texts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

thorough = examples(200)

LIMITS = st.builds(
    Limits,
    max_block_bytes=st.integers(1, 60),
    max_depth=st.integers(1, 5),
    max_calls=st.integers(1, 3),
)
BLOCKS = (
    st.one_of(bodies(), damaged_bodies()).map("<execute>{}</execute>ok".format)
    | st.builds("<execute>{}".format, damaged_bodies())
    | st.builds("<execute>{}{}".format, bodies(), st.sampled_from(["</execute", " ", "<", "1"]))
)

# In token mode the report of a broken block would join the text after it, so reports get a type of their own.


QUOTED = re.compile(
    r"""([`"'])</?(?:think|execute|results|end)>\1|^ {0,3}(?:`{3}|~{3})""", re.MULTILINE
)
"""A quoted tag, of which 3.3.0's specification knows nothing: see `tests/quoted.rs`."""


def named(events: Iterable[Outline]) -> list[Outline]:
    """The events, with `reference.MALFORMED` for the report of a malformed block."""
    return [
        reference.MALFORMED
        if (content or "").startswith("Error: Malformed tool call syntax.")
        else (kind, content)
        for kind, content in events
    ]


def assert_agreed(text: str, limits: Limits = reference.DEFAULT) -> None:
    if QUOTED.search(text):
        return
    expected = reference.parse(text, limits)
    assert named(read([text], limits=limits)) == expected
    assert runs(named(read([text], stream="token", limits=limits))) == runs(expected)
    assert runs(named(read(text, stream="token", limits=limits))) == runs(expected)


@thorough
@given(texts)
@example('<execute>["</execute>", 1')
@example('<execute>["</execute>", tru')
@example('<execute>["</execute>", trx')
@example('<execute>["</execute>", -')
@example('<execute>["</execute>", 1.')
@example('<execute>["</execute>", 01')
@example('<execute>["</execute>", "')
@example('<execute>["</execute>", "\\u12')
@example('<execute>{"</execute>": 1, ')
@example('<execute>{"</execute>" tru')
@example('<execute>["</execute>"]</execut')
@example('<execute>[{"name": "t", "args": {"a": "</execute>"}}]')
@example('<execute>[{"name": "t", "args": {}}] </execut')
@example('<execute>[{"name": "t", "args": {}}] </executx')
@example("<execute>[]")
@example("<execute>12")
@example('<execute>"12"')
@example("a<results>b</results>c")
@example("a<results></results>")
@example("a<results> \u2003</results>b")
@example("a<results> </result")
@example("a<results></result>")
@example("<results> \u2003")
@example("<results> \u2003<end>")
@example("<results>[1</results>")
@example("<results>[1, tru")
@example("<results>[1, trx")
@example('<results>["a</results>b')
@example('<results>["a</results>b"]c')
@example('<results>["\\u00')
@example('<results>["\\u0g')
@example("<results>[" * 20 + "]</results>")
@example("<results>x<results>[]</results>")
@example('<execute>["</execute>"] x')
@example('<execute>[{"name": "t", "args": {"a": 1.}}]</execute>')
@example('<execute>[{"name": "t", "args": {"a": 01}}]</execute>')
@example('<execute>[{"name": "t", "args": {"a": -}}]</execute>')
def test_a_text_gives_the_events_of_the_specification(text):
    assert_agreed(text)


@thorough
@given(BLOCKS)
def test_a_block_gives_the_events_of_the_specification(text):
    assert_agreed(text)


@thorough
@given(texts | BLOCKS, LIMITS)
@example('<execute>["</execute>"', Limits(max_block_bytes=12))
@example('<execute>["</execute>"', Limits(max_block_bytes=13))
@example('<execute>["</execute>"]</exec', Limits(max_block_bytes=14))
@example('<execute>["</execute>"]</exec', Limits(max_block_bytes=13))
@example("<execute>[]</execut", Limits(max_block_bytes=2))
@example("<execute>[] </execut", Limits(max_block_bytes=2))
@example('<results>["abc"]</results>', Limits(max_block_bytes=4))
@example('<results>[  é"]</results>', Limits(max_block_bytes=4))
@example("<results>  \u3000[]</results>", Limits(max_block_bytes=4))
@example("<results> \u3000[]</results>", Limits(max_block_bytes=5))
@example("<results> </results>", Limits(max_block_bytes=10))
@example("<results> </results>", Limits(max_block_bytes=11))
@example("  \u3000<end>", Limits(max_block_bytes=4))
@example("aé😀", Limits(max_block_bytes=1))
def test_limits_give_the_events_of_the_specification(text, limits):
    assert_agreed(text, limits)


def test_recordings_give_the_events_of_the_specification(recordings: Path):
    files = [recordings / f"{name}.jsonl" for name in ("agent_turns", "wild_turns", "streams")]
    found = [file for file in files if file.exists()]
    if not found:
        pytest.skip(f"no texts among the recordings in {recordings}")
    lines = [json.loads(line) for file in found for line in file.read_text("utf-8").splitlines()]
    for line in lines:
        assert_agreed(line.get("text") or "".join(line["tokens"]))
