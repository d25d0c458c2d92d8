"""What reads the answers of models: any of them closed once, and those that speak text as text."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any

from ..errors import ConfigError
from ..models import Delta, Finish, TextDelta, ToolCallDelta

__all__ = ["closing", "text_in"]


def closing(stream: Any) -> AbstractAsyncContextManager[object]:
    """Close a stream at the end, if it can be closed."""
    return aclosing(stream) if hasattr(stream, "aclose") else nullcontext()


async def text_in(
    answer: AsyncGenerator[str | Delta, None],
) -> AsyncGenerator[str | Finish, None]:
    """An answer as a plain model function gives it: its text, and why it ended.

    Such a function has no place for reasoning and usage, which are left out.

    Raises:
        ConfigError: the answer has a tool call of the provider's own kind, which must not be lost.
    """
    async with aclosing(answer):
        async for piece in answer:
            match piece:
                case str() | Finish():
                    yield piece
                case TextDelta(text):
                    yield text
                case ToolCallDelta():
                    raise ConfigError(
                        f"the answer has {piece!r}, which is not text: ask the model by "
                        "stream(request), or let it write its calls as text"
                    )
                case _:
                    pass
