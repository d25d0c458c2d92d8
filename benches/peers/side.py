"""What is measured side by side: a name, whose version it is, and its work."""

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
        name: what the table calls it.
        make: prepares it, and returns what is measured; its source is shown on the page.
        distribution: of which package the version is shown; Python's where it is None.
    """

    name: str
    make: Callable[[], Run]
    distribution: str | None = None

    @property
    def version(self) -> str:
        """Raises `PackageNotFoundError` where the package is not installed."""
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
