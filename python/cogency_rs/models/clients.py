"""The SDK of a provider, imported when a model is made, and its clients, one for each event loop."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ..errors import ConfigError

__all__ = ["Clients", "check_url", "import_sdk", "is_local"]

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


def check_url(url: str) -> None:
    """Refuse an address without `http://` or `https://`, which would be asked for as something else.

    Raises:
        ConfigError: the address does not begin with either.
    """
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"base_url must begin with http:// or https://, got {url!r}")


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

    Args:
        make: makes a client. It is called once at the start, so that wrong arguments are found early.
        given: the caller's own client. It is used in every loop, and the caller closes it.

    Raises:
        ConfigError: no client can be made of these arguments.
    """

    def __init__(self, make: Callable[[], Any], given: Any = None) -> None:
        self._make = make
        self._given = given
        try:
            self._spare: Any = make() if given is None else None
        except Exception as error:  # a bad address, or a file of credentials that cannot be read
            words = " ".join(str(error).split())
            raise ConfigError(
                f"the SDK's client cannot be made ({words}); correct base_url, or the key",
                cause=error,
            ) from error
        self._of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    @property
    def first(self) -> Any:
        """Any of the clients, for what is the same in all of them."""
        return self._given or self._spare or next(iter(self._of_loops.values()), None)

    def current(self) -> Any:
        """The client of the running loop."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        client = self._of_loops.get(loop)
        if client is None:
            client, self._spare = self._spare or self._make(), None
            self._of_loops[loop] = client
        return client

    async def aclose(self) -> None:
        """Close the client of the running loop. The next question makes a new one."""
        client = self._of_loops.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()
