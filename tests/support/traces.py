"""Collects exported traces and metrics in memory, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

__all__ = ["Metrics", "Traces", "attributes", "text_of"]


class Traces:
    """The exported spans, which can be read as a tree."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self) -> list[ReadableSpan]:
        """All spans, in the order in which they began."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def tree(self) -> list[str]:
        """The names of the spans in the order in which they began, each indented below its parent."""
        parents = {span.context.span_id: span.parent for span in self.spans}

        def depth(parent: Any) -> int:
            return 0 if parent is None else 1 + depth(parents.get(parent.span_id))

        return ["  " * depth(span.parent) + span.name for span in self.spans]

    def named(self, name: str) -> ReadableSpan:
        """The only span of this name."""
        [span] = [span for span in self.spans if span.name == name]
        return span


@dataclass
class Metrics:
    """The exported metrics: for each, its points and their labels."""

    reader: InMemoryMetricReader
    provider: MeterProvider

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return [
            (dict(point.attributes or {}), point)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    @classmethod
    def new(cls) -> Metrics:
        """Metrics with a new provider."""
        reader = InMemoryMetricReader()
        return cls(reader, MeterProvider([reader], shutdown_on_exit=False))


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def text_of(traces: Traces) -> str:
    """Everything in the spans, as text."""
    return "".join(span.to_json() for span in traces.spans)
