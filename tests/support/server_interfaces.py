"""The interfaces of vLLM and SGLang that our parsers are written against: names and signatures as in their sources.

vLLM 0.33.0: `vllm/tool_parsers/abstract_tool_parser.py` and `vllm/reasoning/abs_reasoning_parsers.py`; 0.12 has the
same without `tools`. SGLang 0.5.23: `sglang/srt/function_call` and `sglang/srt/parser/reasoning_parser.py`.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from pydantic import BaseModel, Field

__all__ = ["Function", "Request", "Tool", "install"]


class Function(BaseModel):
    name: str
    parameters: dict[str, Any] | None = None


class Tool(BaseModel):
    type: Literal["function"] = "function"
    function: Function


class Request(BaseModel):
    tools: list[Tool] | None = None
    tool_choice: Any = "auto"
    skip_special_tokens: bool = True


class FunctionCall(BaseModel):
    name: str
    arguments: str


class ToolCall(BaseModel):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class DeltaFunctionCall(BaseModel):
    name: str | None = None
    arguments: str | None = None


class DeltaToolCall(BaseModel):
    id: str | None = None
    type: Literal["function"] | None = None
    index: int
    function: DeltaFunctionCall | None = None


class DeltaMessage(BaseModel):
    role: str | None = None
    content: str | None = None
    reasoning: str | None = None
    tool_calls: list[DeltaToolCall] = Field(default_factory=list[DeltaToolCall])


class ExtractedToolCallInformation(BaseModel):
    tools_called: bool
    tool_calls: list[ToolCall]
    content: str | None = None


class LazyManager:
    """What both of vLLM's managers do with a lazy name."""

    lazy_parsers: dict[str, tuple[str, str]]
    base: type

    @classmethod
    def register_lazy_module(cls, name: str, module_path: str, class_name: str) -> None:
        cls.lazy_parsers[name] = (module_path, class_name)

    @classmethod
    def load(cls, name: str) -> Any:
        module_path, class_name = cls.lazy_parsers[name]
        found: Any = getattr(import_module(module_path), class_name)
        assert issubclass(found, cls.base)
        return found


class ToolParser:
    supports_required_and_named: bool = True
    structural_tag_model: str | None = None
    engine_based_streaming: bool = False

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None:
        self.prev_tool_call_arr: list[dict[str, Any]] = []
        self.current_tool_id: int = -1
        self.current_tool_name_sent: bool = False
        self.streamed_args_for_tool: list[str] = []
        self.model_tokenizer = tokenizer
        self.tools = tools or []

    def adjust_request(self, request: Any) -> Any:
        raise AssertionError("this would hold the model to JSON")


class ToolParserManager(LazyManager):
    lazy_parsers: dict[str, tuple[str, str]] = {}  # noqa: RUF012
    base = ToolParser

    @classmethod
    def get_tool_parser(cls, name: str) -> Any:
        return cls.load(name)


class ReasoningParser:
    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        self.model_tokenizer = tokenizer


class ReasoningParserManager(LazyManager):
    lazy_parsers: dict[str, tuple[str, str]] = {}  # noqa: RUF012
    base = ReasoningParser

    @classmethod
    def get_reasoning_parser(cls, name: str) -> Any:
        return cls.load(name)


class ToolCallItem(BaseModel):
    tool_index: int
    name: str | None = None
    parameters: str


class StreamingParseResult(BaseModel):
    normal_text: str = ""
    calls: list[ToolCallItem] = []


class BaseFormatDetector(ABC):
    def __init__(self) -> None:
        self.prev_tool_call_arr: list[dict[str, Any]] = []
        self.streamed_args_for_tool: list[str] = []

    @abstractmethod
    def detect_and_parse(self, text: str, tools: list[Any]) -> StreamingParseResult: ...

    @abstractmethod
    def has_tool_call(self, text: str) -> bool: ...

    @abstractmethod
    def structure_info(self) -> Any: ...

    @abstractmethod
    def build_ebnf(self, tools: list[Any]) -> str: ...


class FunctionCallParser:
    ToolCallParserEnum: dict[str, type[BaseFormatDetector]] = {}  # noqa: RUF012


class BaseReasoningFormatDetector:
    def __init__(
        self,
        think_start_token: str,
        think_end_token: str,
        think_excluded_tokens: list[str] | None = None,
        force_reasoning: bool = False,
        stream_reasoning: bool = True,
    ) -> None:
        self.think_start_token = think_start_token
        self.think_end_token = think_end_token
        self.stream_reasoning = stream_reasoning


class ReasoningParserOfSGLang:
    DetectorMap: dict[str, type[BaseReasoningFormatDetector]] = {}  # noqa: RUF012


MODULES: dict[str, dict[str, Any]] = {
    "vllm.tool_parsers.abstract_tool_parser": {
        "DeltaMessage": DeltaMessage,
        "ToolParser": ToolParser,
        "ToolParserManager": ToolParserManager,
    },
    "vllm.reasoning.abs_reasoning_parsers": {
        "ReasoningParser": ReasoningParser,
        "ReasoningParserManager": ReasoningParserManager,
    },
    "sglang.srt.function_call.base_format_detector": {"BaseFormatDetector": BaseFormatDetector},
    "sglang.srt.function_call.core_types": {
        "StreamingParseResult": StreamingParseResult,
        "ToolCallItem": ToolCallItem,
    },
    "sglang.srt.function_call.function_call_parser": {"FunctionCallParser": FunctionCallParser},
    "sglang.srt.parser.reasoning_parser": {
        "BaseReasoningFormatDetector": BaseReasoningFormatDetector,
        "ReasoningParser": ReasoningParserOfSGLang,
    },
}


def install(patch: Any) -> None:
    """Put the modules in place until the patch is undone, with the registries as they are before any plugin."""
    for path, names in MODULES.items():
        module = ModuleType(path)
        vars(module).update(names)
        patch.setitem(sys.modules, path, module)
    for registry in (ToolParserManager, ReasoningParserManager):
        patch.setattr(registry, "lazy_parsers", {})
    patch.setattr(FunctionCallParser, "ToolCallParserEnum", {})
    patch.setattr(ReasoningParserOfSGLang, "DetectorMap", {})
