"""The interfaces of vLLM and SGLang that our parsers are written against, without the servers.

`server_interfaces.json` has what the servers' own classes are: names, parameters and fields, recorded by
`python -m servers.record`; `unit/test_server_interfaces.py` holds the classes here to it. Where the servers are
installed, as in `make servers`, their own classes take the place of these.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal

from pydantic import BaseModel, Field

__all__ = [
    "ARE_REAL",
    "MODULES",
    "detectors",
    "install",
    "parser_of_calls",
    "parser_of_reasoning",
    "request",
    "tool",
]

ARE_REAL = find_spec("vllm") is not None and find_spec("sglang") is not None


class Function(BaseModel):
    name: str
    parameters: dict[str, Any] | None = None


class Tool(BaseModel):
    type: Literal["function"] = "function"
    function: Function


class Request(BaseModel):
    tools: list[Tool] | None = None
    tool_choice: Any = "auto"
    skip_special_tokens: bool | None = None


class FunctionCall(BaseModel):
    id: str | None = None
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
    def _load(cls, name: str) -> Any:
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
        return cls._load(name)


class ReasoningParser:
    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        self.model_tokenizer = tokenizer

    def adjust_request(self, request: Any) -> Any:
        return request


class ReasoningParserManager(LazyManager):
    lazy_parsers: dict[str, tuple[str, str]] = {}  # noqa: RUF012
    base = ReasoningParser

    @classmethod
    def get_reasoning_parser(cls, name: str) -> Any:
        return cls._load(name)


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
        tool_start_token: str | None = None,
        continue_final_message: bool = False,
        previous_content: str = "",
        thinks_internally: bool = False,
        reasoning_default: str = "always",
        force_nonempty_content: bool = False,
        tool_start_at_line_start: bool = False,
    ) -> None:
        self.think_start_token = think_start_token
        self.think_end_token = think_end_token
        self.stream_reasoning = stream_reasoning


class ReasoningParserOfSGLang:
    DetectorMap: dict[str, type[BaseReasoningFormatDetector]] = {}  # noqa: RUF012


MODULES: dict[str, dict[str, type]] = {
    "vllm.tool_parsers.abstract_tool_parser": {
        "DeltaMessage": DeltaMessage,
        "ExtractedToolCallInformation": ExtractedToolCallInformation,
        "ToolParser": ToolParser,
        "ToolParserManager": ToolParserManager,
    },
    "vllm.reasoning.abs_reasoning_parsers": {
        "ReasoningParser": ReasoningParser,
        "ReasoningParserManager": ReasoningParserManager,
    },
    "vllm.entrypoints.generate.base.protocol": {
        "DeltaFunctionCall": DeltaFunctionCall,
        "DeltaToolCall": DeltaToolCall,
        "FunctionCall": FunctionCall,
        "ToolCall": ToolCall,
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
    if ARE_REAL:
        return
    for path, names in MODULES.items():
        module = ModuleType(path)
        vars(module).update(names)
        patch.setitem(sys.modules, path, module)
    for registry in (ToolParserManager, ReasoningParserManager):
        patch.setattr(registry, "lazy_parsers", {})
    patch.setattr(FunctionCallParser, "ToolCallParserEnum", {})
    patch.setattr(ReasoningParserOfSGLang, "DetectorMap", {})


def tool(name: str, parameters: dict[str, Any]) -> Any:
    """A tool of a request to vLLM; SGLang's has the same fields."""
    if ARE_REAL:
        protocol: Any = import_module("vllm.entrypoints.openai.chat_completion.protocol")
        return protocol.ChatCompletionToolsParam(function={"name": name, "parameters": parameters})
    return Tool(function=Function(name=name, parameters=parameters))


def request(**fields: Any) -> Any:
    """A request to vLLM."""
    if ARE_REAL:
        protocol: Any = import_module("vllm.entrypoints.openai.chat_completion.protocol")
        messages = [{"role": "user", "content": "?"}]
        return protocol.ChatCompletionRequest(model="m", messages=messages, **fields)
    return Request(**fields)


def parser_of_calls(name: str) -> Any:
    """The class that vLLM has under a name of a parser of calls."""
    module: Any = import_module("vllm.tool_parsers.abstract_tool_parser")
    return module.ToolParserManager.get_tool_parser(name)


def parser_of_reasoning(name: str) -> Any:
    """The class that vLLM has under a name of a parser of reasoning."""
    module: Any = import_module("vllm.reasoning.abs_reasoning_parsers")
    return module.ReasoningParserManager.get_reasoning_parser(name)


def detectors() -> tuple[dict[str, Any], dict[str, Any]]:
    """The classes that SGLang has for calls and for reasoning, by their names."""
    of_calls: Any = import_module("sglang.srt.function_call.function_call_parser")
    of_reasoning: Any = import_module("sglang.srt.parser.reasoning_parser")
    return of_calls.FunctionCallParser.ToolCallParserEnum, of_reasoning.ReasoningParser.DetectorMap
