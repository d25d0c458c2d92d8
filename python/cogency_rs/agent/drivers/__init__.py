"""How a model is asked for one step, and how what it says becomes events."""

from .driver import Driver
from .scripted import ScriptedDriver
from .text import TextDriver

__all__ = ["Driver", "ScriptedDriver", "TextDriver"]
