"""An option of a tool with a wrong value."""

from cogency_rs import tool


@tool(timeout="5 s")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportArgumentType]
def weather(city: str) -> str:
    return city
