"""Inputs: what a model may write, what a log may hold, what a tool may do."""

from __future__ import annotations

import asyncio
import json
import math
import os
from functools import partial
from typing import Any

from hypothesis import HealthCheck, settings, strategies as st

from cogency_rs import ToolResult
from cogency_rs.errors import ToolError
from support.examples import examples

from .oracle import Batch, Scenario, Script, cogency

EXAMPLES = int(os.environ.get("COGENCY_RS_PARITY_EXAMPLES", "0"))
"""Examples per property, new ones in each run; with 0, those of the profile in use."""


def parity(count: int = 300) -> settings:
    """The settings of a property; `count` is for `examples`."""
    every = list(HealthCheck)
    if EXAMPLES:
        return settings(max_examples=EXAMPLES, derandomize=False, suppress_health_check=every)
    return examples(count, suppress_health_check=every)


# Text.

SPACES = " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u2003\u2028\u3000"
NEAR_SPACES = "\u200b\ufeff\u180e\x00"

plain = st.text(
    st.one_of(
        st.sampled_from("ab é<>/\"\\{}[],:&'\n"),
        st.sampled_from(SPACES + NEAR_SPACES),
        st.sampled_from(["\U0001f600", "\ud83d", "\ude00", "\u0301", "\u202e"]),
        st.characters(codec=None),
    ),
    max_size=12,
)
words = st.sampled_from(
    ["a", "so", " b ", "\n", "the answer is 4", "é\U0001f600", "", "  ", "\xa0"]
)
spaces = st.text(st.sampled_from(SPACES), max_size=3)
tags = st.sampled_from(
    ["<think>", "</think>", "<execute>", "</execute>", "<results>", "</results>", "<end>"]
)
near_tags = st.sampled_from(
    [
        "<thinking>",
        "<execute >",
        "<EXECUTE>",
        "< think>",
        "<think",
        "</think",
        "</execut",
        "<end/>",
        "</end>",
        "<<end>",
        "<result>",
        "\\u003c/execute>",
        "&lt;end&gt;",
    ]
)


# JSON, as text: the same value in many spellings.

_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\x08": "\\b", "/": "\\/"}

string_contents = st.one_of(
    plain,
    words,
    st.sampled_from(
        ["</execute>", "<execute>[]</execute>", '"</execute>"', "\\</execute>", "a\nb\tc"]
    ),
    st.lists(st.one_of(tags, near_tags, words), max_size=3).map("".join),
)


def spelled(content: str, style: int, *, raw_controls: bool) -> str:
    """`content` as a JSON string; `style` says which characters are escaped, and how."""
    characters = []
    for at, character in enumerate(content):
        code, choice = ord(character), (style >> at % 8) & 1
        if character in '"\\' or (code < 0x20 and not raw_controls) or (style > 255 and choice):
            short = _SHORT.get(character) if choice else None
            characters.append(short or _escape(code, upper=bool(style & 512)))
        else:
            characters.append(character)
    return '"' + "".join(characters) + '"'


def _escape(code: int, *, upper: bool) -> str:
    units = [code]
    if code >= 0x10000:
        units = [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]
    return "".join(f"\\u{unit:04X}" if upper else f"\\u{unit:04x}" for unit in units)


def json_strings(*, raw_controls: bool = False) -> st.SearchStrategy[str]:
    return st.builds(
        partial(spelled, raw_controls=raw_controls), string_contents, st.integers(0, 1023)
    )


numbers = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["", "-"]),
        st.sampled_from(["0", "1", "7", "10", "123456789012345678", "9007199254740993"]),
        st.sampled_from(["", ".0", ".5", ".10", ".000001", ".30000000000000004"]),
        st.sampled_from(["", "e", "E", "e+", "E-"]),
        st.sampled_from(["", "0", "5", "15", "16", "17", "22", "023", "300", "400"]),
    ).filter(lambda text: text[-1].isdigit() and ("e" in text.lower() or _is_number(text))),
)


