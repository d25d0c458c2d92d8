"""`cogency-rs dialects`: the known ways in which models write their calls."""

from __future__ import annotations

import json as json_
import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from .._core import Dialect
from ..errors import ConfigError
from ..types import ToolCall
from .exits import UnusableError
from .page import Page, cut
from .text import count, visible

__all__ = ["EXAMPLE", "MODELS", "dialects", "facts", "named"]

EXAMPLE = ToolCall("read", {"file": "a.txt", "lines": 20})
"""The call that is shown in every dialect."""

MODELS = "any model that is shown how"
"""The text about models for a dialect that no particular models were taught."""

LABEL = 11


def dialects(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Which dialect; without, all are listed."),
    ] = None,
    detect: Annotated[
        Path | None,
        typer.Option(
            "--detect",
            metavar="FILE",
            help="Detect the dialect of a chat template, a tokenizer_config.json, a GGUF file, or a folder with one.",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print all fields as a line of JSON.")
    ] = False,
) -> None:
    """List the known dialects, describe one, or find out which one a model was taught.

    A dialect is how a model writes its calls. The examples call a tool named read, with a file and a number of lines.
    """
    if detect is not None:
        if name is not None:
            raise UnusableError(f"--detect finds the dialect itself; leave out {name}")
        _detect(detect, json=json)
        return
    shown = [Dialect(each) for each in Dialect.presets()] if name is None else named(name)
    if json:
        for dialect in shown:
            print(json_.dumps(dialect.to_dict()))
    elif name is None:
        _list(shown)
    else:
        _describe(*shown)


def _detect(source: Path, *, json: bool) -> None:
    try:
        found = Dialect.detect(source)
    except ConfigError as error:
        raise UnusableError(str(error)) from error
    if json:
        fields = found and {
            "dialect": found.dialect.name,
            "evidence": found.evidence,
            "doubts": found.doubts,
        }
        print(json_.dumps(fields))
        return
    if found is None:
        raise UnusableError(
            f"no dialect fits the template of {source}: none reads the calls that it writes, or it cannot be "
            "rendered; docs/add-a-dialect.md says how to add one"
        )
    page = Page()
    page.line(Text(found.dialect.name, "bold"))
    for label, sentences in (("evidence", found.evidence), ("doubts", found.doubts)):
        for sentence in sentences:
            page.hanging(Text(f"{label:<{LABEL}}", "bold"), sentence)


def named(names: str) -> list[Dialect]:
    """The dialects with these names, which are separated by commas.

    Raises:
        UnusableError: one is unknown; the message has the nearest.
    """
    try:
        return [Dialect(name.strip()) for name in names.split(",")]
    except ConfigError as error:
        raise UnusableError(str(error)) from error


def _list(shown: list[Dialect]) -> None:
    page = Page()
    page.line(Text(f"{count(len(shown), 'dialect')}; give a NAME for more about one", "bold"))
    for dialect in shown:
        page.hanging(Text(f"{dialect.name:<19}", "bold"), dialect.models or MODELS)
        example = " ".join(visible(dialect.write_calls([EXAMPLE])).split())
        page.write("    " + cut(example, page.width - 4) + "\n", "dim")


def _describe(dialect: Dialect) -> None:
    page = Page()
    page.line(Text(dialect.name, "bold"))
    for label, words in facts(dialect).items():
        page.hanging(Text(f"{label:<{LABEL}}", "bold"), words)
    label = "a call"
    for line in visible(dialect.write_calls([EXAMPLE])).split("\n"):
        page.begin(Text(f"{label:<{LABEL}}", "bold"))
        page.write(line + "\n")
        label = ""


def facts(dialect: Dialect) -> dict[str, str]:
    """The facts about a dialect that its users need, by label."""
    fields = dialect.to_dict()
    texts = {
        "models": dialect.models or MODELS,
        "opened by": _opened_by(dialect, fields),
        "reasoning": _reasoning(fields),
        "values": "; or ".join(dict.fromkeys(map(_values, fields["calls"]))),
        "run": _RUN[fields["batch"]],
        "stop at": _listed([stop.replace("\n", "\\n") for stop in dialect.stop]) or "nothing",
        "left out": _left_out(fields),
    }
    return {label: text for label, text in texts.items() if text}


_RUN = {
    "answer": "when the answer ends; all its calls are one batch",
    "block": "at once, after the first block; nothing after it is read",
}


def _opened_by(dialect: Dialect, fields: dict[str, Any]) -> str:
    marks = [mark.rstrip() for mark in dialect.call_marks()[0]]
    if fields["unmarked"] != "never":
        marks.append(_UNMARKED[fields["unmarked"]])
    words = _listed(marks, "or")
    if fields["at_line_start"]:
        words = f"at the start of a line {words}"
    if fields["heads"] is None:
        return words
    message = f"a message with {fields['heads']['recipient']}{fields['heads']['prefix']}NAME"
    return message if fields["heads"]["names_call"] else f"in {message}: {words}"


_UNMARKED = {
    "at_start": "nothing, at the start of the answer",
    "anywhere": "nothing, anywhere in the answer",
}


def _reasoning(fields: dict[str, Any]) -> str:
    words = [
        f"{opened.strip()} … {close or '(up to the next mark)'}"
        for opened, close in map(_pair, fields["reasoning"])
    ]
    if fields["heads"]:
        words.append(f"messages of {_listed(fields['heads']['reasoning'], 'and')}")
    for call in fields["calls"]:
        keys = call.get("answer", {}).items()
        words += [f"the key {key}" for key, value in keys if value == "{thought}"]
    if fields.get("begins_in_reasoning"):
        words.append("open where the answer begins")
    return _listed(words) or "not marked"


def _values(example: dict[str, Any]) -> str:
    """How the type of an argument is known."""
    call, arg = example["call"], example.get("arg", "")
    if isinstance(call, dict) or "{json}" in call:
        return "JSON"
    if call == "{name}({args})":
        return "Python literals; true, false and null too"
    if found := re.search(r"\{text:(.*?)\}", call):
        return f"a JSON object, or one text: the tool's only parameter, or {found[1]}"
    if found := re.search(r"\{braces:(.*?)\}", call):
        return f"text between two {found[1]}; else by the tool's schema; without one, JSON"
    without = "text"
    if found := re.search(r"\{(\w+)=(.*?)\|", arg):
        without = f'text where {found[1]}="{found[2]}", else JSON'
    elif "{raw|json}" in arg:
        without = "JSON if it is valid JSON, else text"
    elif "{elements" in arg:
        without = "numbers, true, false and null as such, else text"
    return f"by the tool's schema; without one, {without}"


def _left_out(fields: dict[str, Any]) -> str:
    marks = [*fields["ignored"], *(mark for pair in fields["answer"] for mark in _pair(pair))]
    words = [_listed(list(dict.fromkeys(marks)))]
    if fields["turn_end"]:
        words.append(f"{_listed(fields['turn_end'], 'or')} and all text after it")
    words += [f"{each['open']} … {each['close']}" for each in fields["results"] if each["close"]]
    return "; ".join(filter(None, words))


def _pair(marks: str) -> list[str]:
    """The two marks of `<think>{}</think>`."""
    return marks.split("{}")


def _listed(texts: list[str], word: str = "and") -> str:
    """Texts as a list for people: `a, b and c`."""
    *first, last = texts or [""]
    return f"{', '.join(first)} {word} {last}" if first else last
