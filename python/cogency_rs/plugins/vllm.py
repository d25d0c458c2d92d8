"""Parsers of calls and of reasoning for vLLM: `--tool-call-parser cogency`, `--reasoning-parser cogency`.

vLLM calls `register` by the entry point `vllm.general_plugins`. It imports a class of this module when its name is
asked for, so that a worker that parses nothing imports nothing. Its own classes are looked up where its base class has
them, since they move between versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from .. import plugins as shared
from .._core import ChatReader
from . import AnswerText, BeforeServersOwn, Deltas, Dialects

TAIL = 64
"""How many tokens at the end of a text are looked at for a mark of reasoning."""


def register() -> None:
    """Give vLLM our parsers by their names."""
    for manager in (_tools().ToolParserManager, _reasoning().ReasoningParserManager):
        kind = "tools" if hasattr(manager, "get_tool_parser") else "reasoning"
        for name in shared.parser_names("vllm"):
            manager.register_lazy_module(name, __name__, f"{kind}:{name}")


def __getattr__(name: str) -> Any:
    kind, _, parser = name.partition(":")
    if kind == "tools":
        return _class(parser, ToolCalls, _tools().ToolParser)
    if kind == "reasoning":
        return _class(parser, Reasoning, _reasoning().ReasoningParser)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _tools() -> Any:
    return import_module("vllm.tool_parsers.abstract_tool_parser")


def _reasoning() -> Any:
    return import_module("vllm.reasoning.abs_reasoning_parsers")


@cache
def _class(name: str, own: type, base: type) -> type:
    return type(name, (own, base), {"parser_name": name, "__module__": __name__})


class ToolCalls(BeforeServersOwn):
    """Reads calls. Reasoning that no reasoning parser took stays in the content, between its marks."""

    parser_name: str
    supports_required_and_named = False
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(tokenizer, *arguments, **options)
        self._dialects: Dialects = shared.dialects_of(self.parser_name, "vllm", tokenizer)
        self._text = AnswerText(self._dialects)
        self._reader: ChatReader | None = None
        self.prev_tool_call_arr: list[dict[str, Any]] = []
        self.streamed_args_for_tool: list[str] = []

    def adjust_request(self, request: Any) -> Any:
        """Ask for the text with its special tokens, which are marks in many dialects."""
        if getattr(request, "tools", None) and hasattr(request, "skip_special_tokens"):
            request.skip_special_tokens = False
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Read a whole answer."""
        reader = self._open(request)
        deltas = reader.feed(model_output)
        content, made = self._take([*deltas, *reader.finish()[0]], is_last=True)
        types: Any = import_module(_tools().DeltaMessage.__module__)
        calls = [
            types.ToolCall(id=call["id"], type="function", function=call["function"])
            for call in made
        ]
        return types.ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=content or None
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Read the next piece of an answer."""
        if self._reader is None:
            self._reader = self._open(request, streams=True)
        return self._delta(self._reader.feed(delta_text), is_last=False)

    def finish_streaming(self) -> Any:
        """Give what was held back, since no mark can follow."""
        reader, self._reader = self._reader, None
        return self._delta(reader.finish()[0], is_last=True) if reader else None

    def _open(self, request: Any, *, streams: bool = False) -> ChatReader:
        self._text = AnswerText(self._dialects)
        return shared.chat_reader(self._dialects, request, streams=streams)

    def _delta(self, deltas: Deltas, *, is_last: bool) -> Any:
        content, made = self._take(deltas, is_last=is_last)
        if not (content or made):
            return None
        called = {"tool_calls": made} if made else {}
        return _tools().DeltaMessage(content=content or None, **called)

    def _take(self, deltas: Deltas, *, is_last: bool) -> tuple[str, Deltas]:
        """The text and the calls of deltas; and what vLLM looks up of the calls itself."""
        content, calls = self._text.take(deltas, is_last=is_last)
        for call in calls:
            function = call["function"]
            if "name" in function:
                self.prev_tool_call_arr.append({**function})
                self.streamed_args_for_tool.append(function["arguments"])
            else:  # a further piece; what was sent is what there is, so that vLLM adds nothing
                self.prev_tool_call_arr[call["index"]]["arguments"] += function["arguments"]
                self.streamed_args_for_tool[call["index"]] += function["arguments"]
        return content, calls


class Reasoning(BeforeServersOwn):
    """Takes the reasoning that an answer begins with; what follows is left as it is for the parser of calls.

    An answer begins with reasoning if its first mark opens it, or if the prompt has opened it.
    """

    parser_name: str
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(tokenizer, *arguments, **options)
        self._tokenizer = tokenizer
        dialects = shared.dialects_of(self.parser_name, "vllm", tokenizer)
        self._open_mark, self._close_mark = shared.reasoning_marks(dialects)
        self._turn_ends = shared.marks(dialects, "turn_end")
        self._held = ""
        self._has_begun = False
        self._is_open = False
        self._has_ended = False

    def adjust_request(self, request: Any) -> Any:
        """Ask for the text with its special tokens, which are marks of reasoning in many dialects."""
        if hasattr(request, "skip_special_tokens"):
            request.skip_special_tokens = False
        return request

    @property
    def reasoning_start_str(self) -> str:
        """The mark that opens reasoning."""
        return self._open_mark

    @property
    def reasoning_end_str(self) -> str:
        """The mark that closes it."""
        return self._close_mark

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether reasoning is closed at the end of a prompt, or of what was read of an answer."""
        if self._has_ended:
            return True
        text: str = self._tokenizer.decode(list(input_ids[-TAIL:]))
        for mark in self._turn_ends:  # what earlier turns hold says nothing of this one
            text = text.rpartition(mark)[2]
        opened, closed = text.rfind(self._open_mark), text.rfind(self._close_mark)
        self._is_open |= opened > closed
        return closed > opened

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the mark that closes reasoning was read, or there is no reasoning."""
        return self._has_ended

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Any) -> bool:
        """The same, while an answer streams."""
        return self.is_reasoning_end(input_ids)

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """The tokens after the mark that closes reasoning; none if it is not one token."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        end = vocabulary.get(self._close_mark)
        return input_ids[input_ids.index(end) + 1 :] if end in input_ids else []

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """The reasoning of a whole answer, and what follows it."""
        text = model_output.lstrip()
        before, mark, after = text.removeprefix(self._open_mark).partition(self._close_mark)
        if not (mark or text.startswith(self._open_mark)):
            return None, model_output
        return before or None, after or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """The next piece of reasoning, and what follows it as content."""
        text, self._held = self._held + delta_text, ""
        if self._has_ended:
            return self._delta(None, text)
        if not self._has_begun:
            begun = text.lstrip()
            if self._open_mark.startswith(begun) and begun != self._open_mark:
                self._held = text  # perhaps the mark
                return None
            self._has_begun = True
            if begun.startswith(self._open_mark):  # the prompt may have opened it already
                self._is_open, text = True, begun.removeprefix(self._open_mark)
            elif not self._is_open:
                self._has_ended = True
                return self._delta(None, text)
        before, mark, after = text.partition(self._close_mark)
        if mark:
            self._has_ended = True
            return self._delta(before, after)
        kept = _without_partial(text, self._close_mark)
        self._held = text[len(kept) :]
        return self._delta(kept, None)

    def finish_streaming(self, previous_text: str = "") -> Any:
        """Give what was held back, since no mark can follow."""
        text, self._held = self._held, ""
        return self._delta(text, None) if self._is_open else self._delta(None, text)

    def _delta(self, reasoning: str | None, content: str | None) -> Any:
        if not (reasoning or content):
            return None
        message: Any = _tools().DeltaMessage
        field = "reasoning" if "reasoning" in message.model_fields else "reasoning_content"
        return message(**{field: reasoning or None, "content": content or None})


def _without_partial(text: str, mark: str) -> str:
    """The text without the beginning of the mark at its end."""
    for width in range(min(len(text), len(mark) - 1), 0, -1):
        if mark.startswith(text[-width:]):
            return text[:-width]
    return text
