"""Deltas of a chat API, put together."""

from __future__ import annotations

from typing import Any


def joined(deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that deltas make, as an SDK puts it together."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for delta in deltas:
        assert len(delta) == 1
        for key in ("reasoning_content", "content"):
            if key in delta:
                message[key] = (message.get(key) or "") + delta[key]
        for call in delta.get("tool_calls", ()):
            calls = message.setdefault("tool_calls", [])
            assert call["index"] == len(calls)
            calls.append({key: call[key] for key in ("id", "type", "function")})
    return message
