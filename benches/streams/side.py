"""Reads answers of `streams` as one client does, and prints what it cost, as JSON.

    python benches/streams/side.py SIDE URL [--certificate FILE] [--streams 200] [--every 20] [--seconds 5]

A delta's text is the time at which it was written. How late it is here is what has passed since then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import ssl
import statistics
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

TIMES = re.compile(rb"\d{19}(?= )")
HI = [{"role": "user", "content": "Hi"}]


class Seen:
    """The pieces of one client, each with the time at which it came. What they say is read when all is over."""

    def __init__(self) -> None:
        self.answers: list[list[tuple[int, bytes]]] = []

    async def read(self, texts: AsyncIterator[bytes]) -> None:
        """Read one answer."""
        pieces: list[tuple[int, bytes]] = []
        self.answers.append(pieces)
        async for text in texts:
            pieces.append((time.time_ns(), text))  # noqa: PERF401  # each at its time

    def late(self) -> list[int]:
        """How late each delta was, in nanoseconds, sorted.

        Raises:
            AssertionError: they are not in order.
        """
        late: list[int] = []
        for pieces in self.answers:
            last = 0
            rest = b""
            for now, text in pieces:
                whole = rest + text
                rest = whole[-20:]  # a time may be cut
                times = [int(each) for each in TIMES.findall(whole)]
                for each in times:
                    if each <= last:
                        continue  # it was whole in the piece before
                    last = each
                    late.append(now - each)
                assert times == sorted(times)
        return sorted(late)


def aiohttp(options: Any) -> Callable[[], AsyncIterator[bytes]]:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0, ssl=context(options) or False)
    session = aiohttp.ClientSession(connector=connector, headers=headers(options))

    async def texts() -> AsyncIterator[bytes]:
        body = {"model": "m", "messages": HI, "stream": True}
        async with session.post(f"{options.url}/v1/chat/completions", json=body) as answer:
            async for data in answer.content.iter_any():
                yield data

    return texts


def sdk(options: Any) -> Any:
    import openai

    http = openai.DefaultAsyncHttpxClient(
        verify=context(options) or True,
        limits=openai.DEFAULT_CONNECTION_LIMITS.__class__(max_connections=None),
    )
    return openai.AsyncOpenAI(
        base_url=f"{options.url}/v1",
        api_key="k",
        default_headers=headers(options),
        http_client=http,
    )


def sdk_bytes(options: Any) -> Callable[[], AsyncIterator[bytes]]:
    client = sdk(options)

    async def texts() -> AsyncIterator[bytes]:
        stream = await client.chat.completions.create(model="m", messages=HI, stream=True)
        async for data in stream.response.aiter_bytes():
            yield data

    return texts


def sdk_objects(options: Any) -> Callable[[], AsyncIterator[bytes]]:
    client = sdk(options)

    async def texts() -> AsyncIterator[bytes]:
        stream = await client.chat.completions.create(model="m", messages=HI, stream=True)
        async for chunk in stream:
            for choice in chunk.choices:
                yield (choice.delta.content or "").encode()

    return texts


def model(options: Any) -> Any:
    from cogency_rs import OpenAIModel

    certificate = {"verify": options.certificate} if options.certificate else {}
    return OpenAIModel(
        "m",
        base_url=f"{options.url}/v1",
        api_key="k",
        extra_headers=headers(options),
        **certificate,
    )


def ours_model(options: Any) -> Callable[[], AsyncIterator[bytes]]:
    from cogency_rs.models import ModelRequest, TextDelta

    asked = model(options)

    async def texts() -> AsyncIterator[bytes]:
        async for piece in asked.stream(ModelRequest(HI)):
            if isinstance(piece, TextDelta):
                yield piece.text.encode()

    return texts


def agent(driver: str) -> Callable[[Any], Callable[[], AsyncIterator[bytes]]]:
    def side(options: Any) -> Callable[[], AsyncIterator[bytes]]:
        from cogency_rs import Agent

        made: Any = Agent(model(options), driver=driver)

        async def texts() -> AsyncIterator[bytes]:
            async for event in made.run("Hi"):
                if event["type"] == "respond":
                    yield event["content"].encode()

        return texts

    return side


def unwatched(options: Any) -> Callable[[], AsyncIterator[bytes]]:
    from cogency_rs import Agent

    made = Agent(model(options))

    async def texts() -> AsyncIterator[bytes]:
        result = await made.run("Hi")
        yield b" ".join([str(result.output).encode(), b""])

    return texts


SIDES: dict[str, Callable[[Any], Callable[[], AsyncIterator[bytes]]]] = {
    "aiohttp, bytes": aiohttp,
    "OpenAI SDK, bytes": sdk_bytes,
    "OpenAI SDK, objects": sdk_objects,
    "ours, model": ours_model,
    "ours, text driver": agent("text"),
    "ours, native driver": agent("native"),
    "ours, await agent.run()": unwatched,
}


def context(options: Any) -> ssl.SSLContext | None:
    return ssl.create_default_context(cafile=options.certificate) if options.certificate else None


def headers(options: Any) -> dict[str, str]:
    deltas = round(options.seconds * 1000 / options.every)
    return {"x-deltas": str(deltas), "x-every": str(round(options.every * 1000))}


async def main(options: Any) -> None:
    deltas = int(headers(options)["x-deltas"])
    texts = SIDES[options.side](options)
    seen = Seen()

    async def one(at: float) -> None:
        await asyncio.sleep(at)
        await seen.read(texts())

    # One answer first, so that what is loaded and made once is not counted.
    few = options.seconds
    options.seconds = options.every / 1000
    await Seen().read(SIDES[options.side](options)())
    options.seconds = few
    loop, process, begin = time.thread_time(), time.process_time(), time.perf_counter()
    spread = random.Random(1)
    await asyncio.gather(
        *(one(spread.random() * min(1.0, options.seconds)) for _ in range(options.streams))
    )
    seconds = time.perf_counter() - begin
    loop, process = time.thread_time() - loop, time.process_time() - process
    late = seen.late()
    result = {
        "side": options.side,
        "deltas": len(late),
        "lost": deltas * options.streams - len(late),
        "cpu_us": process / len(late) * 1e6,
        "loop_us": loop / len(late) * 1e6,
        "late_ms": statistics.median(late) / 1e6,
        "late_p99_ms": late[int(len(late) * 0.99)] / 1e6,
        "seconds": seconds,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("url")
    parser.add_argument("--certificate")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--every", type=float, default=20, help="milliseconds between two deltas")
    parser.add_argument("--seconds", type=float, default=5, help="how long an answer takes")
    asyncio.run(main(parser.parse_args()))
