"""Traces and metrics with OpenTelemetry, by its conventions for generative AI; needs the extra `otel`.

This module does not import OpenTelemetry. Every run and every batch asks it for the tracing; without telemetry that
costs a single variable lookup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .options import Telemetry

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from .spans import Tracing
else:  # of an extra
    MeterProvider = TracerProvider = Tracing = Any

__all__ = ["Telemetry", "instrument", "uninstrument"]


_of_context: Callable[[], Tracing | None] | None = None
"""Finds the tracing of the run that the present code is part of; `None` until there is any tracing at all."""

_of_program: Tracing | None = None
"""The tracing that `instrument` turned on."""


def instrument(
    tracer_provider: TracerProvider | None = None,
    *,
    meter_provider: MeterProvider | None = None,
    capture_content: bool = False,
) -> None:
    """Trace every run, every request to a model and every tool call of this program.

    This includes the calls of `execute_tools` and `Accumulator`, and those inside cogency under `install()`. An agent
    with its own telemetry keeps that. If called twice, the later call counts. A run that has begun keeps its tracing.

    Args:
        tracer_provider: see `Telemetry`.
        meter_provider: see `Telemetry`.
        capture_content: see `Telemetry`.

    Raises:
        ConfigError: the package opentelemetry-api is not installed, or a provider is not a provider.
    """
    global _of_program
    _of_program = _tracing(Telemetry(tracer_provider, meter_provider, capture_content))


def uninstrument() -> None:
    """Undo `instrument`. Safe to call when nothing is instrumented."""
    global _of_program
    _of_program = None


def current() -> Tracing | None:
    """The tracing of the present run, or else the program's; `None` if neither is on."""
    return None if _of_context is None else _of_context() or _of_program


def tracing_of(given: bool | TracerProvider | Telemetry) -> Tracing | None:
    """The tracing that an option asks for; `None` for `False`.

    Raises:
        ConfigError: the package opentelemetry-api is not installed, or the option has a value that cannot work.
    """
    if given is False:
        return None
    match given:
        case True:
            return _tracing(Telemetry())
        case Telemetry():
            return _tracing(given)
        case _ if hasattr(given, "get_tracer"):
            return _tracing(Telemetry(given))
        case _:
            raise ConfigError(
                f"telemetry must be True, False, a TracerProvider or a Telemetry, got {given!r}"
            )


def _tracing(telemetry: Telemetry) -> Tracing:
    global _of_context
    try:
        from .spans import Tracing, of_context
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        message = (
            "telemetry needs the package opentelemetry-api; run: pip install 'cogency-rs[otel]'"
        )
        raise ConfigError(message, cause=error) from error
    _of_context = of_context
    return Tracing(telemetry)
