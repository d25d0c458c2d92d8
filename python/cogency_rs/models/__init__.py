"""What a model is asked, and what it answers, whoever serves it."""

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
