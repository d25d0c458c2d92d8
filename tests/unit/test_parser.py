"""The parser, one text at a time: which events it gives, and what it refuses.

`CASES` is the specification: each row is read as it stands, one character at a time, and in token
mode, and gives the same.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

import cogency_rs
from cogency_rs import Limits, Parser, ProtocolError, ToolCall, parse_execute_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Outline = tuple[str, str | None]

PREFIX = "Error: Malformed tool call syntax."
MALFORMED: Outline = ("respond", PREFIX)
EXECUTE: Outline = ("execute", None)
END: Outline = ("end", None)


def respond(content: str) -> Outline:
    return ("respond", content)


def think(content: str) -> Outline:
    return ("think", content)


def result(content: str) -> Outline:
    return ("result", content)


def call(name: str, args: dict) -> Outline:
    return ("call", json.dumps({"name": name, "args": args}))


def block(body: str) -> str:
    return f"<execute>{body}</execute>"


def read(chunks: Iterable[str], **options) -> list[dict]:
    parser = Parser(**options)
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()


def outline(events: Iterable[dict]) -> list[Outline]:
    """Type and content of each event; a malformed block counts by its opening sentence alone."""
    return [
        MALFORMED
        if (event.get("content") or "").startswith(PREFIX)
        else (event["type"], event.get("content"))
        for event in events
    ]


def joined(outlines: Iterable[Outline]) -> list[Outline]:
    """Each run of `think` or `respond` text as one piece; an error stands alone."""
    runs: list[Outline] = []
    for kind, content in outlines:
        last = runs[-1] if runs else None
        if (
            kind in {"think", "respond"}
            and last
            and last[0] == kind
            and MALFORMED not in (last, (kind, content))
        ):
            runs[-1] = (kind, last[1] + content)
        else:
            runs.append((kind, content))
    return runs


def case(name: str, text: str | tuple[str, ...], *expected: Outline):
    return pytest.param((text,) if isinstance(text, str) else text, list(expected), id=name)


T = '[{"name": "t", "args": {}}]'
"""The smallest call."""

CASES = [
    # Text
    case("nothing", ""),
    case("plain text", "hello", respond("hello")),
    case("text keeps its surrounding whitespace", " hello \n", respond(" hello \n")),
    case("blank text at the end is text", " \n", respond(" \n")),
    case("blank text before a tag is nothing", " \n<end>", END),
    case("text before a tag keeps its whitespace", " a \n<end>", respond(" a \n"), END),
    case("blank text after a tag, at the end", "<end>\n", END, respond("\n")),
    case("CRLF is kept", "a\r\nb<think>\r\nc\r\n</think>", respond("a\r\nb"), think("\r\nc\r\n")),
    case("U+2028 is a character like any other", "a\u2028b", respond("a\u2028b")),
    case("NUL and DEL are characters like any other", "a\0b\x7f", respond("a\0b\x7f")),
    case("a BOM is not blank", "\ufeff<end>", respond("\ufeff"), END),
    case(
        "multi-byte text around tags",
        "é<think>日本😀</think>ü",
        respond("é"),
        think("日本😀"),
        respond("ü"),
    ),
    case("empty chunks", ("", "a", "", "<e", "", "nd>", ""), respond("a"), END),
    case("a lone surrogate in text", "a\ud83db", respond("a\ud83db")),
    case(
        "a raw surrogate pair in two chunks stays two",
        ("\ud83d", "\ude00"),
        respond("\ud83d\ude00"),
    ),
    case("surrogates around a tag", "\ude00<end>\ud83d", respond("\ude00"), END, respond("\ud83d")),
    # Tags
    case("end", "<end>", END),
    case("the parser goes on after end", "a<end>b<end>", respond("a"), END, respond("b"), END),
    case("think", "<think>a</think>", think("a")),
    case("think keeps its whitespace", "<think> a\n</think>", think(" a\n")),
    case("empty think", "<think></think>"),
    case("blank think", "<think> \n\t</think>"),
    case("blank is what str.strip strips", "<think>\x1c\x85\u00a0\u3000\u2028</think>"),
    case("a zero width space is not blank", "<think>\u200b</think>", think("\u200b")),
    case(
        "think, text, think",
        "<think>a</think>b<think>c</think>",
        think("a"),
        respond("b"),
        think("c"),
    ),
    case(
        "neighbouring thinks stay two", "<think>a</think><think>b</think>", think("a"), think("b")
    ),
    case("results", "<results>[1]</results>ok", result("[1]"), respond("ok")),
    case(
        "empty results",
        "<results>[]</results> <results>\n [ ] \n</results>",
        result("[]"),
        result("\n [ ] \n"),
    ),
    case(
        "results end at their first closing tag, strings or not",
        '<results>["</results>"]</results>',
        result('["'),
        respond('"]</results>'),
    ),
    case("an incomplete tag at the end", "x < y <thin", respond("x < y <thin")),
    case("every tag incomplete", "<th<exec<resul<en<", respond("<th<exec<resul<en<")),
    case("< before a tag", "<<think>a</think>", respond("<"), think("a")),
    case("a tag that starts over", "<thi<think>a</think>", respond("<thi"), think("a")),
    case("a tag that starts over as another", "<e<ex<end>", respond("<e<ex"), END),
    case("<thinking> is text", "<thinking>a</thinking>", respond("<thinking>a</thinking>")),
    case("<execute > is text", f"<execute >{T}</execute >", respond(f"<execute >{T}</execute >")),
    case("<EXECUTE> is text", f"<EXECUTE>{T}</EXECUTE>", respond(f"<EXECUTE>{T}</EXECUTE>")),
    case(
        "<result>, <end/> and < end> are text",
        "<result><end/>< end>",
        respond("<result><end/>< end>"),
    ),
    case(
        "a closing tag that closes nothing is text",
        "a</think>b</execute>c</results>d</end>",
        respond("a</think>b</execute>c</results>d</end>"),
    ),
    case(
        "execute inside think is thought",
        "<think>I will use <execute> later</think>ok",
        think("I will use <execute> later"),
        respond("ok"),
    ),
    case(
        "think does not nest",
        "<think>a<think>b</think>c</think>",
        think("a<think>b"),
        respond("c</think>"),
    ),
    case(
        "other tags inside think",
        f"<think><end><results>{block(T)}</think>",
        think(f"<end><results>{block(T)}"),
    ),
    case(
        "the earliest opening tag wins",
        '<results>["<think>"]</results>c</think>',
        result('["<think>"]'),
        respond("c</think>"),
    ),
    case("a closing tag that starts over", "<think>a</thi</think>b", think("a</thi"), respond("b")),
    case("< before a closing tag", "<think>a<</think>b", think("a<"), respond("b")),
    case("a closing tag in another case", "<think>a</THINK></think>", think("a</THINK>")),
    case(
        "a closing tag that is too short", "<results>[]</result></results>", result("[]</result>")
    ),
    # The stream ends inside a block
    case("cut off inside think", "<think>a", think("a")),
    case("cut off inside think's closing tag", "<think>a</thin", think("a</thin")),
    case("cut off after <think>", "<think>"),
    case("cut off inside a blank think", "<think> \n"),
    case("cut off inside results", "<results>[1", result("[1")),
    case("cut off inside results' closing tag", "<results>[1]</results", result("[1]</results")),
    case("cut off inside an array", '<results>["a', result('["a')),
    # Results that are none
    case("<results> in the middle of text", "a <results> b. 42.", respond("a <results> b. 42.")),
    case("<results> with text", "<results>a</results>b", respond("<results>a</results>b")),
    case("<results> with an object", "<results>{}</results>", respond("<results>{}</results>")),
    case(
        "<results> with a broken array",
        "<results>[1 2]</results>",
        respond("<results>[1 2]</results>"),
    ),
    case("<results> with nothing", "a<results> \n</results>b", respond("a"), respond("b")),
    case("<results> at the end", "a<results> \n", respond("a<results> \n")),
    case("<results> before a tag", "<results><think>a</think>", respond("<results>"), think("a")),
    case(
        "<results> before results",
        "<results><results>[1]</results>",
        respond("<results>"),
        result("[1]"),
    ),
    case(
        "<results> in a string of an array that is none",
        '<results>["<results>[1]</results>" 2',
        respond('<results>["'),
        result("[1]"),
        respond('" 2'),
    ),
    case("cut off before a tag is complete", "a<execute", respond("a<execute")),
    # Calls
    case("one call", block(T), call("t", {}), EXECUTE),
    case("text, then a call", f"hi\n{block(T)}", respond("hi\n"), call("t", {}), EXECUTE),
    case(
        "a whole turn",
        f"<think>a</think>\n\n<execute>\n{T}\n</execute>\n",
        think("a"),
        call("t", {}),
        EXECUTE,
    ),
    case(
        "several calls, in order",
        block(
            '[{"name": "b", "args": {"x": 1}}, {"name": "a", "args": {}},'
            ' {"name": "b", "args": {}}]'
        ),
        call("b", {"x": 1}),
        call("a", {}),
        call("b", {}),
        EXECUTE,
    ),
    case("no calls", block("[]"), EXECUTE),
    case(
        "text after a valid block is discarded",
        f"{block(T)}x<think>y</think>{block(T)}<end>",
        call("t", {}),
        EXECUTE,
    ),
    case("an open think after a valid block is discarded", f"{block('[]')}<think>y", EXECUTE),
    case(
        "JSON whitespace anywhere",
        block(' \r\n[ { "name"\t:"t" ,\n"args" : { } } ]\t\n'),
        call("t", {}),
        EXECUTE,
    ),
    case(
        "no whitespace at all",
        block('[{"name":"t","args":{"a":[1,2]}}]'),
        call("t", {"a": [1, 2]}),
        EXECUTE,
    ),
    case(
        "Unicode whitespace around the array",
        block(f"\u3000\x0b\x1c\x85{T}\u2028\u00a0\x0c"),
        call("t", {}),
        EXECUTE,
    ),
    case("an empty tool name", block('[{"name": "", "args": {}}]'), call("", {}), EXECUTE),
    case(
        "name after args", block('[{"args": {"a": 1}, "name": "t"}]'), call("t", {"a": 1}), EXECUTE
    ),
    case(
        "other keys are dropped",
        block('[{"id": [7], "name": "t", "args": {"id": 8}, "": {}}]'),
        call("t", {"id": 8}),
        EXECUTE,
    ),
    case(
        "the last name wins",
        block('[{"name": "a", "args": {}, "name": "b"}]'),
        call("b", {}),
        EXECUTE,
    ),
    case(
        "the last name wins over one that is no string",
        block('[{"name": 1, "args": {}, "name": "b"}]'),
        call("b", {}),
        EXECUTE,
    ),
    case(
        "the last args win",
        block('[{"name": "t", "args": null, "args": {"a": 1}}]'),
        call("t", {"a": 1}),
        EXECUTE,
    ),
    case(
        "of equal keys the last value counts, at the first one's place",
        block('[{"name": "t", "args": {"a": 1, "b": 2, "a": 3}}]'),
        call("t", {"a": 3, "b": 2}),
        EXECUTE,
    ),
    case(
        "equal keys further inside",
        block('[{"name": "t", "args": {"x": [{"a": {"k": 1}, "b": 2, "a": {"l": 3, "l": 4}}]}}]'),
        call("t", {"x": [{"a": {"l": 4}, "b": 2}]}),
        EXECUTE,
    ),
    case(
        "keys are compared after their escapes",
        block(r'[{"\u006eame": "t", "args": {"a": 1, "\u0061": 2}}]'),
        call("t", {"a": 2}),
        EXECUTE,
    ),
    case(
        "U+2028 inside a string",
        block('[{"name": "t", "args": {"a": "\u2028"}}]'),
        call("t", {"a": "\u2028"}),
        EXECUTE,
    ),
    case(
        "raw control characters inside a string",
        block('[{"name": "t", "args": {"a": "\0\t\r\n\x1f\x7f"}}]'),
        call("t", {"a": "\0\t\r\n\x1f\x7f"}),
        EXECUTE,
    ),
    case(
        "a raw lone surrogate inside a string",
        block('[{"name": "t", "args": {"a": "\ud83d"}}]'),
        call("t", {"a": "\ud83d"}),
        EXECUTE,
    ),
    case(
        "a raw surrogate pair split between chunks",
        ('<execute>[{"name": "t", "args": {"a": "\ud83d', '\ude00"}}]</execute>'),
        ("call", r'{"name": "t", "args": {"a": "\ud83d\ude00"}}'),
        EXECUTE,
    ),
    case(
        "an escaped surrogate pair split between chunks",
        (r'<execute>[{"name": "t", "args": {"a": "\ud83d', r'\ude00"}}]</execute>'),
        ("call", r'{"name": "t", "args": {"a": "\ud83d\ude00"}}'),
        EXECUTE,
    ),
    case(
        "an emoji and its two raw surrogates are one key, as when the log is read back",
        block('[{"name": "t", "args": {"😀": 1, "\ud83d\ude00": 2}}]'),
        ("call", r'{"name": "t", "args": {"\ud83d\ude00": 2}}'),
        EXECUTE,
    ),
    # Tags inside JSON strings
    case(
        "</execute> inside a string",
        block('[{"name": "t", "args": {"a": "x</execute>y"}}]'),
        call("t", {"a": "x</execute>y"}),
        EXECUTE,
    ),
    case(
        "</execute> inside a key and a tool name",
        block('[{"name": "</execute>", "args": {"</execute>": 1}}]'),
        call("</execute>", {"</execute>": 1}),
        EXECUTE,
    ),
    case(
        "a whole block inside a string",
        block('[{"name": "t", "args": {"a": "<execute>[]</execute>"}}]'),
        call("t", {"a": "<execute>[]</execute>"}),
        EXECUTE,
    ),
    case(
        "</think><end><results> inside a string",
        block('[{"name": "t", "args": {"a": "</think><end><results>"}}]'),
        call("t", {"a": "</think><end><results>"}),
        EXECUTE,
    ),
    case(
        "a string that ends in an escaped backslash",
        block(r'[{"name": "t", "args": {"a": "x\\"}}]') + '"',
        call("t", {"a": "x\\"}),
        EXECUTE,
    ),
    case(
        "an escaped quote followed by </execute>",
        block(r'[{"name": "t", "args": {"a": "\"</execute>"}}]'),
        call("t", {"a": '"</execute>'}),
        EXECUTE,
    ),
    case(
        "an escaped backslash and an escaped quote followed by </execute>",
        block(r'[{"name": "t", "args": {"a": "\\\"</execute>"}}]'),
        call("t", {"a": '\\"</execute>'}),
        EXECUTE,
    ),
    case(
        "a chunk that ends at a backslash",
        ('<execute>[{"name": "t", "args": {"a": "\\', '"</execute>"}}]</execute>'),
        call("t", {"a": '"</execute>'}),
        EXECUTE,
    ),
    case(
        "</execute> written with escapes",
        block(r'[{"name": "t", "args": {"a": "\u003c\/execute>"}}]'),
        call("t", {"a": "</execute>"}),
        EXECUTE,
    ),
    case(
        "a closing tag that a string cuts short",
        block('[{"name": "t", "args": {"a": "</exec"}}]'),
        call("t", {"a": "</exec"}),
        EXECUTE,
    ),
    # Malformed: wrong shape, so the block ends at the first </execute> outside a string
    case("an empty block", block("") + "ok", MALFORMED, respond("ok")),
    case("a blank block", block(" \n") + "ok", MALFORMED, respond("ok")),
    case("an object", block('{"name": "t", "args": {}}') + "ok", MALFORMED, respond("ok")),
    case("a string", block('"t"') + "ok", MALFORMED, respond("ok")),
    case("a number", block("7") + "ok", MALFORMED, respond("ok")),
    case("null", block("null") + "ok", MALFORMED, respond("ok")),
    case(
        "an object with </execute> inside a string",
        block('{"a": "</execute>"}') + "ok",
        MALFORMED,
        respond("ok"),
    ),
    case("a call that is a string", block('["</execute>"]') + "ok", MALFORMED, respond("ok")),
    case("a call that is an array", block("[[]]") + "ok", MALFORMED, respond("ok")),
    case("a call that is null", block("[null]") + "ok", MALFORMED, respond("ok")),
    case("name missing", block('[{"args": {"a": "</execute>"}}]') + "ok", MALFORMED, respond("ok")),
    case("name null", block('[{"name": null, "args": {}}]') + "ok", MALFORMED, respond("ok")),
    case(
        "name a number",
        block('[{"name": 1, "args": {"a": "</execute>"}}]') + "ok",
        MALFORMED,
        respond("ok"),
    ),
    case(
        "name in another case",
        block('[{"Name": "t", "args": {}}]') + "ok",
        MALFORMED,
        respond("ok"),
    ),
    case(
        "the last name is no string",
        block('[{"name": "t", "args": {}, "name": 1}]') + "ok",
        MALFORMED,
        respond("ok"),
    ),
    case("args missing", block('[{"name": "</execute>"}]') + "ok", MALFORMED, respond("ok")),
    case("args null", block('[{"name": "t", "args": null}]') + "ok", MALFORMED, respond("ok")),
    case(
        "args a list",
        block('[{"name": "t", "args": ["</execute>"]}]') + "ok",
        MALFORMED,
        respond("ok"),
    ),
    case("args a string", block('[{"name": "t", "args": "{}"}]') + "ok", MALFORMED, respond("ok")),
    case("an empty object", block("[{}]") + "ok", MALFORMED, respond("ok")),
    case(
        "one bad call among good ones",
        block(f"[{T[1:-1]}, {{}}, {T[1:-1]}]") + "ok",
        MALFORMED,
        respond("ok"),
    ),
    # Malformed: broken JSON, so the block ends at its first </execute>, wherever that stands
    case(
        "a trailing comma", block('[{"name": "t", "args": {}},]') + "ok", MALFORMED, respond("ok")
    ),
    case("fenced JSON", block(f"\n```json\n{T}\n```\n") + "ok", MALFORMED, respond("ok")),
    case("prose", block("print('hi')") + "ok", MALFORMED, respond("ok")),
    case("a bracket missing", block('[{"name": "t", "args": {}}') + "ok", MALFORMED, respond("ok")),
    case("a bracket too many", block(f"{T}]") + "ok", MALFORMED, respond("ok")),
    case("two arrays", block(f"{T}{T}") + "ok", MALFORMED, respond("ok")),
    case(
        "Unicode whitespace inside the array",
        block(f"[\u00a0{T[1:]}") + "ok",
        MALFORMED,
        respond("ok"),
    ),
    case("a BOM before the array", block(f"\ufeff{T}") + "ok", MALFORMED, respond("ok")),
    case(
        "an unterminated string", '<execute>[{"name": "t</execute>done', MALFORMED, respond("done")
    ),
    case(
        "an unterminated string, then a valid block",
        f'<execute>[{{"name": "t</execute>done{block(T)}',
        MALFORMED,
        # `<execute>` of the second block stands inside the string, whose end is the next quote:
        # from there on the JSON is broken, and the text behind the first `</execute>` is read anew.
        respond("done"),
        call("t", {}),
        EXECUTE,
    ),
    case(
        "an unterminated string, then a block without quotes",
        f'<execute>[{{"name": "t</execute>done{block("[]")}',
        MALFORMED,
        respond("done"),
        EXECUTE,
    ),
    case(
        "broken behind a string that holds </execute>",
        '<execute>["</execute>", oops]</execute>ok',
        MALFORMED,
        respond('", oops]</execute>ok'),
    ),
    case(
        "broken before a string that holds </execute>",
        '<execute>[oops, "</execute>"]</execute>ok',
        MALFORMED,
        respond('"]</execute>ok'),
    ),
    case(
        "broken, then tags",
        block("oops") + "<think>a</think>b<end>",
        MALFORMED,
        think("a"),
        respond("b"),
        END,
    ),
    case("broken, then blank text and a tag", block("oops") + "\n<end>", MALFORMED, END),
    case(
        "broken twice, then valid",
        block("oops") + block("{") + block(T),
        MALFORMED,
        MALFORMED,
        call("t", {}),
        EXECUTE,
    ),
    case(
        "text before a broken block",
        f"hi{block('oops')}ok",
        respond("hi"),
        MALFORMED,
        respond("ok"),
    ),
    case(
        "an opening tag inside a broken block opens nothing",
        f"<execute>{block(T)}ok",
        MALFORMED,
        respond("ok"),
    ),
    case(
        "a mention of <execute> takes the next block with it",
        f"use <execute>: {block(T)}ok",
        respond("use "),
        MALFORMED,
        respond("ok"),
    ),
    case("broken, and never closed", f"<execute>oops {T} <end> ok", MALFORMED),
    case(
        "100,000 opening brackets",
        f"<execute>{'[' * 100_000}</execute>ok",
        MALFORMED,
        respond("ok"),
    ),
    case("100,000 opening brackets, never closed", f"<execute>{'[' * 100_000}", MALFORMED),
    case(
        "100,000 nested arrays",
        block("[" * 100_000 + "]" * 100_000) + "ok",
        MALFORMED,
        respond("ok"),
    ),
    case(
        "100,000 nested objects",
        block('{"a":' * 100_000 + "1" + "}" * 100_000) + "ok",
        MALFORMED,
        respond("ok"),
    ),
    # Malformed: the stream ends inside the block
    case("cut off after <execute>", "hi<execute>", respond("hi"), MALFORMED),
    case("cut off inside a number", '<execute>[{"name": "t", "args": {"a": 12', MALFORMED),
    case("cut off inside a keyword", '<execute>[{"name": "t", "args": {"a": tru', MALFORMED),
    case("cut off inside a string", '<execute>[{"name": "t", "args": {"a": "x', MALFORMED),
    case("cut off inside an escape", r'<execute>[{"name": "t", "args": {"a": "\u00', MALFORMED),
    case("cut off between calls", '<execute>[{"name": "t", "args": {}}, ', MALFORMED),
    case("cut off before the closing tag", f"<execute>{T}\n", call("t", {}), EXECUTE),
    case("cut off inside the closing tag", f"<execute>{T}</execut", call("t", {}), EXECUTE),
    case("cut off behind an empty array", "<execute>[]", EXECUTE),
    case(
        "cut off behind an array that is not one of calls", "a<execute>[7]", respond("a"), MALFORMED
    ),
    case("cut off behind something else", f"<execute>{T}]", MALFORMED),
    case(
        "cut off behind a string that holds </execute>",
        '<execute>[{"name": "</execute>", "args": {"a": 1',
        MALFORMED,
    ),
]


@pytest.mark.parametrize(("chunks", "expected"), CASES)
def test_text_gives_events(chunks, expected):
    assert outline(read(chunks)) == expected


@pytest.mark.parametrize(("chunks", "expected"), CASES)
def test_one_character_at_a_time_gives_the_same_events(chunks, expected):
    assert outline(read("".join(chunks))) == expected


@pytest.mark.parametrize(("chunks", "expected"), CASES)
def test_token_mode_gives_the_same_text(chunks, expected):
    assert joined(outline(read(chunks, stream="token"))) == joined(expected)


# Values: how an argument is written in the block, and how it stands in the call's content.

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
    pytest.param("600000000000000.2", "600000000000000.2", id="two shortest forms, as near: .2"),
    pytest.param("1000000000000000.25", "1000000000000000.2", id="as near, rounded to even: .25"),
    pytest.param("1000000000000000.75", "1000000000000000.8", id="as near, rounded to even: .75"),
    pytest.param("0." + "3" * 2000, "0.3333333333333333", id="2,000 digits behind the point"),
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
    pytest.param('"\ud83dA"', r'"\ud83dA"', id="a raw lone surrogate"),
    pytest.param('"\\ud83d\ude00"', r'"\ud83d\ude00"', id="an escaped and a raw surrogate"),
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
    """`int` and `json` of any length, for the test's own arithmetic."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