def _is_number(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


scalars = st.one_of(
    numbers.filter(_is_number),
    st.sampled_from(["null", "true", "false", "NaN", "Infinity", "-Infinity"]),
)


def json_values(*, raw_controls: bool = False) -> st.SearchStrategy[str]:
    strings = json_strings(raw_controls=raw_controls)
    gaps = st.sampled_from(["", "", "", " ", "\n  ", "\t", "\r\n"])

    def arrays(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.builds(
            lambda found, gap: f"[{gap}{(gap + ',' + gap).join(found)}{gap}]",
            st.lists(items, max_size=3),
            gaps,
        )

    def objects(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        keys = st.one_of(strings, st.sampled_from(['"k"', '"name"', '"args"', '"\\u006bx"']))
        return st.builds(
            lambda found, gap: (
                "{"
                + gap
                + f"{gap},{gap}".join(f"{key}{gap}:{gap}{item}" for key, item in found)
                + gap
                + "}"
            ),
            st.lists(st.tuples(keys, items), max_size=3),
            gaps,
        )

    return st.recursive(
        st.one_of(scalars, strings),
        lambda items: st.one_of(arrays(items), objects(items)),
        max_leaves=6,
    )


def calls(*, raw_controls: bool = False) -> st.SearchStrategy[str]:
    """A call: nearly always a good one."""
    values = json_values(raw_controls=raw_controls)
    args = st.one_of(
        st.just("{}"),
        st.builds('{{"x": {}}}'.format, values),
        st.builds(
            '{{ "x": {},\n"y" :{} }}'.format, json_strings(raw_controls=raw_controls), values
        ),
    )
    names = st.one_of(st.sampled_from(['"a"', '"b"', '"shell"', '""']), json_strings())
    good = st.builds(
        "{{{}: {}, {}: {}}}".format,
        st.sampled_from(['"name"', '"\\u006eame"']),
        names,
        st.sampled_from(['"args"', '"arg\\u0073" ']),
        args,
    )
    odd = st.one_of(
        st.builds('{{"args": {}, "id": {}, "name": {}}}'.format, args, values, names),
        st.builds('{{"name": {}, "args": [], "name": {}, "args": {}}}'.format, values, names, args),
        st.builds('{{"name": {}, "args": {}}}'.format, values, values),
        st.builds('{{"name": {}}}'.format, names),
        st.builds('{{"args": {}}}'.format, args),
        values,
    )
    return st.one_of(*[good] * 9, odd)


def _arrays(*, raw_controls: bool) -> st.SearchStrategy[str]:
    return st.builds(
        "[{}]".format, st.lists(calls(raw_controls=raw_controls), max_size=3).map(", ".join)
    )


good_arrays = st.one_of(_arrays(raw_controls=False), _arrays(raw_controls=True))
damaged_arrays = st.builds(
    lambda array, at, inserted, dropped: (
        array[: int(at * len(array))] + inserted + array[int(at * len(array)) + dropped :]
    ),
    good_arrays,
    st.floats(0, 1),
    st.sampled_from(["", "", '"', "\\", ",", "}", "]", "x", "<", "1", "\x00", "-", "\xa0"]),
    st.integers(0, 1),
)
cut_arrays = st.builds(
    lambda array, at: array[: int(at * len(array))], good_arrays, st.floats(0, 1)
)
deep_arrays = st.sampled_from([2, 196, 197, 198, 230, 3000]).map(
    lambda depth: '[{"name": "a", "args": {"x": ' + "[" * depth + "]" * depth + "}}]"
)
huge_arrays = st.sampled_from(["", "-"]).flatmap(
    lambda sign: st.sampled_from([4299, 4300, 4301, 5000]).map(
        lambda digits: '[{"name": "a", "args": {"x": ' + sign + "7" * digits + "}}]"
    )
)
readable_bodies = st.builds(
    "{}{}{}".format,
    spaces,
    st.one_of(
        *[good_arrays] * 7,
        damaged_arrays,
        cut_arrays,
        json_values(raw_controls=True),
        st.one_of(plain, words),
    ),
    spaces,
)
bodies = st.one_of(*[readable_bodies] * 11, deep_arrays, huge_arrays)


blocks = st.builds(
    "{}{}{}".format,
    st.just("<execute>"),
    bodies,
    st.sampled_from(["</execute>"] * 9 + ["", "</execute", "</think>"]),
)
before_quotes = st.sampled_from(["", "a", ".", " "])
mentions = st.builds(
    "{0}{1}{2}{1}".format,
    before_quotes,
    st.sampled_from(["`", '"', "'", "```"]),
    st.one_of(tags, tags, blocks),
)
fences = st.sampled_from(["```\n", "\n```\n", "\n   ~~~\n", "```xml\n", "\n````\n", "\n```"])
quotes = st.one_of(mentions, fences)

asides = st.sampled_from(["think", "results"]).flatmap(
    lambda kind: st.builds(
        "<{0}>{1}{2}".format,
        st.just(kind),
        st.one_of(plain, words, tags, near_tags, mentions, blocks, bodies, bodies),
        st.sampled_from([f"</{kind}>"] * 9 + ["", "</execute>", "</thin"]),
    )
)


texts = st.lists(
    st.one_of(plain, words, tags, near_tags, quotes, asides, blocks, blocks), max_size=6
).map("".join)


@st.composite
def cut(draw: st.DrawFn, text: str, most: int = 6) -> list[str]:
    """The chunks of a text that is cut anywhere."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=most)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


# Calls and results as values.

json_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), plain, words, st.just(10**30)
)
json_trees = st.recursive(
    json_scalars,
    lambda items: st.one_of(st.lists(items, max_size=3), st.dictionaries(plain, items, max_size=3)),
    max_leaves=6,
)
not_json = st.sampled_from([b"", b"bytes", {1, 2}, set(), object, 1j, {("a",): 1}])
not_finite = st.sampled_from([math.nan, [0, math.inf], {"a": [{"b": -math.inf}]}])
anything = st.one_of(json_trees, not_json, not_finite)


class TextlessError(Exception):
    """An exception whose text is empty."""


class UnreadableError(Exception):
    """An exception whose text cannot be made."""

    def __str__(self) -> str:
        raise ValueError("no text")


class Exit(BaseException):
    """An exception that `except Exception` does not catch."""


def their_tool_error() -> Exception:
    error: Exception = cogency("core.errors").ToolError("in its own words", validation_failed=True)
    return error


errors = st.one_of(
    st.sampled_from(
        [
            ValueError("bad"),
            KeyError("key"),
            TypeError(""),
            TextlessError(),
            OSError(2, "No such file"),
            Exception("é\ud800"),
            StopAsyncIteration("x"),
            TimeoutError(),
            RecursionError("deep"),
            UnreadableError(),
            ToolError("in its own words"),
            ToolError(""),
        ]
    ),
    st.builds(their_tool_error),
)
results = st.builds(
    ToolResult,
    outcome=st.one_of(words, plain),
    content=json_trees,
    error=st.sampled_from([False, False, False, True]),
)
good_scripts = st.builds(Script, results)
scripts = st.builds(
    Script,
    st.one_of(
        results,
        results,
        st.builds(ToolResult, outcome=words, content=anything),
        errors,
        st.sampled_from([asyncio.CancelledError(), asyncio.CancelledError("by itself")]),
        st.sampled_from([SystemExit(3), Exit("out")]),
        anything,
    ),
    st.sampled_from(["async", "async", "async", "plain"]),
)
tool_names = st.sampled_from(["a", "b", "shell"])
toolboxes = st.dictionaries(tool_names, scripts, max_size=3)

flat_schemas = st.dictionaries(
    st.sampled_from("xyz"),
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["string", "integer", "number", "boolean", "array", "object", "date"]
            ),
            "required": st.booleans(),
            "min": st.integers(-2, 2),
            "max": st.integers(0, 5),
            "min_length": st.integers(0, 2),
            "max_length": st.integers(1, 5),
            "default": st.sampled_from([None, 1]),
            "description": words,
        },
    ),
    max_size=3,
)
turn_schemas = st.one_of(
    st.dictionaries(
        st.sampled_from(["x", "user_id", "storage", "timeout", "access"]), st.just({}), max_size=3
    ),
    st.builds(
        lambda properties, more: {"type": "object", "properties": properties, **more},
        st.dictionaries(
            st.sampled_from(["x", "user_id", "storage", "timeout", "access"]),
            st.just({}),
            max_size=3,
        ),
        st.sampled_from([{}, {"additionalProperties": True}, {"additionalProperties": False}]),
    ),
)
"""Schemas that declare arguments which the turn also gives."""
batches = st.builds(
    Batch,
    calls=st.lists(
        st.tuples(
            st.one_of(tool_names, tool_names, plain),
            st.dictionaries(
                st.one_of(st.sampled_from(["x", "storage", "timeout"]), plain),
                json_trees,
                max_size=2,
            ),
        ),
        max_size=4,
    ).map(tuple),
    scripts=toolboxes,
    user_id=st.sampled_from(["user", ""]),
)


# Events as some parser makes them.

call_texts = st.one_of(
    st.builds(
        lambda name, args: json.dumps({"name": name, "args": args}),
        tool_names,
        st.dictionaries(words, json_trees, max_size=2),
    ),
    calls(),
    st.builds("  {} ".format, calls()),
    st.sampled_from(['{"name": "a"}', '{"name": "a", "args": {"x": """b"""}}', "[]", "", "{", "x"]),
)


def made(kind: str, contents: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda content: {"type": kind, "content": content, "timestamp": 1.0}, contents)


def bare(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.just({"type": kind, "timestamp": 1.0})


good_call_texts = st.builds(
    lambda name, args: json.dumps({"name": name, "args": args}),
    tool_names,
    st.dictionaries(words, json_trees, max_size=2),
)
good_batches = st.lists(made("call", good_call_texts), min_size=1, max_size=3).map(
    lambda made: [*made, {"type": "execute", "timestamp": 1.0}]
)
turn_events = st.one_of(
    made("think", words),
    made("respond", words),
    made("respond", plain),
    made("result", words),
    made("call", good_call_texts),
    bare("execute"),
    bare("execute"),
)
odd_events = st.one_of(
    made("call", call_texts),
    bare("end"),
    made("end", words),
    made("user", words),
    made("error", words),
    st.builds(
        lambda **fields: {"type": "error", "timestamp": 1.0, **fields},
        content=words,
        kind=st.sampled_from(["malformed", "unfinished", "truncated", "refused", "model", None]),
        raw=st.one_of(st.none(), words, plain),
        line=st.one_of(st.none(), st.just(1)),
        column=st.one_of(st.none(), st.just(9)),
    ),
    made("cancelled", words),
    st.just({"type": "metric", "step": {}, "total": {}, "timestamp": 1.0}),
    st.just({"type": "error", "content": {"code": 1}, "timestamp": 1.0}),
    st.sampled_from(["respond", "think", "result", "call"]).flatmap(
        lambda kind: st.sampled_from(
            [
                {"type": kind},
                {"type": kind, "content": None},
                {"content": "a", "type": kind, "more": 1},
            ]
        )
    ),
    st.sampled_from(
        [{"type": "respond", "content": 5}, {"type": 5, "content": "a"}, {}, {"content": "a"}, None]
    ),
    st.sampled_from([ValueError("source"), ConnectionError("")]),
)
turns = st.lists(
    st.one_of(
        turn_events.map(lambda event: [event]),
        turn_events.map(lambda event: [event]),
        good_batches,
        odd_events.map(lambda event: [event]),
    ),
    max_size=6,
).map(lambda parts: tuple(event for part in parts for event in part))
scenarios = st.builds(
    Scenario,
    turns=st.lists(turns, min_size=1, max_size=3).map(tuple),
    scripts=toolboxes,
    stream=st.sampled_from(["event", "token"]),
    max_failures=st.sampled_from([3, 3, 3, 1, 2, 0, -1, 100]),
)
good_turns = st.lists(
    st.one_of(turn_events.map(lambda event: [event]), good_batches), min_size=1, max_size=6
).map(lambda parts: tuple(event for part in parts for event in part))


# The log.

stored_kinds = st.sampled_from(
    [
        "user",
        "think",
        "respond",
        "call",
        "result",
        "call",
        "result",
        "metric",
        "cancelled",
        "Call",
        "",
    ]
)
stored = st.one_of(
    made("user", st.one_of(words, plain)),
    made("think", st.one_of(words, plain)),
    made("respond", st.one_of(words, plain)),
    made("call", call_texts),
    made("call", good_call_texts),
    made("result", st.one_of(words, st.just('[{"tool": "a", "status": "success", "content": 1}]'))),
)
odd_stored = st.one_of(
    stored_kinds.flatmap(lambda kind: made(kind, st.one_of(anything, call_texts))),
    stored_kinds.map(lambda kind: {"type": kind}),
    st.sampled_from(
        [
            {},
            {"content": "a"},
            {"type": None, "content": "a"},
            {"type": 5},
            None,
            5,
            "user",
            ["type"],
        ]
    ),
    made(
        "call",
        st.sampled_from([b'{"name": "a", "args": {}}', bytearray(b"{}"), 5, None, "\ufeff{}"]),
    ),
    made("call", json_values(raw_controls=True)),
    made("call", readable_bodies),
)
logs = st.lists(stored, max_size=10)
odd_logs = st.lists(st.one_of(stored, stored, stored, odd_stored), max_size=8)
