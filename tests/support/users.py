"""As which user of the operating system a test runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["unprivileged"]


@contextmanager
def unprivileged() -> Iterator[None]:
    """Give up the rights of root, whom permission bits do not stop; does nothing for other users."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
