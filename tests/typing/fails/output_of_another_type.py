"""An answer that is taken for another."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
answer: int = Agent(model).run_sync("?").output  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
