"""The loop of docs/own-loop.md declares no tools in its requests, so it writes calls and results as text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from support.pages import CHECKOUT, blocks_of

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
RESULT = "Sunny in Paris, 21 degrees."


def test_results_are_written_as_the_model_was_taught_to_read_them() -> None:
    [block] = blocks_of(CHECKOUT / "docs" / "own-loop.md")
    page: dict[str, Any] = {"__name__": "own_loop"}
    exec(compile(block.code, block.name, "exec", dont_inherit=True), page)
    asked: list[list[dict[str, str]]] = []

    async def model(messages: list[dict[str, str]]) -> AsyncGenerator[str, None]:
        asked.append(list(messages))
        yield CALL if len(asked) == 1 else "Sunny."

    assert asyncio.run(page["answer"](model, "And in Paris?")) == "Sunny."
    assert asked[1][2:] == [
        {"role": "assistant", "content": CALL},
        {"role": "user", "content": f"<tool_response>\n{RESULT}\n</tool_response>"},
    ]
