"""An argument with a wrong letter."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model, tool=[])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
