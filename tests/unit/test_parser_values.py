"""Values in calls: how a model writes an argument in a block, and how the call's content holds it."""

from __future__ import annotations

import json
import random
import re
import sys
from typing import TYPE_CHECKING

import pytest

from cogency_rs.protocol import parse_execute_block
from support.outlines import parse
from support.parsing import EXECUTE, MALFORMED, block, body_with, outline

if TYPE_CHECKING:
    from collections.abc import Iterator

VALUES = [
    pytest.param("true", "true", id="true"),
    pytest.param("false", "false", id="false"),
    pytest.param("null", "null", id="null"),
    pytest.param("0", "0", id="zero"),
    pytest.param("-0", "0", id="minus zero is an integer"),
    pytest.param("-0.0", "-0.0", id="minus zero point zero keeps its sign"),
    pytest.param("0e0", "0.0", id="zero with an exponent"),
    pytest.param("-7", "-7", id="negative"),
    pytest.param("9007199254740993", "9007199254740993", id="2**53 + 1"),
    pytest.param("9007199254740993.0", "9007199254740992.0", id="2**53 + 1 as a float"),
    pytest.param("18446744073709551616", "18446744073709551616", id="2**64"),
    pytest.param("-9223372036854775809", "-9223372036854775809", id="-(2**63) - 1"),
    pytest.param("9" * 5000, "9" * 5000, id="5,000 digits"),
    pytest.param("-" + "9" * 5000, "-" + "9" * 5000, id="5,000 digits, negative"),
    pytest.param("1e400", "Infinity", id="1e400"),
    pytest.param("-1e400", "-Infinity", id="-1e400"),
    pytest.param("1e-400", "0.0", id="1e-400"),
    pytest.param("-1e-400", "-0.0", id="-1e-400"),
    pytest.param("NaN", "NaN", id="NaN"),
    pytest.param("Infinity", "Infinity", id="Infinity"),
    pytest.param("-Infinity", "-Infinity", id="-Infinity"),
    pytest.param("1E5", "100000.0", id="1E5"),
    pytest.param("1e+5", "100000.0", id="1e+5"),
    pytest.param("1e15", "1000000000000000.0", id="1e15"),
    pytest.param("1e16", "1e+16", id="1e16"),
    pytest.param("12e21", "1.2e+22", id="12e21"),
    pytest.param("1e100", "1e+100", id="1e100"),
    pytest.param("1e-4", "0.0001", id="1e-4"),
    pytest.param("1e-5", "1e-05", id="1e-5"),
    pytest.param("0.1", "0.1", id="0.1"),
    pytest.param("1.0", "1.0", id="1.0"),
    pytest.param("1.10", "1.1", id="1.10"),
    pytest.param("123456789.123456789", "123456789.12345679", id="more digits than a float holds"),
    pytest.param(
        "600000000000000.2", "600000000000000.2", id="two shortest forms, equally near: .2"
    ),
    pytest.param(
        "1000000000000000.25", "1000000000000000.2", id="equally near, rounded to even: .25"
    ),
    pytest.param(
        "1000000000000000.75", "1000000000000000.8", id="equally near, rounded to even: .75"
    ),
    pytest.param("0." + "3" * 2000, "0.3333333333333333", id="2,000 digits after the point"),
    pytest.param("5e-324", "5e-324", id="the smallest float"),
    pytest.param("1.7976931348623157e308", "1.7976931348623157e+308", id="the largest float"),
    pytest.param('""', '""', id="empty string"),
    pytest.param(r'"\"\\\/\b\f\n\r\t"', r'"\"\\/\b\f\n\r\t"', id="every escape"),
    pytest.param(r'"\u0041\u00e9\u2028"', r'"A\u00e9\u2028"', id="numeric escapes"),
    pytest.param(
        r'"\u0022\u005c\u002f"', r'"\"\\/"', id="numeric escapes of quote, backslash, slash"
    ),
    pytest.param(r'"\u0000"', r'"\u0000"', id="NUL, escaped"),
    pytest.param(
        '"\0\x01\b\t\n\f\r\x1f"', r'"\u0000\u0001\b\t\n\f\r\u001f"', id="raw control characters"
    ),
    pytest.param('"\x7f~"', r'"\u007f~"', id="DEL"),
    pytest.param('"é\uffff"', r'"\u00e9\uffff"', id="two and three bytes"),
    pytest.param('"\u2028\u2029\x85"', r'"\u2028\u2029\u0085"', id="raw line separators"),
    pytest.param('"😀\U0010ffff"', r'"\ud83d\ude00\udbff\udfff"', id="beyond U+FFFF"),
    pytest.param(r'"\uD83D\uDE00"', r'"\ud83d\ude00"', id="an escaped surrogate pair"),
    pytest.param(r'"\ud83d"', r'"\ud83d"', id="an escaped high surrogate alone"),
    pytest.param(r'"\ude00"', r'"\ude00"', id="an escaped low surrogate alone"),
    pytest.param(r'"\ude00\ud83d"', r'"\ude00\ud83d"', id="escaped surrogates in the wrong order"),
    pytest.param(
        r'"\ud83d\ud83d\ude00"', r'"\ud83d\ud83d\ude00"', id="a high surrogate before a pair"
    ),
    pytest.param(r'"\ud83d\u0041\n"', r'"\ud83dA\n"', id="a high surrogate before another escape"),
    pytest.param("[]", "[]", id="empty array"),
    pytest.param("{}", "{}", id="empty object"),
    pytest.param("[1,[2,[]],{}]", "[1, [2, []], {}]", id="arrays"),
    pytest.param(
        '{"b":1,"a":{"":null}}', '{"b": 1, "a": {"": null}}', id="objects keep their order"
    ),
    pytest.param('{"a":1,"b":2,"a":3}', '{"a": 3, "b": 2}', id="equal keys"),
    pytest.param(
        '{"a":{"a":1,"a":2},"b":0,"a":[{"c":1,"c":2}]}',
        '{"a": [{"c": 2}], "b": 0}',
        id="equal keys, nested",
    ),
    pytest.param('{ "a" : [ 1 , 2 ]\n}', '{"a": [1, 2]}', id="whitespace between values"),
    pytest.param('"a  \t b"', r'"a  \t b"', id="whitespace inside a string"),
]


