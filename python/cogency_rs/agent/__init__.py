"""The agent: a loop around the core that a person can start, watch, stop, resume and trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import lazy_names

if TYPE_CHECKING:
    from .conversations import PendingCall as PendingCall
    from .drivers import (
        Driver as Driver,
        NativeDriver as NativeDriver,
        ReActDriver as ReActDriver,
        ScriptedDriver as ScriptedDriver,
        TextDriver as TextDriver,
    )
    from .first_prompt import Prompt as Prompt
    from .run_handle import RunHandle as RunHandle
    from .runtime import Runtime as Runtime

__all__ = [
    "Driver",
    "NativeDriver",
    "PendingCall",
    "Prompt",
    "ReActDriver",
    "RunHandle",
    "Runtime",
    "ScriptedDriver",
    "TextDriver",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".drivers": ("Driver", "NativeDriver", "ReActDriver", "ScriptedDriver", "TextDriver"),
        ".first_prompt": ("Prompt",),
        ".conversations": ("PendingCall",),
        ".run_handle": ("RunHandle",),
        ".runtime": ("Runtime",),
    },
)