def body_with(value: str) -> str:
    return f'[{{"name": "t", "args": {{"a": {value}}}}}]'


@pytest.mark.parametrize(("written", "content"), VALUES)
def test_an_argument_stands_in_the_call(written, content):
    events = outline(read([block(body_with(written))]))
    assert events == [("call", f'{{"name": "t", "args": {{"a": {content}}}}}'), EXECUTE]


@pytest.mark.usefixtures("unlimited_digits")
@pytest.mark.parametrize(("written", "content"), VALUES)
def test_call_content_is_what_json_reads_and_writes(written, content):
    [expected] = json.loads(body_with(written), strict=False)
    [event, _] = read([block(body_with(written))])
    assert event["content"] == json.dumps(expected)


def test_floats_of_every_size_are_written_as_repr_writes_them():
    """Most of them between 1e14 and 1e16, where two shortest forms may be equally near."""
    pick = random.Random(0)
    sizes = [pick.uniform(1, 10) * 10.0**exponent for exponent in range(-323, 308)]
    numbers = sizes + [pick.uniform(1e14, 1e16) for _ in range(2000)]
    [(_, content), _] = outline(read([block(body_with(repr(numbers)))]))
    written = re.findall(r"[-+.e0-9]+", content.partition("[")[2])
    assert [(repr(n), w) for n, w in zip(numbers, written, strict=True) if repr(n) != w] == []


