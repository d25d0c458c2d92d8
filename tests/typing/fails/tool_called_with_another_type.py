"""A tool that is called as its function cannot be."""

from cogency_rs import tool


@tool
def weather(city: str) -> str:
    return city


weather(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
