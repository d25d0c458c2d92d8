"""One side of a comparison: its name, the package whose version is shown, and its work."""

from __future__ import annotations

import importlib.metadata
import inspect
import platform
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

__all__ = ["OURS", "Run", "Side"]

OURS = "cogency-rs"

Run = Callable[[], Awaitable[None] | None]


@dataclass(frozen=True)
class Side:
    """One program of a section.

    Args:
        name: its name in the table.
        make: prepares the work, and returns the function to measure; the page shows its source.
        distribution: the package whose version is shown; `None` for Python's version.
    """

    name: str
    make: Callable[[], Run]
    distribution: str | None = None

    @property
    def version(self) -> str:
        """Raises `PackageNotFoundError` if the package is not installed."""
        if self.distribution == OURS:
            import cogency_rs

            return f"{OURS} {cogency_rs.__version__}"
        if self.distribution is None:
            return f"Python {platform.python_version()}"
        return f"{self.distribution} {importlib.metadata.version(self.distribution)}"

    @property
    def program(self) -> str:
        """Its source."""
        return inspect.getsource(self.make)
