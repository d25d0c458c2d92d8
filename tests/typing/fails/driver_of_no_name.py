"""A driver that there is not."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model, driver="xml")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
