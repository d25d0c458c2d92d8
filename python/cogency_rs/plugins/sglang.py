"""Parsers of calls and of reasoning for SGLang: `--tool-call-parser cogency`, `--reasoning-parser cogency`.

SGLang calls `register` by the entry point `sglang.srt.plugins`, before it reads its options.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

from .. import plugins as shared
from .._core import ChatReader
from . import AnswerText, BeforeServersOwn, Deltas, Dialects


def register() -> None:
    """Give SGLang our parsers by their names."""
    base: Any = import_module("sglang.srt.function_call.base_format_detector").BaseFormatDetector
    calls: Any = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser
    parser: Any = import_module("sglang.srt.parser.reasoning_parser")
    for table, own, theirs in (
        (calls.ToolCallParserEnum, CallDetector, base),
        (parser.ReasoningParser.DetectorMap, ReasoningDetector, parser.BaseReasoningFormatDetector),
    ):
        for name in shared.parser_names("sglang"):
            table[name] = type(name, (own, theirs), {"parser_name": name, "__module__": __name__})


class CallDetector(BeforeServersOwn):
    """Reads the calls of one answer. Reasoning that no other parser took stays in the text, between its marks."""

    parser_name: ClassVar[str]

    def __init__(self, tokenizer: Any = None) -> None:
        super().__init__()
        self._dialects: Dialects = shared.dialects_of(self.parser_name, "sglang", tokenizer)
        self._text = AnswerText(self._dialects)
        self._reader: ChatReader | None = None

    def has_tool_call(self, text: str) -> bool:
        """Whether the text may be more than text for the user; if not, SGLang does not ask for its calls."""
        if any(mark in text for mark in shared.call_marks(self._dialects)):
            return True
        found = self.detect_and_parse(text, None)
        return bool(found.calls) or found.normal_text != text

    def detect_and_parse(self, text: str, tools: Any) -> Any:
        """Read a whole answer."""
        reader = shared.chat_reader(self._dialects, {"tools": tools})
        deltas = [*reader.feed(text), *reader.finish()[0]]
        return self._result(AnswerText(self._dialects), deltas, is_last=True)

    def parse_streaming_increment(self, new_text: str, tools: Any) -> Any:
        """Read the next piece of an answer."""
        if self._reader is None:
            self._reader = shared.chat_reader(self._dialects, {"tools": tools}, streams=True)
        return self._result(self._text, self._reader.feed(new_text), is_last=False)

    def finish(self, tools: Any) -> Any:
        """Give what was held back, since no mark can follow."""
        reader, self._reader = self._reader, None
        return self._result(self._text, reader.finish()[0] if reader else [], is_last=True)

    def supports_structural_tag(self) -> bool:
        """Whether a call can be described by the marks around its arguments."""
        return False

    def parses_required_natively(self) -> bool:
        """Whether a model that must call writes its dialect, and not the JSON that SGLang would hold it to."""
        return True

    def structure_info(self) -> Any:
        """Part of SGLang's interface, which does not call it, since `supports_structural_tag` is false."""
        raise NotImplementedError("a dialect of cogency-rs has no structural tag")

    def _result(self, text: AnswerText, deltas: Deltas, *, is_last: bool) -> Any:
        types: Any = import_module("sglang.srt.function_call.core_types")
        normal, calls = text.take(deltas, is_last=is_last)
        items = [
            types.ToolCallItem(
                tool_index=call["index"],
                name=call["function"].get("name"),
                parameters=call["function"]["arguments"],
            )
            for call in calls
        ]
        return types.StreamingParseResult(normal_text=normal, calls=items)


class ReasoningDetector(BeforeServersOwn):
    """SGLang's own reading of reasoning, between the marks of the dialect."""

    parser_name: ClassVar[str]

    def __init__(self, *arguments: Any, tokenizer: Any = None, **options: Any) -> None:
        dialects = shared.dialects_of(self.parser_name, "sglang", tokenizer)
        opened, closed = shared.reasoning_marks(dialects)
        super().__init__(opened, closed, *arguments, **options)
