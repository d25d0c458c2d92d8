"""Models and helpers for tests of programs that use this package. The package itself imports nothing from here."""

from ..outside import Outside, handed_in as outside
from .events import calls_of, joined, outline, results_of, text_of
from .log_conformance import LogConformance
from .recording import record
from .replay import ReplayModel
from .scripted import ScriptedModel, ScriptedOutside
from .server import HOLD, ModelServer, Pause, ReceivedRequest, Reply, sse

__all__ = [
    "HOLD",
    "LogConformance",
    "ModelServer",
    "Outside",
    "Pause",
    "ReceivedRequest",
    "ReplayModel",
    "Reply",
    "ScriptedModel",
    "ScriptedOutside",
    "calls_of",
    "joined",
    "outline",
    "outside",
    "record",
    "results_of",
    "sse",
    "text_of",
]
