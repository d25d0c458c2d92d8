"""Another dialect in ten lines: a recorded stream of a model that writes calls as Hermes and Qwen do.

    python examples/hermes_stream.py

Each line of hermes_stream.jsonl is a chunk as it was received, cut in the middle of a tag or a word. In the second
call, a string contains the mark that closes a call; there it is content. Both calls run when the answer ends.
"""

import asyncio
import json
from pathlib import Path

from cogency_rs import parse_tokens
from cogency_rs.models import Finish


async def model():
    for line in Path(__file__).with_name("hermes_stream.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)
    yield Finish("stop")


async def main():
    async for event in parse_tokens(model(), dialect="hermes"):
        print(f"{event['type']:8}", event.get("content", "").strip())


asyncio.run(main())
