"""Requests to models and their answers, the same for every service; and the models behind services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import Finish
from ..loading import lazy_names
from .request import (
    Delta,
    ExtraDelta,
    Model,
    ModelRequest,
    OpaqueDelta,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
    ToolDeclaration,
    Usage,
)

if TYPE_CHECKING:
    from .settings import (
        AnthropicSettings as AnthropicSettings,
        LocalSettings as LocalSettings,
        OpenAISettings as OpenAISettings,
        RequestSettings as RequestSettings,
    )

__all__ = [
    "AnthropicSettings",
    "Delta",
    "ExtraDelta",
    "Finish",
    "LocalSettings",
    "Model",
    "ModelRequest",
    "OpaqueDelta",
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".settings": (
            "AnthropicSettings",
            "LocalSettings",
            "OpenAISettings",
            "RequestSettings",
        ),
    },
)
