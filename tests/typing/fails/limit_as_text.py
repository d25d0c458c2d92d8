"""A limit that is not a number."""

from cogency_rs import RunLimits

RunLimits(steps="many")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
