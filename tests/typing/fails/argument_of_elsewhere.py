"""An argument that other frameworks have."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model, max_turns=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
