"""The name of a model where the model is."""

from cogency_rs import Agent

Agent("gpt-5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
