"""A value where a type is."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model, output_type=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
