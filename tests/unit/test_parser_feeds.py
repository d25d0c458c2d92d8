"""How soon the parser returns events: each feed returns all that are certain by then."""

from __future__ import annotations

import pytest

from cogency_rs import Parser
from support.parsing import (
    END,
    EXECUTE,
    MALFORMED,
    T,
    call,
    joined,
    outline,
    respond,
    result,
    think,
)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(["hel", "lo"], [[respond("hel")], [respond("lo")]], id="text"),
        pytest.param(["a <", "b"], [[respond("a ")], [respond("<b")]], id="< is held"),
        pytest.param(["a <thi", "s"], [[respond("a ")], [respond("<this")]], id="<thi is held"),
        pytest.param(["<execute", " >"], [[], [respond("<execute >")]], id="<execute is held"),
        pytest.param(
            ["<thi<", "b"],
            [[respond("<thi")], [respond("<b")]],
            id="only the longest suffix is held",
        ),
        pytest.param(["<<", "b"], [[respond("<")], [respond("<b")]], id="only the last < is held"),
        pytest.param(
            ["a</thin", "k>"],
            [[respond("a</thin")], [respond("k>")]],
            id="outside, no closing tag is held",
        ),
        pytest.param(
            ["<END", ">"], [[respond("<END")], [respond(">")]], id="another case is not held"
        ),
        pytest.param(
            ["<thinking", ">"],
            [[respond("<thinking")], [respond(">")]],
            id="a longer name is not held",
        ),
        pytest.param(
            ["a\n", "b "],
            [[respond("a\n")], [respond("b ")]],
            id="blanks inside a run are not held",
        ),
        pytest.param(
            [" ", "\n", "a"], [[], [], [respond(" \na")]], id="blanks at its start are held"
        ),
        pytest.param([" <", "b"], [[], [respond(" <b")]], id="blanks before a held <"),
        pytest.param([" ", "<end>"], [[], [END]], id="blanks before a tag are dropped"),
        pytest.param(["a<end", ">"], [[respond("a")], [END]], id="end"),
        pytest.param(["<think>a", "b"], [[think("a")], [think("b")]], id="think"),
        pytest.param(
            ["<think>", " ", "a"], [[], [], [think(" a")]], id="blanks at the start of think"
        ),
        pytest.param(
            ["<think>a</thi", "s"],
            [[think("a")], [think("</this")]],
            id="</thi is held inside think",
        ),
        pytest.param(
            ["<think>a<thi", "nk>"],
            [[think("a<thi")], [think("nk>")]],
            id="inside think, no opening tag is held",
        ),
        pytest.param(
            ["<think>a</results", ">"],
            [[think("a</results")], [think(">")]],
            id="inside think, no other closing tag is held",
        ),
        pytest.param(["<think>a</think>b"], [[think("a"), respond("b")]], id="think, then text"),
        pytest.param(
            ["<think>a</think>", "\n", "b"],
            [[think("a")], [], [respond("\nb")]],
            id="blanks after think",
        ),
        pytest.param(
            ["hi<results>[1", "]</results>"],
            [[respond("hi")], [result("[1]")]],
            id="results come whole",
        ),
        pytest.param(
            [f"hi<execute>{T}", "</execute", ">"],
            [[respond("hi")], [], [call("t", {}), EXECUTE]],
            id="calls come when the block is closed",
        ),
    ],
)
def test_token_mode_gives_text_as_soon_as_it_cannot_be_a_tag(chunks, expected):
    parser = Parser(stream="token")
    assert [joined(outline(parser.feed(chunk))) for chunk in chunks] == expected


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(["hi", "<end", ">"], [[], [], [respond("hi"), END]], id="end"),
        pytest.param(["<think>a", "b</think>"], [[], [think("ab")]], id="think"),
        pytest.param(["<results>[", "]</results>"], [[], [result("[]")]], id="results"),
        pytest.param([f"<execute>{T}", "</execute>"], [[], [call("t", {}), EXECUTE]], id="calls"),
        pytest.param(["<execute>oops</execute>"], [[MALFORMED]], id="a broken block"),
    ],
)
def test_event_mode_gives_a_unit_as_soon_as_it_is_complete(chunks, expected):
    parser = Parser()
    assert [outline(parser.feed(chunk)) for chunk in chunks] == expected


@pytest.mark.parametrize("stream", ["event", "token"])
@pytest.mark.parametrize("held", ["<thin", " \n", " <", "<execute"])
def test_finish_gives_what_was_held(stream, held):
    parser = Parser(stream=stream)
    assert (parser.feed(held), joined(outline(parser.finish()))) == ([], [respond(held)])
