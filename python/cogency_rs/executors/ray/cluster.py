"""The connection to Ray: whether Ray is installed, whether a cluster answers, and who started it."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import re
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from importlib import import_module
from typing import Any, Generic, TypeVar

from ...errors import ConfigError
from ...guards.secrets import Secrets, in_settings, in_url, shown_url

T = TypeVar("T")


class Once(Generic[T]):
    """The value that `work` returns, or its exception; after an exception the next `get` starts over.

    Args:
        work: called in its own thread, so it may block. It must not return `None`.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: Future[T] | None = None
        self._known: T | None = None

    async def get(self) -> T:
        """Wait for the outcome. If a caller is cancelled, the work goes on for the others."""
        if self._known is not None:
            return self._known
        outcome = self._outcome
        if outcome is None or (outcome.done() and outcome.exception() is not None):
            outcome = self._outcome = Future()
            outcome.set_running_or_notify_cancel()  # so that a waiting caller cannot cancel it
            threading.Thread(target=self._run, args=(outcome,), daemon=True).start()
        if outcome.done():
            return outcome.result()
        return await asyncio.wrap_future(outcome)

    def known(self) -> T | None:
        """The outcome, if it is there."""
        return self._known

    def _run(self, outcome: Future[T]) -> None:
        try:
            value = self._work()
        except BaseException as error:
            outcome.set_exception(error)
        else:
            self._known = value
            outcome.set_result(value)


logger: logging.Logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that the port of a cluster has to answer. Ray itself tries for minutes, and then ends the program."""

_PLACE = re.compile(r"(?:ray://)?(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[^:/@?\[\]]+)):(?P<port>\d{1,5})")

_WORDS = frozenset({"auto", "local"})

_FOUND_BY_RAY = (None, "", "auto")
"""The addresses with which Ray looks for a cluster by itself."""

_OTHER_SCHEME = re.compile(r"(?!ray:|https?:)[a-z][a-z0-9+.-]*://.+")
"""An address with any other scheme: some packages teach Ray to connect through their own scheme."""


def check_installed() -> None:
    """Refuse a Python without Ray.

    Raises:
        ConfigError: Ray is not installed.
    """
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(
            "RayExecutor needs ray, which is not installed; run: pip install 'cogency-rs[ray]'"
        )


class Cluster:
    """A connection to Ray. Everything here blocks, so it is called in a thread.

    Args:
        address: as in `ray.init`.
        settings: further arguments of `ray.init`.

    Attributes:
        secrets: what errors must not show.
    """

    def __init__(self, address: str | None, settings: Mapping[str, Any]) -> None:
        self._address = address
        self._settings = settings
        given = filter(None, (address, os.environ.get("RAY_ADDRESS")))
        self.secrets = Secrets(*map(in_url, given), in_settings(settings))
        self._close = threading.Event()
        self._thread: threading.Thread | None = None

    def connect(self) -> Any:
        """Connect, unless the program has done so, and return Ray's module.

        Raises:
            ConfigError: no cluster answers there, or at an address that `"auto"` finds; or Ray refuses the settings.
        """
        check_installed()
        ray: Any = import_module("ray")
        if ray.is_initialized():
            return ray
        address = self._chosen()
        connected: Future[None] = Future()
        self._close.clear()
        thread = threading.Thread(
            target=self._stay, args=(ray, address, connected), name="cogency-rs-ray", daemon=True
        )
        thread.start()
        connected.result()
        self._thread = thread
        return ray

    def close(self) -> None:
        """Close a connection that was made here; a local Ray that was started for it ends."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._close.set()
            thread.join()

    def _chosen(self) -> str | None:
        """The address that Ray is given, once something answers there, or where Ray would look by itself."""
        address = self._address
        if address in _FOUND_BY_RAY:
            address = os.environ.get("RAY_ADDRESS") or address
        check_address(address)
        if address not in _FOUND_BY_RAY:
            check_answers(address)
            return self._address
        found = _found(address, self._settings.get("_temp_dir"))
        try:
            check_answers(found)
        except ConfigError:
            if address == "auto":
                raise
            # A Ray that was killed leaves its address in its folder.
            logger.warning(
                "A new Ray is started: that of this machine, at %s, does not answer", found
            )
            return "local"
        return self._address

    def _stay(self, ray: Any, address: str | None, connected: Future[None]) -> None:
        """Connect, wait until `close`, and disconnect.

        Linux ends the processes of a local Ray when the thread ends that started them.
        """
        try:
            ray.init(address=address, **self._settings)
        except (Exception, SystemExit) as error:  # Ray exits if a cluster refuses the program
            asked = self._address or os.environ.get("RAY_ADDRESS")
            where = f"at {shown_url(asked)!r}" if asked else "on this machine"
            text = " ".join(self.secrets.hide(str(error)).split())
            refused = ConfigError(
                f"Ray cannot be reached {where}: {type(error).__name__}: {text:.300}"
            )
            refused.__cause__ = self.secrets.clean(error) if isinstance(error, Exception) else None
            connected.set_exception(refused)
            return
        connected.set_result(None)
        self._close.wait()
        ray.shutdown()


