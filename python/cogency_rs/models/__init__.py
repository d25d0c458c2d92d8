"""Requests to models and their answers, the same for every service; and the models behind services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .deltas import Delta, Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from .request import Model, ModelRequest, SpecificTool, ToolChoice, ToolDeclaration

if TYPE_CHECKING:
    from .anthropic import AnthropicModel as AnthropicModel
    from .local import LocalModel as LocalModel
    from .openai import OpenAIModel as OpenAIModel

__all__ = [
    "AnthropicModel",
    "Delta",
    "Finish",
    "LocalModel",
    "Model",
    "ModelRequest",
    "OpenAIModel",
    "ReasoningDelta",
    "SpecificTool",
    "TextDelta",
    "ToolCallDelta",
    "ToolChoice",
    "ToolDeclaration",
    "Usage",
]


def __getattr__(name: str) -> Any:
    match name:  # a program with a model of its own loads none
        case "AnthropicModel":
            from .anthropic import AnthropicModel

            return AnthropicModel
        case "LocalModel":
            from .local import LocalModel

            return LocalModel
        case "OpenAIModel":
            from .openai import OpenAIModel

            return OpenAIModel
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
