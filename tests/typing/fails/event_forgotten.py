"""A kind of event that a match forgets."""

from typing import assert_never

from cogency_rs.types import RunEvent


def shown(event: RunEvent) -> str:
    match event["type"]:
        case "user" | "think" | "respond" | "call" | "result" | "cancelled" | "error":
            return event["content"]
        case "tool_call_start" | "tool_call_delta" | "execute" | "end" | "interrupt":
            return ""
        case _:
            assert_never(event["type"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