@pytest.mark.parametrize(("written", "content"), VALUES)
def test_a_value_cut_into_characters_is_the_same_value(written, content):
    events = outline(read(block(body_with(written))))
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
def test_what_json_refuses_is_malformed(written):
    assert outline(read([block(body_with(written))]))[:1] == [MALFORMED]


# Errors: what they say.


def error_in(chunks: Iterable[str]) -> str:
    [error] = [event["content"] for event in read(chunks) if outline([event]) == [MALFORMED]]
    return error


PLACES = [
    pytest.param("oops", 1, 1, id="the first character"),
    pytest.param("  oops", 1, 3, id="behind blanks"),
    pytest.param("\n\n oops", 3, 2, id="on the third line"),
    pytest.param("[\r\n?", 2, 1, id="behind CRLF"),
    pytest.param("[1, 2,\n 3 4]", 2, 4, id="a comma missing"),
    pytest.param('[{"name": "t" "args": {}}]', 1, 15, id="a comma missing between members"),
    pytest.param('[{"name" "t"}]', 1, 10, id="a colon missing"),
    pytest.param("[1}", 1, 3, id="the wrong bracket"),
    pytest.param("1 0", 1, 3, id="a second value"),
    pytest.param("[]]", 1, 3, id="a bracket too many"),
    pytest.param("[] x", 1, 4, id="text behind the array"),
    pytest.param("```json\n[]\n```", 1, 1, id="a fence"),
    pytest.param("[1", 1, 3, id="the closing tag where JSON goes on"),
    pytest.param("\n[1,\n", 3, 1, id="the closing tag on a line of its own"),
    pytest.param('["é日😀", ?]', 1, 9, id="characters count, not bytes"),
    pytest.param('["\ud83d", ?]', 1, 7, id="a lone surrogate is one character"),
    pytest.param('["\u2028\x85\x0b", ?]', 1, 9, id="only a line feed starts a line"),
    pytest.param('["a\nb", ?]', 2, 5, id="a line feed inside a string counts"),
    pytest.param("\u2003\u3000oops", 1, 3, id="behind Unicode blanks"),
]


