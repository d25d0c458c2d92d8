"""What tests of programs with this package need; nothing here is imported by the package itself."""

from .log_conformance import LogConformance
from .scripted import ScriptedModel

__all__ = ["LogConformance", "ScriptedModel"]
