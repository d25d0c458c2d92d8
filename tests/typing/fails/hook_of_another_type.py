"""Something that is not a hook."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model, hooks=[5])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
