"""What takes text from outside: a table, so that a new function is one line.

A target gets a text, a dialect, and options drawn for it. It may raise whatever it likes.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from cogency_rs import Dialect, Parser, ToolCall, ToolResult
from cogency_rs._core import (
    AnswerReader,
    ArgumentSchema,
    ArgumentValues,
    ChatReader,
    CircuitBreaker,
    Finish,
    Folding,
    FoldOptions,
    ObjectReader,
    Source,
    Turn,
    check_json,
    estimated_tokens,
    event_of_cut,
    format_results,
    line_difference,
    prompt_parts,
    read_block,
    to_messages,
)
from cogency_rs.agent.drivers.native import NativeAnswer
from cogency_rs.agent.drivers.react_decision import DecisionReader
from cogency_rs.agent.prompt import exact_args, inert_value
from cogency_rs.agent.settings import ValueOutput
from cogency_rs.cli import text as shown_text
from cogency_rs.guards.json import read_json, whole_characters
from cogency_rs.guards.secrets import Secrets, key, shown_url
from cogency_rs.models import ReasoningDelta, ToolCallDelta
from cogency_rs.protocol import parse_tool_call, parse_tool_result
from cogency_rs.reader import ChatWriter
from cogency_rs.servers.tool import as_tool_result
from cogency_rs.telemetry.conventions import AnswerContent
from cogency_rs.tools.files import file_tools
from tools.oracle.texts import TOOLS

__all__ = ["EXCEPTIONS", "TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """Something that takes text.

    Attributes:
        name: a short name, for reports.
        run: does the work on a text, in a dialect, with options.
        covers: the names of `_core` that it calls, such as `Parser.feed`.
        options: the values among which each option is drawn.
        of_dialects: whether a dialect matters: its own marks are in the texts.
        largest: characters of the longest text whose growth is looked at.
        share: how often it is drawn, for once of another.
    """

    name: str
    run: Callable[..., object]
    covers: tuple[str, ...] = ()
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    of_dialects: bool = True
    largest: int = 1 << 19
    share: int = 1


def _pieces(text: str, size: int | None) -> Iterable[str]:
    return [text] if size is None else (text[at : at + size] for at in range(0, len(text), size))


_READING: dict[str, tuple[Any, ...]] = {
    "piece": (None, None, None, 64),
    "lenient": (False, False, True),
    "begins_in_think": (None, None, True),
    "reason": (None, "stop", "length"),
}


def parser(
    text: str, dialect: str, *, piece: int | None = None, reason: str | None = None, **options: Any
) -> None:
    reader = Parser(dialect=dialect, tools=TOOLS, **options)
    for each in _pieces(text, piece):
        reader.feed(each)
    reader.finish(reason)


def chat(
    text: str, dialect: str, *, piece: int | None = None, reason: str | None = None, **options: Any
) -> None:
    reader = ChatReader(dialect, TOOLS, **options)
    for each in _pieces(text, piece):
        reader.feed(each)
    reader.finish(reason)


def whole_chat(text: str, dialect: str, **options: Any) -> None:
    ChatReader(dialect, TOOLS, **options).read(text)


async def _stream(pieces: Iterable[str]) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece


def turn(
    text: str, dialect: str, *, piece: int | None = None, is_left: bool = False, **options: Any
) -> None:
    turned = Turn(dialect=dialect, tools=TOOLS, errors="event", **options)

    async def carried_out() -> None:
        source, breaker = Source(_stream(_pieces(text, piece)), turned), CircuitBreaker(5)
        while (steps := await source) is not None:
            for step in steps if isinstance(steps, list) else [steps]:
                if isinstance(step, list):
                    turned.results([ToolResult("ok", text[:100])] * len(step), breaker)
        if is_left:
            turned.leave()
        else:
            turned.finish()

    asyncio.run(carried_out())


def events(
    text: str, dialect: str, *, kind: str, piece: int | None = None, stream: Any = "event"
) -> None:
    turned = Turn(stream=stream)
    for each in _pieces(text, piece):
        turned.event(kind, each)
        turned.pass_on({"type": "tool_call_delta", "content": each})
    turned.error("malformed", text, text, 1, 1)
    turned.finish()


def inert(text: str, dialect: str) -> None:
    Dialect(dialect).inert(text)


def exact(text: str, dialect: str, *, is_broken_up: bool) -> None:
    written = Dialect(dialect).inert(text) if is_broken_up else text
    Dialect(dialect).exact(written)


def write_turn(text: str, dialect: str, *, place: str) -> None:
    Dialect(dialect).write_turn(**{place: text})


def write_calls(text: str, dialect: str, *, place: str) -> None:
    value = {"text": text, "list": [text], "object": {"x": text}, "key": {text: 1}}[place]
    Dialect(dialect).write_calls([ToolCall("note", {"text": value})])


def write_results(text: str, dialect: str, *, is_error: bool) -> None:
    Dialect(dialect).write_results(
        [ToolResult("ok", text, is_error)], calls=[ToolCall("note", {}, "id")]
    )


def declare(text: str, dialect: str, *, place: str) -> None:
    Dialect(dialect).declare([_tool(text, place)])


def grammar(text: str, dialect: str, *, place: str) -> None:
    Dialect(dialect).grammar([_tool(text, place)])


def _tool(text: str, place: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "const": {"x": {"const": text}},
        "enum": {"x": {"enum": [text, *text[:2000]]}},
        "pattern": {"x": {"type": "string", "pattern": text[:2000]}},
        "name": {text: {"type": "string"}},
        "required": {f"{number}": {"type": "string"} for number in range(len(text) // 8)},
        "enums": {
            "x": {
                "allOf": [{"enum": [*range(len(text) // 4)]}, {"enum": [*range(5, len(text) // 4)]}]
            }
        },
        "branches": {"x": {"oneOf": [{"const": number} for number in range(len(text) // 8)]}},
    }.get(place, {})
    parameters = {"type": "object", "properties": fields, "required": [*fields]}
    return {
        "name": "t",
        "description": text if place == "description" else "",
        "parameters": parameters,
    }


def arguments(text: str, dialect: str, *, form: str) -> None:
    if form in ("required", "unknown"):
        names = [f"{number} {text[:9]}" for number in range(len(text) // 8)]
        properties = {name: {"type": "string"} for name in names}
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        given = {f"{name} x": 1 for name in names} if form == "unknown" else {}
        ArgumentSchema({**schema, "required": names}).faults(given)
        return
    field: dict[str, Any] = {
        "pattern": {"type": "string", "pattern": "^[a-z]+( [a-z]+)*$"},
        "length": {"type": "string", "minLength": 3, "maxLength": 5},
        "enum": {"enum": ["a", "b"]},
        "unique": {"type": "array", "uniqueItems": True},
    }[form]
    schema = ArgumentSchema({"type": "object", "properties": {"text": field}, "required": ["text"]})
    schema.faults({"text": [*_pieces(text, 7)] if form == "unique" else text})


def wire(text: str, dialect: str, *, api: Any, frame: str, piece: int | None, extras: bool) -> None:
    reader = AnswerReader(api, secrets=[("a secret", "[key]")], extras=extras)
    match frame:
        case "raw":
            parts = [text]
        case "events":  # an event for each piece
            parts = [
                f"data: {json.dumps({'choices': [{'delta': {'content': each}}]})}\n\n"
                for each in _pieces(text, 16)
            ]
        case "calls":
            parts = [
                "data: " + json.dumps({"choices": [{"delta": {"tool_calls": [
                    {"index": place, "id": f"c{place}", "function": {"name": "t", "arguments": each}}
                ]}}]}) + "\n\n"
                for place, each in enumerate(_pieces(text, 64))
            ]  # fmt: skip
        case "lines":
            parts = [f"data: {each}\n" for each in _pieces(text, 16)]
        case _:
            parts = [f'data: {{"error": {{"message": {json.dumps(text)}}}}}\n\n']
    data = "".join(parts).encode("utf-8", "surrogatepass")
    for at in range(0, len(data), piece or len(data)):
        reader.feed(data[at : at + (piece or len(data))])
    reader.finish()
    reader.break_off("gone")


def json_object(text: str, dialect: str, *, piece: int | None, is_alone: bool, before: str) -> None:
    reader = ObjectReader(is_alone=is_alone)
    values = ArgumentValues()
    for each in _pieces(before + text, piece):
        reader.feed(each)
        values.feed(each)
    reader.finish()
    reader.value()


def block(text: str, dialect: str, *, before: str) -> None:
    read_block(before + text)


def values(text: str, dialect: str) -> None:
    check_json({"text": text, "list": [*_pieces(text, 5)]})


def results(text: str, dialect: str) -> None:
    format_results(["note"], [ToolResult("ok", text)])


def fold(
    text: str, dialect: str, *, row: str, form: Any, rules: Any, escape_tags: bool, many: bool
) -> None:
    folding = Folding(
        FoldOptions(
            form=form,
            rules="own" if form != "text" else rules,
            dialect=dialect,
            escape_tags=escape_tags,
        )
    )
    folding.extend(_rows(text, row, many))
    folding.messages()
    folding.questions()


def _rows(text: str, row: str, many: bool) -> list[dict[str, str]]:
    rows = [{"type": "user", "content": "q"}]
    for each in _pieces(text, 50 if many else None):
        match row:
            case "call" | "result":
                call = {"name": "note", "args": {"text": each if row == "call" else "x"}}
                result = [
                    {
                        "tool": "note",
                        "status": "success",
                        "content": each if row == "result" else "x",
                    }
                ]
                rows.append({"type": "call", "content": json.dumps(call)})
                rows.append({"type": "result", "content": json.dumps(result)})
            case "raw result":
                rows.append({"type": "call", "content": '{"name": "note", "args": {}}'})
                rows.append({"type": "result", "content": each})
            case "failure":
                rows.append({"type": "call", "content": '{"name": "note", "args": {}}'})
                failed = [{"tool": "note", "status": "failure", "content": each}]
                rows.append({"type": "result", "content": json.dumps(failed)})
            case _:
                rows.append({"type": row, "content": each})
    return rows


def messages(text: str, dialect: str, *, row: str, many: bool, escape_tags: bool) -> None:
    folded = to_messages(_rows(text, row, many), dialect=dialect, escape_tags=escape_tags)
    estimated_tokens(folded)


def prompt(text: str, dialect: str) -> None:
    prompt_parts([("t", text, text, {"type": "object"})], text, text, dialect)


def detect(text: str, dialect: str, *, before: str) -> None:
    Dialect.detect(before + text)


def cut(text: str, dialect: str) -> None:
    event_of_cut(Finish("length", details=text))


def codec(text: str, dialect: str, *, before: str) -> None:
    try:
        parse_tool_call(before + text)
    finally:
        parse_tool_result(before + text)


def written_chat(text: str, dialect: str, *, role: str) -> None:
    writer = ChatWriter(dialect, TOOLS)
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "note", "arguments": json.dumps({"text": text})},
    }
    asked: list[dict[str, Any]] = [{"role": "user", "content": "q"}]
    if role in ("call", "tool"):
        small = {**call, "function": {"name": "note", "arguments": '{"text": "x"}'}}
        asked.append(
            {"role": "assistant", "content": "", "tool_calls": [call if role == "call" else small]}
        )
        asked.append(
            {"role": "tool", "tool_call_id": "c", "content": text if role == "tool" else "x"}
        )
    else:
        asked.append({"role": role, "content": text})
    writer.read(writer.write(asked))


@cache
def _output() -> ValueOutput:
    return ValueOutput(int)


def typed(text: str, dialect: str) -> None:
    _output().read(text)


def decision(
    text: str, dialect: str, *, piece: int | None, before: str, reason: str | None
) -> None:
    reader = DecisionReader()
    for each in _pieces(before + text, piece):
        reader.feed(each)
    reader.finish(Finish(reason))


def native(text: str, dialect: str, *, place: str, piece: int, eager: bool) -> None:
    answer = NativeAnswer(shown={"note"}, eager=eager)
    for number, each in enumerate(_pieces(text, piece)):
        match place:
            case "text":
                answer.take(each)
            case "reasoning":
                answer.take(ReasoningDelta(each))
            case "blocks":
                answer.take(ReasoningDelta(each, "sig"))
            case "arguments":
                answer.take(ToolCallDelta(0, *(() if number else ("c", "note")), arguments=each))
            case "echo":
                answer.take(each if number else '```json\n{"text": "' + each)
            case _:
                answer.take(ToolCallDelta(number, f"c{number}", "note", '{"text": "x"}'))
    answer.finish()


def broken_up(text: str, dialect: str) -> None:
    changed = inert_value({"text": text, "list": [*_pieces(text, 50)]})
    exact_args(changed, text)


@cache
def _secrets() -> Secrets:
    return Secrets(key("api_key", "sk-secret-0123456789"), key("token", "aaaaaaaab"))


def redaction(text: str, dialect: str, *, is_error: bool) -> None:
    if is_error:
        _secrets().clean(ValueError(text))
    else:
        _secrets().hide(text)


def address(text: str, dialect: str) -> None:
    shown_url("https://example.com/" + text)


def markdown(text: str, dialect: str) -> None:
    from rich.console import Console

    from cogency_rs.cli.chat.markdown import GrowingMarkdown

    growing = GrowingMarkdown(Console(file=StringIO(), width=80), 80, 2)
    growing.feed(text)
    growing.lines()


@cache
def _inline() -> re.Pattern[str]:
    page = Path(__file__).parents[2] / "examples/web_page/page.js"
    found = re.search(r"const INLINE =\s+/(.+)/g;", page.read_text(encoding="utf-8"))
    assert found is not None, "the pattern of the page's Markdown is not where it was"
    return re.compile(found[1])


def page(text: str, dialect: str) -> None:
    _inline().sub("", text)


def wrapped(text: str, dialect: str, *, piece: int | None) -> None:
    from cogency_rs.cli import wrap

    wrapper = wrap.Wrapper(80, 2)
    for each in _pieces(text, piece):
        wrapper.feed(each)
    wrapper.finish()
    wrap.wrapped(text, 80, 2)


def terminal(text: str, dialect: str) -> None:
    shown_text.one_line(text)
    shown_text.exact(text)
    shown_text.first_lines(text, 20)
    shown_text.decoded(text)
    shown_text.signature("t", {"text": text})


_numbers = count()


@cache
def _folder() -> tuple[tempfile.TemporaryDirectory[str], dict[str, Any]]:
    folder = tempfile.TemporaryDirectory()
    return folder, {tool.name: tool for tool in file_tools(folder.name)}


def files(text: str, dialect: str, *, work: str) -> None:
    folder, tools = _folder()
    path = Path(folder.name) / "t.txt"
    match work:
        case "edit":
            path.write_text(text, encoding="utf-8", newline="")
            tools["edit_file"](path="t.txt", old=text[:5], new="new\n", all=True)
        case "write":
            path.write_text(text, encoding="utf-8", newline="")
            tools["write_file"](path="t.txt", content=text[::-1])
        case "search":
            path.write_text(text, encoding="utf-8", newline="")
            tools["search_files"](text=text.split("\n")[0][-50:] + "x", ignore_case=True)
        case "read":
            path.write_text(text, encoding="utf-8", newline="")
            tools["read_file"](path="t.txt", lines=100_000)
        case _:
            path.write_text("x", encoding="utf-8")
            # Another pattern each time: those that were compiled are kept.
            tools["list_files"](names=f"{text}{next(_numbers)}")


def difference(text: str, dialect: str, *, to: str) -> None:
    lines = text.splitlines(keepends=True)
    match to:
        case "reversed":
            other = lines[::-1]
        case "shuffled":
            other = Random(1).sample(lines, len(lines))
        case "changed":
            other = [line.replace("1", "") for line in lines]
        case _:
            other = lines[len(lines) // 3 :] + lines[: len(lines) // 3]
    line_difference(text, "".join(other))


def server_answer(text: str, dialect: str, *, structured: str) -> None:
    parts = [SimpleNamespace(type="text", text=each) for each in _pieces(text, 50)]
    value: Any = {"none": None, "text": {"result": text}, "same": {"a": text, "b": [text]}}[
        structured
    ]
    answer: Any = SimpleNamespace(
        content=parts, is_error=structured == "none", structured_content=value
    )
    as_tool_result(answer, "t", _secrets())


def traced(text: str, dialect: str) -> None:
    content = AnswerContent()
    for each in _pieces(text, 4):
        content.take(each)
        content.take(ReasoningDelta(each))
    content.message("stop")


def json_text(text: str, dialect: str, *, before: str) -> None:
    whole_characters(text)
    read_json(before + text)


_BEFORE_JSON = (
    "",
    '{"a": "',
    '{"a": [',
    "[",
    '{"a": {"b": ',
    '{"type": "final_answer", "answer": "',
    '[{"name": "',
)
_ROWS = (
    "user",
    "think",
    "respond",
    "call",
    "result",
    "raw result",
    "failure",
    "error",
    "end",
    "settled",
    "cancelled",
)

_SCHEMAS = ("const", "name", "required", "enums", "branches")

TARGETS: list[Target] = [
    Target("parser", parser, ("Parser.__new__", "Parser.feed", "Parser.finish"),
           _READING | {"stream": ("event", "token"), "calls": ("whole", "stream"), "errors": ("respond", "event")},
           share=8),
    Target("chat", chat, ("ChatReader.__new__", "ChatReader.feed", "ChatReader.finish"),
           _READING | {"calls": ("whole", "stream")}, share=2),
    Target("whole chat", whole_chat, ("ChatReader.read",), {"lenient": (False, True)}),
    Target("turn", turn, ("Turn.__new__", "Turn.finish", "Turn.results", "Source.__new__"),
           {"piece": (None, 64), "stream": ("event", "token"), "eager": (False, True), "is_left": (False, True)},
           share=2),
    Target("events", events, ("Turn.event", "Turn.pass_on", "Turn.error"),
           {"kind": ("respond", "think", "call", "user"), "piece": (None, 16), "stream": ("event", "token")},
           of_dialects=False),
    Target("inert", inert, ("Dialect.inert",), share=4),
    Target("exact", exact, ("Dialect.exact",), {"is_broken_up": (True, False)}, share=2),
    Target("write_turn", write_turn, ("Dialect.write_turn",), {"place": ("content", "reasoning")}),
    Target("write_calls", write_calls, ("Dialect.write_calls",), {"place": ("text", "list", "object", "key")}, share=2),
    Target("write_results", write_results, ("Dialect.write_results",), {"is_error": (False, True)}),
    Target("declare", declare, ("Dialect.declare", "ToolSchemas.__new__"), {"place": ("description", *_SCHEMAS)}),
    Target("grammar", grammar, ("Dialect.grammar",), {"place": ("enum", "pattern", *_SCHEMAS)}, largest=1 << 15),
    Target("arguments", arguments, ("ArgumentSchema.__new__", "ArgumentSchema.is_of", "ArgumentSchema.faults"),
           {"form": ("pattern", "length", "enum", "unique", "required", "unknown")}, of_dialects=False),
    Target("wire", wire, ("AnswerReader.__new__", "AnswerReader.feed", "AnswerReader.break_off"),
           {"api": ("completions", "messages"), "frame": ("raw", "events", "calls", "lines", "error"),
            "piece": (None, 64, 1000), "extras": (False, True)}, of_dialects=False, share=2),
    Target("object", json_object, ("ArgumentValues.feed", "ObjectReader.feed"),
           {"piece": (None, 16), "is_alone": (False, True), "before": _BEFORE_JSON}, of_dialects=False),
    Target("read_block", block, ("read_block",),
           {"before": ("", "<execute>", '<execute>[{"name": "t", "args": {"a": "')}, of_dialects=False),
    Target("check_json", values, ("check_json",), of_dialects=False),
    Target("format_results", results, ("format_results",), of_dialects=False),
    Target("fold", fold, ("FoldOptions.__new__", "Folding.__new__", "Folding.extend"),
           {"row": _ROWS, "form": ("text", "text", "native", "react"), "rules": ("own", "installed"),
            "escape_tags": (False, True), "many": (False, True)}, share=4),
    Target("to_messages", messages, ("to_messages", "estimated_tokens"),
           {"row": _ROWS, "many": (False, True), "escape_tags": (False, True)}),
    Target("prompt", prompt, ("prompt_parts",)),
    Target("detect", detect, ("Dialect.detect",), {"before": ("", "{% if tools %}", "{{ '")}, largest=1 << 17),
    Target("cut", cut, ("Finish.__new__", "event_of_cut"), of_dialects=False),
    Target("codec", codec, (), {"before": _BEFORE_JSON}, of_dialects=False),
    Target("written chat", written_chat, (), {"role": ("user", "system", "assistant", "call", "tool")}, share=2),
    Target("typed answer", typed, of_dialects=False, share=2),
    Target("decision", decision, (),
           {"piece": (None, 16), "before": ("", *_BEFORE_JSON), "reason": (None, "stop", "length")}, of_dialects=False),
    Target("native answer", native, (),
           {"place": ("text", "reasoning", "blocks", "arguments", "echo", "calls"), "piece": (1, 4, 64),
            "eager": (False, True)}, of_dialects=False, share=2),
    Target("broken up", broken_up, of_dialects=False),
    Target("redaction", redaction, (), {"is_error": (False, True)}, of_dialects=False),
    Target("address", address, of_dialects=False),
    Target("markdown", markdown, of_dialects=False, largest=1 << 15, share=2),
    Target("page", page, of_dialects=False),
    Target("wrapped", wrapped, (), {"piece": (None, 4)}, of_dialects=False),
    Target("terminal", terminal, of_dialects=False),
    Target("files", files, (), {"work": ("edit", "write", "search", "read", "list")},
           of_dialects=False, largest=1 << 17, share=2),
    Target("difference", difference, ("line_difference",), {"to": ("reversed", "shuffled", "changed", "turned")},
           of_dialects=False),
    Target("server's answer", server_answer, (), {"structured": ("none", "text", "same")}, of_dialects=False),
    Target("traced", traced, of_dialects=False),
    Target("json text", json_text, (), {"before": _BEFORE_JSON}, of_dialects=False),
]  # fmt: skip

EXCEPTIONS: dict[str, str] = {
    "Limits.__new__": "numbers",
    "Dialect.__new__": "a name that the program chooses",
    "Dialect.from_dict": "a dialect is the program's own",
    "Dialect.from_response_template": "as `from_dict`",
    "Dialect.replace": "as `from_dict`",
    "Dialect.__replace__": "as `from_dict`",
    "CircuitBreaker.__new__": "numbers and a choice",
    "turning_marks": "only a dialect",
    "HttpClient.__new__": "the program's own settings",
    "HttpClient.send": "sends; what comes back is read by `AnswerReader`",
    "JsonFault.__new__": "what a reader found, and no text",
    "Folding.name_calls": "records of calls, of which only names and ids are read",
    "decide": "a word of the package",
    "hand_in_clock": "a function, and no text",
}
"""The names of `_core` that take text and are not in the table, with the reason."""
