"""How a model is asked for one step, and how its answer becomes events."""

from .driver import Driver
from .native import NativeDriver
from .react import ReActDriver
from .scripted import ScriptedDriver
from .text import TextDriver

__all__ = ["Driver", "NativeDriver", "ReActDriver", "ScriptedDriver", "TextDriver"]
