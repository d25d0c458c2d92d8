"""The parser in ten lines: a model's text goes in as it streams, typed events come out.

    python examples/parser_loop.py

The text is cut anywhere, here in the middle of a tag. Text that can no longer become a tag is an event at once.
"""

import asyncio

from cogency_rs import parse_tokens


async def model():
    yield "<think>One file is enough.</think>Reading a.txt. <exe"
    yield 'cute>[{"name": "read", "args": {"file": "a.txt"}}]</execute>'


async def main():
    async for event in parse_tokens(model(), stream="token"):
        print(f"{event['type']:8}", event.get("content", ""))


asyncio.run(main())
