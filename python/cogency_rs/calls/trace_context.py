"""The place of a call or a request in a trace, if the program uses OpenTelemetry."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def trace_headers() -> dict[str, str]:
    """The present trace context as W3C headers; empty if there is none."""
    if "opentelemetry.trace" not in sys.modules:
        return {}
    propagate: Any = import_module("opentelemetry.propagate")
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers


def trace_parent() -> dict[str, str]:
    """The present place in a trace as the headers `traceparent` and `tracestate`; empty if there is none.

    The baggage is left out: it is the program's own, and the service may be anybody's.
    """
    if "opentelemetry.trace" not in sys.modules:
        return {}
    tracecontext: Any = import_module("opentelemetry.trace.propagation.tracecontext")
    headers: dict[str, str] = {}
    tracecontext.TraceContextTextMapPropagator().inject(headers)
    return headers


def enter_trace(headers: dict[str, str]) -> None:
    """Continue, in the present context, the trace of `trace_headers`. Does nothing if OpenTelemetry is missing."""
    if not headers:
        return
    try:
        context: Any = import_module("opentelemetry.context")
        propagate: Any = import_module("opentelemetry.propagate")
    except ImportError:
        return
    context.attach(propagate.extract(headers))