def check_address(address: str | None) -> None:
    """Refuse text that is not the address of a cluster; Ray would try it for minutes.

    Raises:
        ConfigError: the text is not an address, or the address needs Ray's client, which is not installed.
    """
    if not address or address in _WORDS or _OTHER_SCHEME.fullmatch(address):
        return
    if _PLACE.fullmatch(address) is None:
        raise ConfigError(
            f"{shown_url(address)!r} is not an address of a Ray cluster: "
            "give host:6379, or ray://host:10001 from outside of it; "
            "'auto' for the one that runs on this machine, 'local' for a new one, None for either"
        )
    if address.startswith("ray://") and importlib.util.find_spec("grpc") is None:
        raise ConfigError(
            f"{shown_url(address)!r} needs Ray's client, which is not installed; "
            "run: pip install 'ray[client]', or give the cluster's own address, host:6379, on a machine of it"
        )


def _found(address: str | None, folder: str | None) -> str | None:
    """The address that Ray finds by itself, in its folder or among the processes of this machine."""
    try:
        services: Any = import_module("ray._private.services")
        found: str | None = services.canonicalize_bootstrap_address(address or None, folder)
    except (
        Exception
    ):  # there is none, or this version of Ray looks in another way: `ray.init` says what is wrong
        return None
    return found


def check_answers(address: str | None) -> None:
    """Refuse an address where no cluster answers; only addresses with a port are checked.

    Raises:
        ConfigError: nothing answers there, or something else does.
    """
    place = _PLACE.fullmatch(address or "")
    if place is None:
        return  # a word, which Ray looks up at once
    shown = shown_url(place[0])
    advice = "start one with `ray start --head`, or give RayExecutor another address, None to start its own Ray"
    try:
        host = place["ipv6"] or place["host"]
        with socket.create_connection((host, int(place["port"])), timeout=PATIENCE) as connection:
            speaks = os.environ.get("RAY_USE_TLS", "0") != "0" or _speaks_http2(connection)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"no Ray cluster answers at {shown!r} ({error}): {advice}") from error
    if not speaks:
        raise ConfigError(f"what answers at {shown!r} is not a Ray cluster: {advice}")


_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The first bytes of a client of HTTP/2, which gRPC uses: the preface, and empty settings."""

_FRAME_HEAD, _SETTINGS = 9, 4


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether a server answers with the settings that HTTP/2 begins with."""
    head = b""
    try:
        connection.sendall(_PREFACE)
        while len(head) < _FRAME_HEAD:
            part = connection.recv(_FRAME_HEAD - len(head))
            if not part:
                return False
            head += part
    except OSError:  # the server closed the connection, or sends nothing
        return False
    return head[3] == _SETTINGS