@pytest.mark.parametrize(("body", "line", "column"), PLACES)
def test_an_error_names_line_and_column_from_the_start_of_the_body(body, line, column):
    assert f"line {line}, column {column}" in error_in([f"hi\n{block(body)}ok"])


@pytest.mark.parametrize(("body", "line", "column"), PLACES)
def test_an_error_in_text_cut_into_characters_names_the_same_place(body, line, column):
    assert f"line {line}, column {column}" in error_in(f"hi\n{block(body)}ok")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(block(""), id="empty"),
        pytest.param(block("{}"), id="not an array"),
        pytest.param(block("[1]"), id="not an object"),
        pytest.param(block('[{"args": {}}]'), id="no name"),
        pytest.param(block('[{"name": 1, "args": {}}]'), id="name no string"),
        pytest.param(block('[{"name": "t"}]'), id="no args"),
        pytest.param(block('[{"name": "t", "args": []}]'), id="args no object"),
        pytest.param(block(body_with("[" * 300 + "]" * 300)), id="too deep"),
        pytest.param(block('["a'), id="unterminated string"),
        pytest.param("<execute>[", id="cut off"),
        pytest.param("<execute>", id="cut off at once"),
    ],
)
def test_every_error_names_a_place(text):
    assert re.search(r"\bline \d+, column \d+\b", error_in(text))


