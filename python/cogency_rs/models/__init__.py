"""Requests to models and their answers, the same for every service; and the models behind services."""

from .deltas import Delta, ExtraDelta, Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from .known_settings import AnthropicSettings, LocalSettings, OpenAISettings, RequestSettings
from .request import Model, ModelRequest, SpecificTool, ToolChoice, ToolDeclaration

__all__ = [
    "AnthropicSettings",
    "Delta",
    "ExtraDelta",
    "Finish",
    "LocalSettings",
    "Model",
    "ModelRequest",
    "OpenAISettings",
    "ReasoningDelta",
    "RequestSettings",
    "SpecificTool",
    "TextDelta",
    "ToolCallDelta",
    "ToolChoice",
    "ToolDeclaration",
    "Usage",
]
