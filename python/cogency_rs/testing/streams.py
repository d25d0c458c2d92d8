"""Converts the answers of a `Model` into those of a plain model function."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any

from ..errors import ConfigError
from ..models import Delta, Finish, ReasoningDelta, TextDelta, ToolCallDelta

__all__ = ["closing", "text_in"]


def closing(stream: Any) -> AbstractAsyncContextManager[object]:
    """A context manager that closes a stream at its end, if it can be closed."""
    return aclosing(stream) if hasattr(stream, "aclose") else nullcontext()


async def text_in(
    answer: AsyncGenerator[str | Delta, None],
) -> AsyncGenerator[str | ReasoningDelta | Finish, None]:
    """An answer as a plain model function gives it: what `parse_tokens` reads, which is everything but usage.

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
                case ReasoningDelta(text):
                    if text:
                        yield piece
                case ToolCallDelta():
                    raise ConfigError(
                        f"the answer has {piece!r}, which is not text: use "
                        "stream(request), or let it write its calls as text"
                    )
                case _:
                    pass