def test_each_block_counts_its_lines_anew():
    first, second = (event["content"] for event in read([block("\n\noops") + block("\noops")]))
    assert ("line 3, column 1" in first, "line 2, column 1" in second) == (True, True)


def test_an_error_is_one_event_in_token_mode_too():
    assert read(block("oops"), stream="token")[0]["content"] == read([block("oops")])[0]["content"]


# Limits: what stands at the bound passes, one beyond it does not.


def calls(count: int) -> str:
    return "[" + ", ".join([T[1:-1]] * count) + "]"


def nested(depth: int) -> str:
    """A body of `depth` opening brackets, one inside the other."""
    return body_with("[" * (depth - 3) + "]" * (depth - 3))


def padded(size: int) -> str:
    """A body of `size` bytes, some of them in two-byte characters."""
    return body_with('"' + "é" * 7 + "x" * (size - 14 - len(body_with('""'))) + '"')


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        pytest.param(calls(3), {"max_calls": 3}, id="calls"),
        pytest.param(calls(1024), {}, id="calls, by default"),
        pytest.param(nested(7), {"max_depth": 7}, id="depth"),
        pytest.param(nested(200), {}, id="depth, by default"),
        pytest.param("[]", {"max_depth": 1}, id="depth of an empty array"),
        pytest.param(padded(100), {"max_block_bytes": 100}, id="bytes"),
        pytest.param(f" {T}\n", {"max_block_bytes": len(T) + 2}, id="bytes, blanks among them"),
        pytest.param(padded(10 * 2**20), {}, id="bytes, by default"),
    ],
)
@pytest.mark.parametrize("stream", ["event", "token"])
def test_a_block_at_a_limit_is_valid(body, limits, stream):
    events = read([block(body)], stream=stream, limits=Limits(**limits))
    assert (outline(events)[-1:], MALFORMED in outline(events)) == ([EXECUTE], False)


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        pytest.param(calls(4), {"max_calls": 3}, id="calls"),
        pytest.param(calls(1025), {}, id="calls, by default"),
        pytest.param(nested(8), {"max_depth": 7}, id="depth"),
        pytest.param(nested(201), {}, id="depth, by default"),
        pytest.param("[[]]", {"max_depth": 1}, id="depth of a nested array"),
        pytest.param(padded(101), {"max_block_bytes": 100}, id="bytes"),
        pytest.param(f" {T}\n", {"max_block_bytes": len(T) + 1}, id="bytes, blanks among them"),
        pytest.param(padded(10 * 2**20 + 1), {}, id="bytes, by default"),
    ],
)
@pytest.mark.parametrize("stream", ["event", "token"])
def test_a_block_beyond_a_limit_is_malformed_and_ends_at_its_closing_tag(body, limits, stream):
    events = read([f"{block(body)}ok"], stream=stream, limits=Limits(**limits))
    assert joined(outline(events)) == [MALFORMED, respond("ok")]


