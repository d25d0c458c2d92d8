"""The parser makes cogency's events for every text, except for the named differences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given, strategies as st

import cogency_rs
from cogency_rs.protocol import Limits, parse_execute_block

from . import differences
from .differences import promised_parse as promised
from .oracle import (
    OUR_REPORT,
    Parsed,
    cogency,
    content_of,
    our_parse,
    outcome,
    skip_without_cogency,
    their_parse,
    with_content,
)
from .pieces import DEFAULT, pieces
from .recorded import texts_of
from .strategies import blocks, cut, parity, texts, words

skip_without_cogency()

SMALL = Limits(max_block_bytes=60, max_depth=5, max_calls=2)

one_block = st.builds("{}{}{}".format, words, blocks, words)
any_text = st.one_of(texts, one_block)


def ours(source: Any, **options: Any) -> Parsed:
    return our_parse(source, **options).named(OUR_REPORT)


@parity(800)
@given(any_text)
def test_a_text_gives_cogency_s_events(text):
    wanted, names = promised(text)
    assert ours(text) == wanted
    assert (our_parse(text) == their_parse(text)) == (not names)


@parity(300)
@given(any_text.flatmap(cut))
def test_chunks_give_cogency_s_events(chunks):
    text = "".join(chunks)
    wanted, names = promised(text)
    assert ours(chunks) == wanted
    if not names:
        assert our_parse(chunks) == their_parse(chunks)


@parity(300)
@given(any_text.flatmap(cut))
def test_token_mode_gives_cogency_s_text_in_pieces(chunks):
    assert differences.text_in_pieces("token")
    wanted, _ = promised("".join(chunks))
    assert ours(chunks, stream="token").joined() == wanted.joined()


@parity(200)
@given(any_text)
def test_limits_make_a_block_malformed_and_change_nothing_else(text):
    assume(
        not any(differences.text_beyond_the_limit(piece, SMALL) for piece in pieces(text, SMALL))
    )
    wanted, _ = promised(text, SMALL)
    assert ours(text, limits=SMALL) == wanted


@parity(100)
@given(
    st.text("ab \n", min_size=61, max_size=300),
    st.sampled_from(["", "<think>", "<results>", '<results>["']),
)
def test_text_beyond_the_limit_comes_in_pieces(text, opening):
    assume(text.strip())
    piece = pieces(opening + text, SMALL)[0]
    assert differences.text_beyond_the_limit(piece, SMALL)
    wanted, _ = promised(opening + text)
    contents = [dict(event)["content"] for event in ours(opening + text, limits=SMALL).events]
    assert max(map(len, contents)) <= SMALL.max_block_bytes
    assert "".join(contents) == "".join(dict(event)["content"] for event in wanted.events)


@parity(200)
@given(
    any_text.flatmap(cut),
    st.sampled_from([ConnectionError("reset"), ValueError(""), 5, b"b", None]),
)
@example(["<execute>[1]"], ConnectionError("reset"))
@example(["<execute>[1, "], ConnectionError("reset"))
@example(["<execute>[]</exec"], ConnectionError("reset"))
@example(["<execute>12"], ConnectionError("reset"))
@example(["<execute>nul"], ConnectionError("reset"))
@example(['<execute>["\\u00'], ConnectionError("reset"))
@example(['<execute>["</execute>'], ConnectionError("reset"))
@example(["<results>["], ConnectionError("reset"))
@example(["<results> "], ConnectionError("reset"))
def test_a_source_that_fails_gives_the_text_before_it(chunks, error):
    source = [*chunks, error]
    wanted, names = promised(source)
    parser = cogency_rs.Parser()
    parser.feed("".join(chunks))
    is_done = parser.done
    kind = type(error).__name__ if isinstance(error, Exception) else "TypeError"
    found = ours(source)
    report = differences.broken_off(found.raised) if found.raised else None
    assert found.events == [
        with_content(event, report) if content_of(event) == differences.BROKEN_OFF else event
        for event in wanted.events
    ]
    assert (found.raised and found.raised.kind) == (None if is_done else kind)
    if not names:
        theirs = their_parse(source)
        applies = differences.text_before_an_error_of_the_source(source)
        assert (theirs.events != found.events) == applies
        assert (theirs.raised and theirs.raised.kind) == (None if is_done else kind)


@pytest.mark.parametrize("source", [None, 5, [], ["a"], b"a", iter("a")])
def test_a_source_that_is_not_text_is_refused_at_once(source):
    assert differences.source_that_is_not_text(source)
    with pytest.raises(TypeError):
        cogency_rs.parse_tokens(source)


@pytest.mark.parametrize("text", ["<execute>[]</execute>", "a<end>b"])
async def test_the_source_is_closed(text):
    async def source():
        yield text
        yield "more"

    chunks = source()
    assert differences.source_with_a_close(chunks)
    events = cogency_rs.parse_tokens(chunks)
    async for _ in events:
        pass
    assert chunks.ag_frame is None


# The recordings.


@pytest.mark.parametrize("name", ["agent_turns", "wild_turns", "streams"])
def test_a_recorded_text_gives_cogency_s_events(recordings, name):
    unequal = []
    for text_id, chunks in texts_of(recordings, name):
        wanted, names = promised("".join(chunks))
        equal = ours("".join(chunks)) == wanted == ours(chunks)
        if not names:
            equal = equal and our_parse(chunks) == their_parse("".join(chunks))
        if not equal or ours(chunks, stream="token").joined() != wanted.joined():
            unequal.append(text_id)
    assert unequal == []


@pytest.mark.parametrize("name", ["agent_turns", "wild_turns", "streams"])
def test_a_recorded_block_gives_cogency_s_calls(recordings, name):
    for _, chunks in texts_of(recordings, name):
        check_block("".join(chunks))


# parse_execute_block


@parity(300)
@given(any_text)
def test_a_block_gives_cogency_s_calls(text):
    check_block(text)


def check_block(text: str) -> None:
    """Compare our `parse_execute_block` with cogency's, over the first block of `text`."""
    _, tag, after = text.partition("<execute>")
    piece = pieces(tag + after)[0] if tag else None
    found = block(parse_execute_block, text)
    theirs = block(cogency("core.parser").parse_execute_block, text)
    names = set()
    if piece is not None and piece.closed and not piece.is_malformed():
        rewritten, names = differences.promised_text(str(piece))
        if differences.integer_beyond_python.name in names:
            is_stray = differences.stray_closing_tag(text)
            assert theirs[0] == ("ProtocolError" if is_stray else "ValueError")
            assert found[::2] == ("ProtocolError", text.strip())
            return
        assert found == block(cogency("core.parser").parse_execute_block, rewritten)
        assert (found == theirs) == (not names and not differences.stray_closing_tag(text))
    else:
        assert (found[0], found[2]) == ("ProtocolError", text.strip())
        assert found[1].startswith(("Invalid <execute> block: ", "No <execute> block found"))
        assert theirs[::2] == found[::2] or _raises_in_cogency(piece)


def _raises_in_cogency(piece: Any) -> bool:
    """Whether cogency raises another exception than `ProtocolError` for a malformed block."""
    return differences.nesting_beyond_the_limit(piece, DEFAULT) or (
        outcome(cogency("core.parser").parse_execute_block, str(piece)).kind == "ValueError"
    )


def block(parse: Any, text: Any) -> Any:
    """The calls, or the exception that was raised, with its `original_input`."""
    try:
        return [(call.name, call.args) for call in parse(text)]
    except Exception as error:
        return (type(error).__name__, str(error), getattr(error, "original_input", None))


@pytest.mark.parametrize("text", [None, 5, b"", b"<execute>[]</execute>", [], {}, object()])
def test_a_block_that_is_not_text_raises_what_cogency_raises(text):
    theirs = block(cogency("core.parser").parse_execute_block, text)
    assert block(parse_execute_block, text)[0] == theirs[0]
