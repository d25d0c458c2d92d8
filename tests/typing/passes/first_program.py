"""The README's first program."""

from typing import assert_type

from cogency_rs import Agent, LocalModel, RunResult, tool


@tool
def weather(city: str) -> str:
    """Get the weather in a city."""
    return f"Sunny in {city}, 21 degrees."


agent = Agent(LocalModel("model.gguf"), tools=[weather], storage="talk.db")
result = agent.run_sync("What is the weather in Paris?")
assert_type(result, RunResult[str])
assert_type(result.output, str)
assert_type(result.text, str)
assert_type(weather("Paris"), str)
