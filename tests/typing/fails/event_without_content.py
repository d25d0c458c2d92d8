"""A key that one kind of event has not."""

from cogency_rs.types import RunEvent


def shown(event: RunEvent) -> str:
    return event["content"] if event["type"] == "metric" else ""  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