@pytest.mark.parametrize(
    "limits", [{"max_calls": 1}, {"max_depth": 2}], ids=["too many calls", "too deep"]
)
def test_a_block_with_too_much_in_it_still_ends_outside_its_strings(limits):
    body = '[{"name": "</execute>", "args": {}}, {"name": "</execute>", "args": {}}]'
    assert outline(read([f"{block(body)}ok"], limits=Limits(**limits))) == [
        MALFORMED,
        respond("ok"),
    ]


def test_a_block_with_too_many_bytes_ends_at_its_first_closing_tag():
    body = f'["</execute>", "{"x" * 100}"]'
    events = outline(read([block(body)], limits=Limits(max_block_bytes=50)))
    assert events[:1] == [MALFORMED]
    assert "".join(content for _, content in events[1:]) == block(body).partition("</execute>")[2]


def test_a_cut_off_block_with_one_byte_too_many_ends_at_its_first_closing_tag():
    body = '["</execute>"'
    events = outline(read([f"<execute>{body}"], limits=Limits(max_block_bytes=len(body) - 1)))
    assert events == [MALFORMED, respond('"')]


def test_a_block_with_too_many_bytes_that_is_never_closed_is_one_error():
    text = f'hi<execute>["{"x" * 1000}<end>'
    assert outline(read([text], limits=Limits(max_block_bytes=50))) == [respond("hi"), MALFORMED]


