"""A limit that there is not."""

from cogency_rs import RunLimits

RunLimits(max_steps=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
