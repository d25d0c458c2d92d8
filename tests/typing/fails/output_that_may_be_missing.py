"""A part of an answer that may be null."""

from cogency_rs import Agent, OpenAIModel

model = OpenAIModel("qwen3:8b", base_url="http://localhost:11434/v1")
Agent(model, output_type=list[int] | None).run_sync("?").output.append(1)  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
