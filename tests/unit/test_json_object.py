"""The reader of one JSON object, which reads while the text arrives."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from cogency_rs._core import ObjectReader
from cogency_rs.agent.drivers.driver import line_and_column

MAX_DEPTH = 200
"""As in blocks of calls, by default."""

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**30), max_value=10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)


@st.composite
def pieces_of(draw, text: str) -> list[str]:
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=8))
    edges = [0, *sorted(cuts), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def fed(pieces: list[str], **options: bool) -> ObjectReader:
    reader = ObjectReader(**options)
    for piece in pieces:
        reader.feed(piece)
    return reader


@given(st.data(), OBJECTS, st.sampled_from([None, 1]), st.booleans())
def test_an_object_is_read_however_it_is_cut(data, value, indent, ascii) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    reader = fed(data.draw(pieces_of(text)))
    assert reader.finish() is None
    assert reader.is_whole
    assert reader.value() == json.loads(text)


@given(st.data(), st.dictionaries(st.text(), st.text(), max_size=4), st.booleans())
def test_top_level_strings_are_given_while_they_arrive(data, value, ascii) -> None:
    text = json.dumps({**value, "nested": {"inner": "no"}, "list": ["no"]}, ensure_ascii=ascii)
    reader, received, whole = ObjectReader(), {}, []
    for piece in data.draw(pieces_of(text)):
        for field in reader.feed(piece):
            received[field.key] = received.get(field.key, "") + field.text
            whole += [field.key] * field.is_whole
    value.pop("nested", None)
    value.pop("list", None)
    assert received == value
    assert whole == list(value)


@given(st.data(), OBJECTS, st.text(max_size=3), st.integers(0, 200))
def test_text_is_refused_where_json_refuses_it_however_it_is_cut(data, value, noise, at) -> None:
    text = json.dumps(value)
    at = min(at, len(text))
    broken = text[:at] + noise + text[at:]
    whole, cut = fed([broken]), fed(data.draw(pieces_of(broken)))
    assert whole.finish() == cut.finish()

    def refused(name: str) -> None:
        raise ValueError(name)

    try:
        is_object = isinstance(json.loads(broken, strict=False, parse_constant=refused), dict)
    except ValueError:
        is_object = False
    assert (whole.fault is None) == is_object


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("[1]", "expected a JSON object", (1, 1)),
        ('"x"', "expected a JSON object", (1, 1)),
        ("x", "expected a JSON object", (1, 1)),
        ("{a", "expected a key in double quotes", (1, 2)),
        ('{"a":1,}', "expected a key in double quotes", (1, 8)),
        ('{"a" 1}', "expected ':' after the key", (1, 6)),
        ('{"a":}', "expected a JSON value", (1, 6)),
        ('{\n "a": tru}', "expected a JSON value", (2, 7)),
        ('{"a":01}', "expected ',' or '}' after the value", (1, 7)),
        ('{"a":1.}', "expected a digit", (1, 8)),
        ('{"a":NaN}', "expected a JSON value", (1, 6)),
        ('{"a":1 "b"', "expected ',' or '}' after the value", (1, 8)),
        ('{"a":[1}', "expected ',' or ']' after the item", (1, 8)),
        ('{"a":[1,]', "expected a JSON value", (1, 9)),
        ('{"a":"\\x"', "invalid escape in a string (a backslash is written \\\\)", (1, 7)),
        ('{"a":"\\u12g', "expected four hexadecimal digits after \\u", (1, 7)),
        ('{"a":1} 2', "expected nothing more after the JSON value", (1, 9)),
        ('{"a":' * MAX_DEPTH + "{", "brackets are nested deeper than 200", (1, 1001)),
    ],
)
def test_a_fault_names_the_character_at_which_the_text_breaks(text, problem, place) -> None:
    reader = fed(list(text))
    if not reader.fault:  # a number or a literal ends only at the next character
        reader.feed("}")
    assert reader.fault is not None
    assert (reader.fault.problem, line_and_column(text, reader.fault.at)) == (problem, place)
    assert not reader.fault.is_the_end


@pytest.mark.parametrize(
    "text", ["", " ", "{", '{"a', '{"a"', '{"a":', '{"a":tr', '{"a":"\\', "{}"]
)
def test_a_text_that_ended_early_is_told_apart_from_one_that_is_wrong(text) -> None:
    reader = fed([text])
    assert reader.fault is None
    assert reader.is_empty == (not text.strip())
    fault = reader.finish()
    assert (fault is not None and fault.is_the_end) == (text != "{}")


def test_raw_line_breaks_are_read_in_strings_since_models_write_them() -> None:
    assert fed(['{"a": "x\ny"}']).value() == {"a": "x\ny"}


@pytest.mark.parametrize("size", [1, 3, 100])
def test_text_after_the_object_may_be_left_unread(size) -> None:
    text = '{"a": {}} and {more}'
    reader = fed([text[i : i + size] for i in range(0, len(text), size)], is_alone=False)
    assert (reader.finish(), reader.value()) == (None, {"a": {}})
    assert text[9:].startswith(reader.rest)
