"""How a model is asked for one step, and how its answer becomes events."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .driver import Driver
from .text import TextDriver

if TYPE_CHECKING:
    from .native import NativeDriver as NativeDriver
    from .react import ReActDriver as ReActDriver
    from .scripted import ScriptedDriver as ScriptedDriver

__all__ = ["Driver", "NativeDriver", "ReActDriver", "ScriptedDriver", "TextDriver"]

_MODULES = {"NativeDriver": ".native", "ReActDriver": ".react", "ScriptedDriver": ".scripted"}
# A program whose model writes its calls as text loads none of them.


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
