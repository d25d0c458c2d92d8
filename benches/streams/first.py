"""Starts first programs, each a few lines that print an answer's first word, and prints what they took, as JSON.

    python benches/streams/first.py URL [--certificate FILE] [--rounds 15]

A round starts each program once, from the same Python, in a process of its own. What counts is the time until its first
word can be read, and the processor time of the whole process, both as medians of all rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

FLOOR = """
import asyncio

async def main():
    print("word", flush=True)

asyncio.run(main())
"""
"""What any program takes that has an event loop."""

MODEL = """
import asyncio, sys
from cogency_rs import OpenAIModel
from cogency_rs.models import ModelRequest, TextDelta

async def main():
    model = OpenAIModel("m", base_url=sys.argv[1], api_key="k", extra_headers={headers}{verify})
    async for piece in model.stream(ModelRequest([{{"role": "user", "content": "Hi"}}])):
        if isinstance(piece, TextDelta):
            print(piece.text, flush=True)

asyncio.run(main())
"""

AGENT = """
import asyncio, sys
from cogency_rs import Agent, OpenAIModel

async def main():
    model = OpenAIModel("m", base_url=sys.argv[1], api_key="k", extra_headers={headers}{verify})
    async for event in Agent(model).run("Hi"):
        if event["type"] == "respond":
            print(event["content"], flush=True)

asyncio.run(main())
"""

SDK = """
import asyncio, sys
from openai import AsyncOpenAI{also}

async def main():
    client = AsyncOpenAI(base_url=sys.argv[1], api_key="k", default_headers={headers}{verify})
    messages = [{{"role": "user", "content": "Hi"}}]
    async for chunk in await client.chat.completions.create(model="m", messages=messages, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            print(chunk.choices[0].delta.content, flush=True)

asyncio.run(main())
"""

HEADERS = {"x-deltas": "3", "x-every": "0"}


def programs(certificate: str | None) -> dict[str, str]:
    """The programs, by what they are shown as."""
    ours = f", verify={certificate!r}" if certificate else ""
    made = f"DefaultAsyncHttpxClient(verify=ssl.create_default_context(cafile={certificate!r}))"
    sdk = f", http_client={made}" if certificate else ""
    also = ", DefaultAsyncHttpxClient; import ssl" if certificate else ""
    return {
        "Python and asyncio": FLOOR,
        "OpenAI SDK": SDK.format(headers=HEADERS, verify=sdk, also=also),
        "ours, model": MODEL.format(headers=HEADERS, verify=ours),
        "ours, agent": AGENT.format(headers=HEADERS, verify=ours),
    }


def started(program: str, url: str) -> tuple[float, float]:
    """Seconds to the first word of a program, and of the processor in all."""
    command = [sys.executable, "-c", program, f"{url}/v1"]
    # Compiled modules are kept, as those of an installed package are.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=kept) as process:
        assert process.stdout is not None
        word = process.stdout.readline()
        seconds = time.perf_counter() - begin
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert word, f"the program ended with {process.returncode}, without a word"
    return seconds, usage.ru_utime + usage.ru_stime


def main(options: Any) -> None:
    """Start the programs in turn."""
    seen: dict[str, list[tuple[float, float]]] = {}
    for number in range(options.rounds + 1):
        for name, program in programs(options.certificate).items():
            both = started(program, options.url)
            if number:  # the first writes what Python keeps of a module's text
                seen.setdefault(name, []).append(both)
    figures: dict[str, dict[str, float]] = {}
    for name, runs in seen.items():
        words, processor = zip(*runs, strict=True)
        figures[name] = {
            "word_ms": 1e3 * statistics.median(words),
            "cpu_ms": 1e3 * statistics.median(processor),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--certificate")
    parser.add_argument("--rounds", type=int, default=15)
    main(parser.parse_args())
