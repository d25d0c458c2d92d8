"""Where the traces and metrics of a program go, and what they contain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider
else:  # of an extra
    MeterProvider = TracerProvider = Any


@dataclass(frozen=True)
class Telemetry:
    """Where traces and metrics go, and how much they contain; for `Agent(telemetry=)`.

    Attributes:
        tracer_provider: where spans go. If not given, OpenTelemetry's global one, even if that is set later.
        meter_provider: where metrics go; likewise.
        capture_content: whether spans hold messages, arguments, results and the texts of errors. These may be secret,
            and long.
    """

    tracer_provider: TracerProvider | None = None
    meter_provider: MeterProvider | None = None
    capture_content: bool = False
