"""The SDK of a provider, imported when a model is made, and its clients, one for each event loop."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Callable, Iterator
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..errors import ConfigError
from ..redaction import Found, Secrets, in_headers, in_settings, in_url, key

__all__ = ["Clients", "import_sdk", "in_client", "is_local"]

_ACCOUNT = (
    "api_key",
    "admin_api_key",
    "auth_token",
    "organization",
    "project",
    "webhook_key",
    "webhook_secret",
)
"""The attributes of clients that are keys, or identify whose they are."""

_LOCAL_NAMES = (".localhost", ".local", ".lan", ".internal")


def import_sdk(name: str) -> Any:
    """Import the package `name`, which the extra of the same name installs.

    Raises:
        ConfigError: the package is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f"the model needs the package {error.name}; run: pip install 'cogency-rs[{name}]'"
        raise ConfigError(message, cause=error) from error


def in_client(client: Any) -> Iterator[Found]:
    """The secrets of a client of an SDK: its keys, its account, its address, and what it sends with every request."""
    for name in _ACCOUNT:
        yield from key(name, getattr(client, name, None))
    yield from in_url(str(client.base_url).rstrip("/"))  # the SDK adds a slash
    yield from in_headers(getattr(client, "default_headers", {}))
    yield from in_settings({"extra_query": getattr(client, "default_query", {})})


def is_local(url: str) -> bool:
    """Whether a server is on this machine or in a private network, where it seldom asks for a key."""
    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        # A name without a dot is that of this machine, or one in a network of containers.
        return bool(host) and ("." not in host or host.endswith(_LOCAL_NAMES))
    return address.is_private or address.is_loopback


class Clients:
    """The clients of one model: one for each event loop, because the connections of a client belong to one loop.

    A client is closed with its loop, so a program may ask in any number of loops: each `asyncio.run` leaves no
    connection open.

    Args:
        make: makes a client. It is called once at the start, so that wrong arguments are found early.
        secrets: what an error must not show.
        given: the caller's own client. It is used in every loop, and the caller closes it.

    Raises:
        ConfigError: no client can be made of these arguments.
    """

    def __init__(self, make: Callable[[], Any], secrets: Secrets, given: Any = None) -> None:
        self._make = make
        self._given = given
        self._of_loops: dict[asyncio.AbstractEventLoop, _Lasting] = {}
        self._spare: Any = None
        if given is not None:
            return
        try:
            self._spare = make()
        except Exception as error:  # a bad address, or a file of credentials that cannot be read
            words = " ".join(secrets.hide(str(error)).split())
            failed = ConfigError(
                f"the SDK's client cannot be made ({words}); correct base_url, or the key",
                cause=secrets.clean(error),
            )
        else:
            return
        raise failed from failed.cause  # out of its block, so that its context is not the error with its secrets

    @property
    def first(self) -> Any:
        """The client that is there before any loop asks for one."""
        return self._given or self._spare

    async def current(self) -> Any:
        """The client of the running loop."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        known = self._of_loops.get(loop)
        if known is not None:
            return known.client
        for other in [other for other in [*self._of_loops] if other.is_closed()]:
            self._of_loops.pop(other, None)  # nothing can be awaited there to close its client
        client, self._spare = self._spare or self._make(), None
        until_the_end = self._until_the_end(loop, client)
        self._of_loops[loop] = _Lasting(client, until_the_end)
        await anext(until_the_end)
        return client

    async def aclose(self) -> None:
        """Close the client of the running loop. The next question makes a new one."""
        known = self._of_loops.get(asyncio.get_running_loop())
        if known is not None:
            await known.until_the_end.aclose()

    async def _until_the_end(
        self, loop: asyncio.AbstractEventLoop, client: Any
    ) -> AsyncGenerator[None, None]:
        """Close the client of a loop when this generator is closed: by `aclose`, or by the loop at its end.

        `asyncio.run` closes the generators that are still open (`loop.shutdown_asyncgens`) before it closes the loop.
        """
        try:
            yield
        finally:
            self._of_loops.pop(loop, None)
            await client.close()


class _Lasting(NamedTuple):
    """The client of one event loop, and the generator that closes it."""

    client: Any
    until_the_end: AsyncGenerator[None, None]
