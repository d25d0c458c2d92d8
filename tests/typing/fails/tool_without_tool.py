"""A function without `@tool`."""

from cogency_rs import Agent, OpenAIModel


def add(a: int, b: int) -> int:
    return a + b


model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model, tools=[add])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
