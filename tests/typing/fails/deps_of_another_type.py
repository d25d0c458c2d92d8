"""Dependencies of a wrong type."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
agent: Agent[int, str] = Agent(model)
task = agent.run("?", deps="five")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
