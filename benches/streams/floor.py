"""Measures the least that it takes to read a stream on a thread of its own and to wake an event loop for each delta.

    python benches/streams/floor.py URL --certificate FILE --threads FILE [--every 10] [--seconds 5]

A thread in Rust reads the socket, over TLS, and writes a byte to a pair of sockets; the loop's reader takes it, and
does nothing. See `floor.rs`.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import os
import socket
import time
from typing import Any
from urllib.parse import urlsplit


async def read(options: Any, deltas: int) -> int:
    """Read one answer; returns how often the loop was woken."""
    library = ctypes.CDLL(options.threads)
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    wakes = 0
    reader, writer = socket.socketpair()
    reader.setblocking(False)

    def woken() -> None:
        nonlocal wakes
        wakes += 1
        if not reader.recv(64):
            loop.remove_reader(reader)
            over.set_result(None)

    loop.add_reader(reader, woken)
    port, every = urlsplit(options.url).port, round(options.every * 1000)
    certificate = os.fsencode(options.certificate)
    library.begin(port, certificate, deltas, every, writer.detach())
    await over
    reader.close()
    return wakes


async def main(options: Any) -> None:
    """Read a short answer, and then a long one, which is measured."""
    await read(options, 2)
    deltas = round(options.seconds * 1000 / options.every)
    loop, process = time.thread_time(), time.process_time()
    wakes = await read(options, deltas)
    loop, process = time.thread_time() - loop, time.process_time() - process
    result = {
        "side": "two threads",
        "deltas": deltas,
        "wakes": wakes,
        "cpu_us": process / deltas * 1e6,
        "loop_us": loop / deltas * 1e6,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--threads", required=True)
    parser.add_argument("--streams", type=int, choices=[1], default=1)
    parser.add_argument("--every", type=float, default=10, help="milliseconds between two deltas")
    parser.add_argument("--seconds", type=float, default=5, help="how long the answer takes")
    asyncio.run(main(parser.parse_args()))
