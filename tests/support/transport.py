"""What the tests of the transport share."""

from __future__ import annotations

from typing import Any

import pytest

from cogency_rs import OpenAIModel
from cogency_rs.errors import LLMError
from cogency_rs.models import TextDelta
from support.openai_served import DONE, STOP, ask, delta, reply

__all__ = ["HELLO", "error_of", "text_of"]

HELLO = reply(delta(content="Hello"), STOP, DONE)


def text_of(pieces: list[Any]) -> str:
    """The text of an answer."""
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


async def error_of(model: OpenAIModel) -> LLMError:
    """The error of a question that fails, which is one line."""
    with pytest.raises(LLMError) as raised:
        await ask(model)
    assert "\n" not in str(raised.value)
    return raised.value
