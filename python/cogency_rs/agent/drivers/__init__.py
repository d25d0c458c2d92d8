"""How a model is asked for one step, and how its answer becomes events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...loading import lazy_names
from .driver import Driver
from .text import TextDriver

if TYPE_CHECKING:
    from .driver import ScriptedDriver as ScriptedDriver
    from .native import NativeDriver as NativeDriver
    from .react import ReActDriver as ReActDriver

__all__ = ["Driver", "NativeDriver", "ReActDriver", "ScriptedDriver", "TextDriver"]

# A program whose model writes its calls as text loads no other driver.
__getattr__, __dir__ = lazy_names(
    __name__,
    {".native": ("NativeDriver",), ".react": ("ReActDriver",), ".driver": ("ScriptedDriver",)},
)
