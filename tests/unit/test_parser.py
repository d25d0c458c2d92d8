"""The parser, one text at a time: the events of each text.

`CASES` is the specification: each row has the same events whole, one character at a time, and in
token mode.
"""

from __future__ import annotations

import pytest

from cogency_rs import Parser
from support.outlines import parse
from support.parsing import (
    END,
    EXECUTE,
    MALFORMED,
    Outline,
    T,
    block,
    call,
    joined,
    outline,
    respond,
    result,
    think,
)


def case(name: str, text: str | tuple[str, ...], *expected: Outline):
    return pytest.param((text,) if isinstance(text, str) else text, list(expected), id=name)


CASES = [
    # Text
    case("nothing", ""),
    case("plain text", "hello", respond("hello")),
    case("text keeps its surrounding whitespace", " hello \n", respond(" hello \n")),
    case("blank text at the end is text", " \n", respond(" \n")),
    case("blank text before a tag is dropped", " \n<end>", END),
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
    case("a lone surrogate in text", "a\ud83db", respond("a\ufffdb")),
    case(
        "a raw surrogate pair in two chunks is one character", ("\ud83d", "\ude00"), respond("😀")
    ),
    case("a raw surrogate pair is one character", "\ud83d\ude00", respond("😀")),
    case("surrogates around a tag", "\ude00<end>\ud83d", respond("\ufffd"), END, respond("\ufffd")),
    case("a lone surrogate in a tag", ("<en\ud83d", "d>"), respond("<en\ufffdd>")),
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
        "results end at their first closing tag, even inside a string",
        '<results>["a</results>b"]</results>',
        result('["a'),
        respond('b"]</results>'),
    ),
    case(
        "a closing tag between two quotes does not end results",
        '<results>["</results>"]</results>a',
        result('["</results>"]'),
        respond("a"),
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
    # `<results>` that is text
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
        "<results> in a string of a broken array",
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
        "the last name wins over one that is not a string",
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
        "of equal keys the last value wins, at the place of the first",
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
        call("t", {"a": "\ufffd"}),
        EXECUTE,
    ),
    case(
        "an escaped and a raw half are two",
        block('[{"name": "t", "args": {"a": "\\ud83d\ude00"}}]'),
        ("call", r'{"name": "t", "args": {"a": "\ud83d\ufffd"}}'),
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
        "the last name is not a string",
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
    # Malformed: broken JSON, so the block ends at its first </execute>, wherever that is
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
        # The second block's `<execute>` is inside the string, which ends at the next quote. There
        # the JSON breaks, and the text after the first `</execute>` is read again.
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
        "broken after a string that holds </execute>",
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
    case("cut off after an empty array", "<execute>[]", EXECUTE),
    case(
        "cut off after an array whose item is not a call", "a<execute>[7]", respond("a"), MALFORMED
    ),
    case("cut off after something else", f"<execute>{T}]", MALFORMED),
    case(
        "cut off after a string that holds </execute>",
        '<execute>[{"name": "</execute>", "args": {"a": 1',
        MALFORMED,
    ),
]


@pytest.mark.parametrize(("chunks", "expected"), CASES)
def test_text_gives_events(chunks, expected):
    assert outline(parse(chunks)) == expected


@pytest.mark.parametrize(("chunks", "expected"), CASES)
def test_one_character_at_a_time_gives_the_same_events(chunks, expected):
    assert outline(parse("".join(chunks))) == expected


@pytest.mark.parametrize(("chunks", "expected"), CASES)
def test_token_mode_gives_the_same_text(chunks, expected):
    assert joined(outline(parse(chunks, stream="token"))) == joined(expected)


@pytest.mark.parametrize("stream", ["event", "token"])
@pytest.mark.parametrize("space", ["", "\n", " \n\n\t"])
def test_space_around_the_calls_of_an_answer_is_not_text(stream, space):
    call = '<tool_call>{"name": "t", "arguments": {}}</tool_call>'
    parser = Parser(dialect="hermes", stream=stream)
    events = [*parser.feed(space + call + space + call + space), *parser.finish()]
    assert [event["type"] for event in events] == ["call", "call", "execute"]
