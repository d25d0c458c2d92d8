"""Parsers in the servers: a text, whole and piece by piece, through the classes that vLLM and SGLang serve with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Literal

from cogency_rs import Dialect
from support.recordings import FOLDER

MARK = re.compile(r"<[^<>\s=]+>|\[/?[A-Z_]+\]")
"""What is one token of a model, in the fields of a dialect."""

Server = Literal["vllm", "sglang"]
Tools = list[dict[str, Any]]


@dataclass
class Answer:
    """What a server sends: the text, and the names and arguments of calls as they were sent."""

    text: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    sent: list[int] = field(default_factory=list[int], compare=False)
    """The number of each piece of the text, from 1, after which something of a call was sent."""

    def add(self, index: int, name: str | None, arguments: str | None, after: int = 1) -> None:
        if name or arguments:
            self.sent.append(after)
        while len(self.calls) <= index:
            self.calls.append(("", ""))
        known, before = self.calls[index]
        self.calls[index] = known + (name or ""), before + (arguments or "")

    def values(self) -> list[dict[str, Any]]:
        """The calls with their arguments as values; what is not JSON stays text."""
        return [{"name": name, "args": _value(arguments)} for name, arguments in self.calls]


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


@cache
def marks(dialect: Dialect) -> tuple[str, ...]:
    """The marks of a dialect that its models write as one token."""
    return tuple(
        sorted({mark for text in _texts(dialect.to_dict()) for mark in MARK.findall(text)})
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def pieces(dialect: Dialect, text: str, width: int = 1) -> list[str]:
    """A text as a model of this dialect streams it: a mark in one piece, else so many characters at a time."""
    ordered = sorted(marks(dialect), key=len, reverse=True)
    cut = "|".join([*map(re.escape, ordered), f".{{1,{width}}}"])
    return re.findall(cut, text, re.DOTALL)


@cache
def response_template(name: str) -> dict[str, Any] | None:
    """What the tokenizer of a model has for a parser that reads by it. SGLang has that of Beam's models."""
    if name == "beam":
        of_beam: dict[str, Any] = import_module("sglang.srt.parser.beam").BEAM_RESPONSE_TEMPLATE
        return of_beam
    if name not in ("hf", "response_template"):
        return None
    recorded = json.loads((FOLDER / "response_templates.json").read_text(encoding="utf-8"))
    named = {each["name"]: each["template"] for each in recorded["templates"]}
    template: dict[str, Any] = named["hf_test_smollm_template"]
    return template


@cache
def tokenizer(dialect: Dialect, parser: str = "") -> Any:
    """A tokenizer in which each mark is a token, and else each byte; with what the parser looks up in it."""
    tokenizers: Any = import_module("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {byte: number for number, byte in enumerate(alphabet)}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(list(marks(dialect)))
    speaker = import_module("transformers").PreTrainedTokenizerFast(tokenizer_object=made)
    if template := response_template(parser.removeprefix("cogency_")):
        speaker.response_template = template
    return speaker


Reader = Callable[[list[str]], Answer]
"""Reads a text in these pieces; a text in one piece is read as a whole answer."""


def of_vllm(name: str, dialect: Dialect, tools: Tools) -> Reader:
    """A reader by vLLM's parser of this name."""
    manager: Any = import_module("vllm.parser.parser_manager").ParserManager
    protocol: Any = import_module("vllm.entrypoints.openai.chat_completion.protocol")
    request: Any = protocol.ChatCompletionRequest(
        model="m", messages=[{"role": "user", "content": "?"}], tools=tools, tool_choice="auto"
    )
    made = manager.get_parser(
        tool_parser_name=name, enable_auto_tools=True, is_harmony=name == "openai"
    )
    speaker = tokenizer(dialect, name)
    encode = cache(lambda chunk: speaker.encode(chunk, add_special_tokens=False))
    if name == "openai":  # it reads nothing but tokens, of a vocabulary of its own
        harmony: Any = import_module("vllm.entrypoints.openai.parser.harmony_utils").get_encoding()
        encode = cache(lambda chunk: harmony.encode(chunk, allowed_special="all"))

    def read(chunks: list[str]) -> Answer:
        parser, answer = made(speaker, request.tools), Answer()
        if len(chunks) == 1:
            ids = encode(chunks[0])
            _, content, calls = parser.parse(chunks[0], request, True, ids)
            answer.text = content or ""
            for index, call in enumerate(calls or ()):
                answer.add(index, call.name, call.arguments)
            return answer
        for number, chunk in enumerate(chunks, 1):
            finished = number == len(chunks)
            delta = parser.parse_delta(chunk, encode(chunk), request, [], finished=finished)
            answer.text += (delta and delta.content) or ""
            for call in delta.tool_calls if delta else ():
                function = call.function
                answer.add(
                    call.index,
                    function and function.name,
                    function and function.arguments,
                    after=number,
                )
        return answer

    return read


def of_sglang(name: str, dialect: Dialect, tools: Tools) -> Reader:
    """A reader by SGLang's parser of this name."""
    protocol: Any = import_module("sglang.srt.entrypoints.openai.protocol")
    parser_class: Any = import_module(
        "sglang.srt.function_call.function_call_parser"
    ).FunctionCallParser
    declared = [protocol.Tool(**tool) for tool in tools]
    speaker = tokenizer(dialect, name)

    def read(chunks: list[str]) -> Answer:
        parser, answer = parser_class(declared, name, tokenizer=speaker), Answer()
        if len(chunks) == 1:
            if not parser.has_tool_call(chunks[0]):  # as the server does
                return Answer(chunks[0])
            answer.text, calls = parser.parse_non_stream(chunks[0])
            answer.calls = [(call.name or "", call.parameters) for call in calls]
            return answer
        for number, chunk in enumerate((*chunks, None), 1):
            found = parser.parse_stream_end() if chunk is None else parser.parse_stream_chunk(chunk)
            answer.text += found[0]
            for call in found[1]:
                answer.add(call.tool_index, call.name, call.parameters, after=number)
        for index, rest in _unsent(parser.detector):
            answer.add(index, None, rest, after=len(chunks))
        return answer

    return read


def _unsent(detector: Any) -> Iterator[tuple[int, str]]:
    """What SGLang sends at the end of an answer, of the arguments of the last call."""
    index = len(detector.prev_tool_call_arr) - 1
    if 0 <= index < len(detector.streamed_args_for_tool):
        arguments = detector.prev_tool_call_arr[index].get("arguments", {})
        text = (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )
        sent = detector.streamed_args_for_tool[index]
        if text.startswith(sent) and text != sent:
            yield index, text[len(sent) :]


READERS: dict[Server, Callable[[str, Dialect, Tools], Reader]] = {
    "vllm": of_vllm,
    "sglang": of_sglang,
}


def load_plugins(server: Server) -> None:
    """Let a server load its plugins, as it does when it starts."""
    if server == "vllm":
        import_module("vllm.plugins").load_general_plugins()
    else:
        import_module("sglang.srt.plugins").load_plugins()
