"""Whether each tool that must run in another process has an executor that takes it there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    from .hooks import HookList

__all__ = ["check_remote"]


def check_remote(tools: Mapping[str, Any], hooks: HookList) -> None:
    """Check that every tool that must run elsewhere has an executor.

    Raises:
        ConfigError: a tool says `remote=...` and no executor takes it, or an executor takes a tool that it cannot run.
    """
    if not tools:
        return
    from ..tools.options import options_of
    from .invocation import Executor

    executors = [each for each in hooks.given if isinstance(each, Executor)]
    for name, tool in tools.items():
        taking = [executor for executor in executors if executor.takes(tool)]
        for executor in taking:
            executor.check(tool)
        if options_of(tool).remote and not taking:
            raise ConfigError(
                f"tool {name!r} must run in another process, but nothing in hooks= takes it there: add a "
                "cogency_rs.executors.ray.RayExecutor, or leave out remote="
            )