RUNS = pytest.mark.parametrize(
    ("opening", "begin"),
    [("", "a"), ("<think>", "a"), ("<results>", '["a')],
    ids=["text", "think", "results"],
)


@RUNS
@pytest.mark.parametrize("size", [7, 8, 9, 16, 17, 1000])
def test_text_longer_than_a_block_may_be_comes_in_pieces(opening, begin, size):
    text = begin + ("aé😀 " * size)[:size]
    pieces = [
        event["content"] for event in read([opening + text], limits=Limits(max_block_bytes=8))
    ]
    assert "".join(pieces) == text
    assert max(len(piece.encode()) for piece in pieces) <= 8


@RUNS
def test_text_longer_than_a_block_may_be_is_not_kept_until_the_end(opening, begin):
    parser = Parser(limits=Limits(max_block_bytes=8))
    fed = [event["content"] for event in parser.feed(opening + begin + "x" * 1000)]
    assert len("".join(fed)) >= 1000 - 8


def test_a_character_larger_than_a_block_may_be_is_not_lost():
    pieces = [event["content"] for event in read(["aé😀"], limits=Limits(max_block_bytes=1))]
    assert "".join(pieces) == "aé😀"


def test_tags_are_found_however_small_the_limit():
    events = outline(read(["a<think>b</think>c<end>"], limits=Limits(max_block_bytes=1)))
    assert events == [respond("a"), think("b"), respond("c"), END]


@pytest.mark.parametrize("field", ["max_block_bytes", "max_depth", "max_calls"])
@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, "10", None], ids=repr)
def test_a_limit_that_is_no_positive_int_is_refused(field, value):
    with pytest.raises(cogency_rs.ConfigError, match=field):
        Limits(**{field: value})


def test_limits_have_defaults():
    limits = Limits()
    assert (limits.max_block_bytes, limits.max_depth, limits.max_calls) == (10 * 2**20, 200, 1024)


# Immediacy: each feed gives what it makes certain.


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
def test_token_mode_gives_text_as_soon_as_it_is_no_tag(chunks, expected):
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


# The parser as an object.


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("<think>a</think>", ["type", "content", "timestamp"]),
        ("a", ["type", "content", "timestamp"]),
        (block("oops"), ["type", "content", "timestamp"]),
        (block(T), ["type", "content", "timestamp"]),
        (block("[]"), ["type", "timestamp"]),
        ("<end>", ["type", "timestamp"]),
        ("<results>[]</results>", ["type", "content", "timestamp", "payload"]),
    ],
    ids=["think", "respond", "malformed", "call", "execute", "end", "result"],
)
@pytest.mark.parametrize("stream", ["event", "token"])
def test_an_event_has_its_keys_in_order(text, keys, stream):
    assert list(read([text], stream=stream)[0]) == keys


def test_a_result_event_has_no_payload():
    [event] = read(["<results>[]</results>"])
    assert event["payload"] is None


def test_a_timestamp_is_the_time_of_day():
    now = time.time()
    stamps = [
        event["timestamp"] for event in read([f"<think>a</think>b<results>[]</results>{block(T)}"])
    ]
    assert [(type(stamp), abs(stamp - now) < 60) for stamp in stamps] == [(float, True)] * 5


def test_timestamps_never_go_back():
    stamps = [event["timestamp"] for event in read("<think>a</think>b<end>" * 20)]
    assert all(earlier <= later for earlier, later in itertools.pairwise(stamps))


