"""Checks the arguments of an agent, so that one that cannot work is refused when the agent is made."""

from __future__ import annotations

from os import PathLike, fsdecode, fspath
from typing import Any, Literal, cast

from .._core import Dialect
from ..errors import ConfigError
from ..guards.arguments import check_instance
from ..runs.limits import RunLimits
from ..storage.log import is_log
from ..storage.memory import Memory
from ..types import Dialects, ToolCall
from . import drivers
from .drivers import Driver, TextDriver
from .output import OutputReader, TextOutput
from .settings import AgentSettings

__all__ = [
    "DriverName",
    "calls_natively",
    "check_limits",
    "dialect_names",
    "dialect_of",
    "driver_name",
    "driver_of",
    "instance_of",
    "output_of",
    "storage_of",
]

DriverName = Literal["text", "native", "react"]

_DRIVERS = {"text": "TextDriver", "native": "NativeDriver", "react": "ReActDriver"}
"""The classes of drivers, by their names for an agent. Each is loaded when it is first used."""


def storage_of(storage: Any) -> Any:
    """Return the storage, if it can be the agent's log; for the path of a file or an address, the log that is there."""
    if storage is None:
        return Memory()
    if isinstance(storage, str | PathLike):
        return _log_at(fspath(cast("str | PathLike[str]", storage)))
    given: object = storage
    missing = [
        name
        for name in ("save_message", "load_messages")
        if not callable(getattr(storage, name, None))
    ]
    if isinstance(storage, type) or (missing and not is_log(storage)):
        raise ConfigError(
            f"{storage!r} cannot be the log of an agent: it needs the methods of Log, or at least "
            "save_message and load_messages; give the path of a file, or leave it out for a log in memory"
        )
    if is_log(storage) and not hasattr(type(given), "owner"):
        raise ConfigError(
            f"{storage!r} cannot be the log of an agent: it has no owner(conversation_id), which says whose a "
            "conversation is; see Log.owner"
        )
    return storage


_HOST = r"[\w.-]+:\d+(/.*)?|[\w.:-]+@[\w.:-]+/.*"
"""A host with a port, or with a user: an address that lacks its scheme."""


def _log_at(place: str | bytes) -> Any:
    """The log in a file, or in a database that an address names."""
    import re  # here, since most agents are given a log, or have one in memory
    from pathlib import Path

    place = fsdecode(place)
    if not place.strip():
        raise ConfigError(f"storage={place!r} names no file")
    from ..storage.postgres.address import is_dsn

    if is_dsn(place):
        from ..storage.postgres import PostgreSQL

        return PostgreSQL(place)
    scheme, mark, _ = place.partition("://")
    if mark:
        raise ConfigError(
            f"storage cannot be an address that begins with {scheme}://; there is postgresql://user@host/database, and "
            "the path of a file is for SQLite"
        )
    if re.fullmatch(_HOST, place) and not Path(place).exists():
        raise ConfigError(
            f"storage={place!r} could be a file or a database on a server; write postgresql://user@host/database for "
            f"the server, and ./{place} for a file"
        )
    from ..storage.sqlite import SQLite

    return SQLite(place)


def driver_of(driver: Any, dialect: Dialects | None, model: Any) -> Driver:
    """Return the driver that an argument means; without one, the driver that suits the model."""
    if driver is None:
        driver = "native" if dialect is None and calls_natively(model) else "text"
    if driver == "text":
        driver = TextDriver()
    if isinstance(driver, TextDriver) and driver.takes_dialect:
        is_guess = dialect is None and taught_by(model) is None
        spoken = dialect_of(model) if dialect is None else dialect
        return driver.speaking(spoken, until_told=is_guess)
    if dialect is not None:
        raise ConfigError(
            'dialect is what the driver "text" speaks: leave it out, or give driver="text"'
        )
    if isinstance(driver, str):
        if driver not in _DRIVERS:
            known = ", ".join(f'"{name}"' for name in _DRIVERS)
            raise ConfigError(
                f"there is no driver {driver!r}; choose one of {known}, or give a Driver"
            )
        named: Driver = getattr(drivers, _DRIVERS[driver])()
        return named
    if not callable(getattr(driver, "step", None)) or isinstance(driver, type):
        raise ConfigError(f"{driver!r} cannot be a driver: it needs a method step(run, runtime)")
    given: Driver = driver
    return given


def calls_natively(model: Any) -> bool:
    """Whether a model says that its service has its own tool calls for it."""
    return getattr(model, "calls_natively", False) is True  # a mock has every attribute


def dialect_of(model: Any) -> str | Dialect:
    """The dialect that a model says it was taught, or else the one that suits any model."""
    return taught_by(model) or "cogency"


def taught_by(model: Any) -> Dialect | None:
    """The dialect that a model says it was taught."""
    taught: object = getattr(model, "dialect", None)
    return taught if isinstance(taught, Dialect) else None


def check_limits(limits: RunLimits, settings: AgentSettings) -> None:
    """Check that runs of an agent can keep limits.

    Raises:
        ConfigError: there is no tool to stop at, or no conversation can be claimed.
    """
    named = (ToolCall(name, {}) for name in limits.stop_at_tools)
    unknown = sorted(
        each.name for each in named if settings.tools.toolbox.resolve(each).tool is None
    )
    if unknown and settings.serving is None:  # a server may have it
        known = ", ".join(settings.tools.toolbox.names)
        raise ConfigError(
            f"stop_at_tools names {unknown[0]!r}, but there is no such tool. Tools: {known}"
        )
    storage: object = settings.storage
    if limits.on_busy == "error" and not hasattr(type(storage), "claim"):
        raise ConfigError(
            f'on_busy="error" needs a storage that can claim conversations: {storage!r} has no claim'
        )


def output_of(output_type: Any) -> OutputReader:
    """Return the reader for answers of a type; for `None` and `str` that of text."""
    if output_type in (None, str):
        return TextOutput()
    from .value_output import ValueOutput  # text needs no schema

    return ValueOutput(output_type)


def driver_name(driver: Driver) -> str:
    """The name by which an agent is given this driver; that of its class for a driver of another kind."""
    kind = type(driver)
    for name, ours in _DRIVERS.items():
        if kind.__name__ == ours and kind is getattr(drivers, ours):
            return name
    return kind.__name__


def dialect_names(dialect: Dialects | None) -> str | None:
    """The names of the dialects that a model may write."""
    spoken = dialect if isinstance(dialect, tuple) else (dialect,)
    names = [each if isinstance(each, str) else each.name for each in spoken if each is not None]
    return ", ".join(names) or None


def instance_of(kind: Any, name: str, given: Any) -> Any:
    """Return an option that must be of a class, or its default."""
    if given is None:
        return kind()
    check_instance(name, given, kind)
    return given
