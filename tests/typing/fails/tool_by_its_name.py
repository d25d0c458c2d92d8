"""A tool's name in place of the tool."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model, tools=["add"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
