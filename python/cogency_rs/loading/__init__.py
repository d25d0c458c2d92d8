"""What happens when the package is imported: a warning of a debug build, and nothing more than is used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["ROOMS", "lazy_names", "warn_of_debug_code"]

_TOP = __name__.partition(".")[0]

ROOMS = (
    *("agent", "compat", "context", "errors", "execution", "executors", "hooks", "models"),
    *("protocol", "reader", "runs", "servers", "storage", "telemetry", "testing", "tools"),
    *("turn", "types"),
)
"""The modules of the package that users import from."""


def warn_of_debug_code(build: str) -> None:
    """Warn the importing program if the core is a debug build.

    Args:
        build: `_core.BUILD`.

    Warns:
        RuntimeWarning: it is a debug build; the message says how to build one for use.
    """
    if build != "debug":
        return
    import warnings

    warnings.warn(
        "the core of cogency_rs was built without optimisation and is many times slower; "
        "build it for use with `maturin develop --release`, or `make`",
        RuntimeWarning,
        stacklevel=3,  # the code that imports the package
    )


def lazy_names(
    package: str, modules: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package that imports a module when one of its names is first used.

    Args:
        package: the package's name.
        modules: the names by the module that has them, relative to the package, such as `".sqlite"`.
    """
    homes = {name: module for module, names in modules.items() for name in names}
    of_package = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name not in homes:
            if package == _TOP and (room := _room_of(name)) is not None:
                # Python shows it as it is, where it says of an `AttributeError` only that the name is not there.
                raise ImportError(f"{name} is imported from {room}", name=package)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = of_package[name] = getattr(import_module(homes[name], package), name)
        return value

    def list_names() -> list[str]:
        return sorted({*of_package, *homes})

    return get, list_names


def _room_of(name: str) -> str | None:
    """The room that a public name is imported from; `None` if there is none. Loads every room that it looks into."""
    if name.startswith("_"):
        return None
    rooms = (f"{_TOP}.{room}" for room in ROOMS)
    return next((room for room in rooms if name in import_module(room).__all__), None)
