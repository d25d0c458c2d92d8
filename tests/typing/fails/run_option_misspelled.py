"""An option of a run that there is not."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model).run_sync("?", conversation="c")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
