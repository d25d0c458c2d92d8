"""Requests to models and their answers, the same for every service; and the models behind services."""

from .deltas import Delta, Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from .request import Model, ModelRequest, SpecificTool, ToolChoice, ToolDeclaration

__all__ = [
    "Delta",
    "Finish",
    "Model",
    "ModelRequest",
    "ReasoningDelta",
    "SpecificTool",
    "TextDelta",
    "ToolCallDelta",
    "ToolChoice",
    "ToolDeclaration",
    "Usage",
]
