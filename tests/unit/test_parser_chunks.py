"""Chunking never matters: a text has the same events however it is cut."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import example, given, strategies as st

from cogency_rs.protocol import Limits
from support.outlines import read, runs
from support.texts import calls, tags, texts, whole

SMALL = Limits(max_block_bytes=40, max_depth=4, max_calls=2)


@st.composite
def cut_texts(draw: st.DrawFn) -> list[str]:
    """A text in chunks, cut anywhere, some of them empty."""
    text = draw(texts)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


# The same text in chunks.


@given(texts)
@example('<execute>[{"name": "t", "args": {"a": "\\\\"</execute>"}}]</execute>')
@example('<execute>["</execute>", 1</execute>')
@example("<think>a</thin<think></think> <en<end> ")
@example("<execute>1 0</execute>")
def test_one_character_at_a_time_gives_the_same_events(text):
    assert read(text) == read([text])


@given(texts)
def test_two_chunks_give_the_same_events_wherever_the_cut_is(text):
    text = text[:200]
    whole = read([text])
    assert [cut for cut in range(len(text) + 1) if read([text[:cut], text[cut:]]) != whole] == []


@given(cut_texts())
def test_any_chunks_give_the_same_events(chunks):
    assert read(chunks) == read(["".join(chunks)])


@given(cut_texts())
def test_any_chunks_give_the_same_events_under_small_limits(chunks):
    assert read(chunks, limits=SMALL) == read(["".join(chunks)], limits=SMALL)


# Token mode: the same text, in other pieces.


@given(texts)
def test_token_mode_gives_the_text_of_event_mode(text):
    assert runs(read([text], stream="token")) == runs(read([text]))


@given(texts)
def test_token_mode_gives_the_same_text_one_character_at_a_time(text):
    assert runs(read(text, stream="token")) == runs(read([text]))


@given(texts)
def test_token_mode_gives_the_same_text_wherever_the_cut_is(text):
    text = text[:200]
    whole = runs(read([text]))
    assert [
        cut
        for cut in range(len(text) + 1)
        if runs(read([text[:cut], text[cut:]], stream="token")) != whole
    ] == []


@given(cut_texts())
def test_token_mode_gives_the_same_text_for_any_chunks(chunks):
    assert runs(read(chunks, stream="token")) == runs(read(["".join(chunks)]))


@given(cut_texts())
def test_token_mode_gives_the_same_text_under_small_limits(chunks):
    whole = runs(read(["".join(chunks)], limits=SMALL))
    assert runs(read(chunks, stream="token", limits=SMALL)) == whole


@given(cut_texts())
def test_token_mode_gives_no_empty_pieces(chunks):
    assert [content for _, content in read(chunks, stream="token") if content == ""] == []


# The content of a call is what `json` reads and writes.

ESCAPES = [r"\"", r"\\", r"\/", r"\b", r"\f", r"\n", r"\r", r"\t"]

number_literals = st.from_regex(
    r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?", fullmatch=True
)
string_literals = st.lists(
    st.one_of(
        st.characters(exclude_characters='"\\', exclude_categories=["Cs"]),
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


@given(number_literals | st.floats().map(repr).filter(lambda text: "n" not in text))
def test_a_number_is_what_json_makes_of_it(literal):
    assert_reads_as_json(literal)


@given(string_literals)
def test_a_string_is_what_json_makes_of_it(literal):
    assert_reads_as_json(literal)


@given(st.lists(st.tuples(string_literals, number_literals)))
def test_an_object_is_what_json_makes_of_it(members):
    assert_reads_as_json("{" + ",".join(f"{key}:{value}" for key, value in members) + "}")


@given(calls, st.booleans(), st.sampled_from([None, 0, 2]))
def test_calls_are_what_json_makes_of_them(value, ensure_ascii, indent):
    body = whole(json.dumps(value, ensure_ascii=ensure_ascii, indent=indent))
    value = json.loads(body)
    expected = [json.dumps({"name": call["name"], "args": call["args"]}) for call in value]
    events = read([f"<execute>{body}</execute>"])
    assert events == [*(("call", content) for content in expected), ("execute", None)]