def test_a_new_parser_is_not_done():
    assert Parser().done is False


@pytest.mark.parametrize("text", ["a", "<end>", "<think>", "<execute>[]", block("oops")])
def test_a_parser_that_can_go_on_is_not_done(text):
    parser = Parser()
    parser.feed(text)
    assert parser.done is False


@pytest.mark.parametrize("body", ["[]", T])
def test_a_parser_is_done_after_a_valid_block(body):
    parser = Parser()
    parser.feed(block(body))
    assert parser.done is True


def test_a_parser_is_done_after_finish():
    parser = Parser()
    parser.finish()
    assert parser.done is True


@pytest.mark.parametrize("stream", ["event", "token"])
def test_after_a_valid_block_nothing_is_given(stream):
    parser = Parser(stream=stream)
    parser.feed(block(T))
    assert (parser.feed("a<end>"), parser.feed(block(T)), parser.finish()) == ([], [], [])


def test_after_finish_nothing_is_given():
    parser = Parser()
    parser.feed("a")
    parser.finish()
    assert (parser.feed("b<end>"), parser.finish()) == ([], [])


def test_parsers_do_not_share_state():
    one, other = Parser(), Parser()
    one.feed("<think>a")
    assert outline(other.feed("b<end>")) == [respond("b"), END]


@pytest.mark.parametrize("chunk", [None, b"a", 1, ["a"]], ids=repr)
def test_a_chunk_that_is_no_str_is_a_type_error(chunk):
    with pytest.raises(TypeError):
        Parser().feed(chunk)


def test_a_subclass_of_str_is_text():
    class Token(str):
        __slots__ = ()

    assert outline(read([Token("a<end>")])) == [respond("a"), END]


def test_an_unknown_stream_mode_is_refused():
    with pytest.raises(cogency_rs.ConfigError, match="bogus"):
        Parser(stream="bogus")


# parse_execute_block


def test_parse_execute_block_gives_calls():
    body = '[{"name": "t", "args": {"x": [1, 2.5, null, "é"]}}, {"name": "", "args": {}}]'
    assert parse_execute_block(f"a {block(body)} b") == [
        ToolCall("t", {"x": [1, 2.5, None, "é"]}),
        ToolCall("", {}),
    ]


def test_parse_execute_block_gives_no_calls_for_an_empty_array():
    assert parse_execute_block(block("[]")) == []


def test_parse_execute_block_reads_the_first_block_only():
    assert parse_execute_block(block("[]") + block(T)) == []


def test_parse_execute_block_minds_strings():
    body = '[{"name": "t", "args": {"a": "</execute>"}}]'
    assert parse_execute_block(block(body)) == [ToolCall("t", {"a": "</execute>"})]


@pytest.mark.usefixtures("unlimited_digits")
@pytest.mark.parametrize(("written", "content"), VALUES)
def test_parse_execute_block_reads_a_value_as_the_log_holds_it(written, content):
    [parsed] = parse_execute_block(block(body_with(written)))
    [expected] = json.loads(json.dumps(json.loads(body_with(written), strict=False)))
    assert repr(parsed.args) == repr(expected["args"])


def test_parse_execute_block_refuses_integers_longer_than_python_reads():
    text = block(body_with("1" + "0" * 5000))
    with pytest.raises(ProtocolError, match="digits") as caught:
        parse_execute_block(text)
    assert caught.value.original_input == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("a", id="text"),
        pytest.param(" <think>a</think> ", id="no block"),
        pytest.param(f" <execute>{T} ", id="no closing tag"),
        pytest.param(f"{T}</execute>", id="no opening tag"),
        pytest.param("\n<execute></execute>\n", id="empty"),
        pytest.param("\n<execute>oops</execute>\n", id="invalid JSON"),
        pytest.param("\n<execute>{}</execute>\n", id="not an array"),
        pytest.param("\n<execute>[1]</execute>\n", id="not an object"),
        pytest.param('\n<execute>[{"name": "t"}]</execute>\n', id="no args"),
        pytest.param('\n<execute>[{"name": "t", "args": null}]</execute>\n', id="args null"),
        pytest.param('\n<execute>[{"name": 1, "args": {}}]</execute>\n', id="name no string"),
        pytest.param(block(nested(201)), id="too deep"),
        pytest.param(block("[" * 100_000), id="100,000 opening brackets"),
        pytest.param(f"{block('oops')}{block(T)}", id="the first block is broken"),
    ],
)
def test_parse_execute_block_refuses_and_keeps_the_input(text):
    with pytest.raises(ProtocolError) as caught:
        parse_execute_block(text)
    assert caught.value.original_input == text.strip()


def test_parse_execute_block_says_where():
    with pytest.raises(ProtocolError, match="line 2, column 3"):
        parse_execute_block(block("\n  oops"))


@pytest.mark.parametrize("stream", ["event", "token"])
@pytest.mark.parametrize("space", ["", "\n", " \n\n\t"])
def test_space_around_the_calls_of_an_answer_is_no_text(stream, space):
    call = '<tool_call>{"name": "t", "arguments": {}}</tool_call>'
    parser = Parser(dialect="hermes", stream=stream)
    events = [*parser.feed(space + call + space + call + space), *parser.finish()]
    assert [event["type"] for event in events] == ["call", "call", "execute"]
