"""A kind of event that there is not."""

from cogency_rs.types import RunEvent


def is_answer(event: RunEvent) -> bool:
    return event["type"] == "answer"  # type: ignore[comparison-overlap]  # pyright: ignore[reportUnnecessaryComparison]
