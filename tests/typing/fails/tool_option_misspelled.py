"""An option of a tool that there is not."""

from cogency_rs import tool


@tool(needs_approval=True)  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]
def weather(city: str) -> str:
    return city
