"""Models and helpers for tests of programs that use this package. The package itself imports nothing from here."""

from .events import calls_of, joined, outline, results_of, text_of
from .log_conformance import LogConformance
from .recorder import record
from .replay import ReplayModel
from .scripted import ScriptedModel
from .server import HOLD, ModelServer, Pause, ReceivedRequest, Reply, sse

__all__ = [
    "HOLD",
    "LogConformance",
    "ModelServer",
    "Pause",
    "ReceivedRequest",
    "ReplayModel",
    "Reply",
    "ScriptedModel",
    "calls_of",
    "joined",
    "outline",
    "record",
    "results_of",
    "sse",
    "text_of",
]
