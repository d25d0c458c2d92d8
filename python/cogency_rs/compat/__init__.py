"""cogency 3.3.0 on this core: `install()`, and the plugin that runs its users' test suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import lazy_names

if TYPE_CHECKING:
    from .dropin import in_sandbox as in_sandbox, uninstall as uninstall

__all__ = ["in_sandbox", "uninstall"]

__getattr__, __dir__ = lazy_names(__name__, {".dropin": ("in_sandbox", "uninstall")})