@pytest.fixture
def unlimited_digits() -> Iterator[None]:
    """Lets `int` and `json` read integers of any length, to compute what a test expects."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(("written", "content"), VALUES)
def test_an_argument_is_written_into_the_content_of_the_call(written, content):
    events = outline(parse([block(body_with(written))]))
    assert events == [("call", f'{{"name": "t", "args": {{"a": {content}}}}}'), EXECUTE]


@pytest.mark.usefixtures("unlimited_digits")
@pytest.mark.parametrize(("written", "content"), VALUES)
def test_call_content_is_what_json_reads_and_writes(written, content):
    [expected] = json.loads(body_with(written), strict=False)
    [event, _] = parse([block(body_with(written))])
    assert event["content"] == json.dumps(expected)


def test_floats_of_every_size_are_written_as_repr_writes_them():
    """Floats, most of them between 1e14 and 1e16, where two shortest forms may be equally near."""
    pick = random.Random(0)
    sizes = [pick.uniform(1, 10) * 10.0**exponent for exponent in range(-323, 308)]
    numbers = sizes + [pick.uniform(1e14, 1e16) for _ in range(2000)]
    [(_, content), _] = outline(parse([block(body_with(repr(numbers)))]))
    written = re.findall(r"[-+.e0-9]+", content.partition("[")[2])
    assert [(repr(n), w) for n, w in zip(numbers, written, strict=True) if repr(n) != w] == []


@pytest.mark.parametrize(("written", "content"), VALUES)
def test_a_value_cut_into_characters_is_the_same_value(written, content):
    events = outline(parse(block(body_with(written))))
    assert events == [("call", f'{{"name": "t", "args": {{"a": {content}}}}}'), EXECUTE]


REFUSED = [
    # Numbers
    *("01", "-01", "+1", ".5", "1.", "1.e5", "1e", "1e+", "-", "--1", "0x1", "1_000", "\u0661"),
    # Keywords
    *("nan", "-NaN", "Infinit", "infinity", "+Infinity"),
    *("tru", "True", "truee", "None", "nulll", "undefined"),
    # Strings
    *(
        "'a'",
        '"a',
        r'"\q"',
        r'"\x41"',
        r'"\u12"',
        r'"\u12g4"',
        r'"\u 123"',
        r'"\u+123"',
        r'"\U0041"',
    ),
    *('"a" "b"', '"a"b'),
    # Arrays
    *("[1 2]", "[1,]", "[,]", "[1,,2]", "[", "]", "[1}", "[1)"),
    # Objects
    *(
        '{"b" 1}',
        '{"b":}',
        '{"b":1,}',
        "{,}",
        "{1: 2}",
        "{b: 1}",
        "{null: 1}",
        '{"b"}',
        '{"b": 1 "c": 2}',
    ),
    # Between values
    *("", "1,", "1 // one", "/* one */ 1", "\u00a0", "\x0b", "1\x0c", "\ufeff1"),
]


@pytest.mark.parametrize("written", REFUSED, ids=ascii)
def test_a_value_that_json_refuses_is_malformed(written):
    assert outline(parse([block(body_with(written))]))[:1] == [MALFORMED]


@pytest.mark.usefixtures("unlimited_digits")
@pytest.mark.parametrize(("written", "content"), VALUES)
def test_parse_execute_block_reads_a_value_as_the_log_holds_it(written, content):
    [parsed] = parse_execute_block(block(body_with(written)))
    [expected] = json.loads(json.dumps(json.loads(body_with(written), strict=False)))
    assert repr(parsed.args) == repr(expected["args"])
