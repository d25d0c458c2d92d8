"""One of the web processes of `web_fleet.py`: the app of `web_agent.py`, with a log that others share.

    python examples/web_fleet_process.py PORT LOG ORDERS [RAY]

LOG is the address of a PostgreSQL database, or a file; ORDERS is a file that the tool `order` adds a line to; RAY is
the address of a Ray cluster that the tools run on. Without it, they run here.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import uvicorn
from web_agent import create_app

from cogency_rs import PostgreSQL, SQLite, tool
from cogency_rs.hooks import AnyHook

STOCK = """\
I look what is there, and order what is missing.<execute>[
  {"name": "stock", "args": {"item": "tea"}},
  {"name": "order", "args": {"item": "tea", "boxes": 12}}
]</execute>"""
ORDERED = "There were 3 boxes of tea. 12 more are ordered.<end>"
UNKNOWN = """\
There are 3 boxes of tea. I began to order 12 more, and it is not known whether that happened, so I did not order \
again. Please look into the orders.<end>"""


async def model(messages: list[dict[str, str]]) -> AsyncGenerator[str, None]:
    """Plays the model: its answer depends only on what it is shown, so any process can ask it."""
    shown = messages[-1]["content"]
    answer = STOCK
    if shown.startswith("<results>"):
        answer = UNKNOWN if "It is not known whether" in shown else ORDERED
    for start in range(0, len(answer), 8):
        await asyncio.sleep(0.01)
        yield answer[start : start + 8]


def tools(orders: str) -> list[Any]:
    """What the agent can do."""

    @tool(read_only=True)
    def stock(item: str) -> int:
        """Count how many boxes of an item there are. It has no effect, so it may be run twice."""
        return 3

    @tool
    def order(item: str, boxes: int) -> str:
        """Order boxes of an item, at a shop that takes its time to answer."""
        with Path(orders).open("a") as file:
            file.write(f"{boxes} boxes of {item}\n")
        time.sleep(3600)
        return "ordered"

    return [stock, order]


def open_log(place: str) -> PostgreSQL | SQLite:
    """The log at an address, or in a file."""
    return PostgreSQL(place) if place.startswith("postgres") else SQLite(place)


def main(port: str, place: str, orders: str, ray: str | None = None) -> None:
    hooks: list[AnyHook] = []
    if ray is not None:
        from cogency_rs.executors.ray import RayExecutor

        settings = {"log_to_driver": False, "logging_level": "ERROR"}
        hooks.append(RayExecutor(ray, settings=settings))
    app = create_app(model, tools(orders), open_log(place), hooks)
    uvicorn.run(app, port=int(port), log_level="error", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
