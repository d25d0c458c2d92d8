"""Serves an ASGI application on 127.0.0.1 in the test's own event loop, with a model that the test directs."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Model", "serving"]


class Model:
    """Answers with these texts, one for each turn. At a `None` among the pieces it waits until `release` is set."""

    def __init__(self, *turns: str | tuple[str | None, ...]) -> None:
        self._turns = iter(turns)
        self.release = asyncio.Event()
        self.closed = asyncio.Event()

    async def __call__(self, messages: Any) -> AsyncIterator[str]:
        turn = next(self._turns)
        try:
            for text in (turn,) if isinstance(turn, str) else turn:
                if text is None:
                    await self.release.wait()
                else:
                    await asyncio.sleep(0)  # as a model over a network does
                    yield text
        finally:
            self.closed.set()


@asynccontextmanager
async def serving(app: Any, port: int = 0) -> AsyncIterator[str]:
    """Serve `app` while the block runs; yields its address. At its end, answers in progress are cancelled."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        running = asyncio.ensure_future(server.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running
