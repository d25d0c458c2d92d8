"""cogency's tools in an agent of this package: where they may work, which cogency's own agent says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..guards.arguments import check_choice, check_text
from ..tools.registry import is_coroutine_function, listed_tools
from ..types import Access

__all__ = ["in_sandbox"]


def in_sandbox(
    tools: Iterable[Any], *, sandbox_dir: str = ".cogency/sandbox", access: Access = "sandbox"
) -> list[Any]:
    """Give tools that are objects a different folder and access from the agent's.

    Args:
        tools: objects with `execute(**kwargs)`, such as cogency's own tools.
        sandbox_dir: the folder for files of the sandbox.
        access: how far they may reach.

    Returns:
        The tools for `Agent(tools=…)`, in their order.

    Raises:
        ConfigError: an argument has a wrong value.
    """
    check_text("sandbox_dir", sandbox_dir)
    check_choice("access", access, "sandbox", "project", "system")
    place = {"sandbox_dir": sandbox_dir, "access": access}
    return [
        (_Awaited if is_coroutine_function(tool.execute) else _Called)(tool, place)
        for tool in listed_tools(tools)
    ]


class _Placed:
    """A tool that is given its place."""

    def __init__(self, tool: Any, place: dict[str, str]) -> None:
        self._tool, self._place = tool, place

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)


class _Awaited(_Placed):
    async def execute(self, **given: Any) -> Any:
        return await self._tool.execute(**{**given, **self._place})


class _Called(_Placed):
    def execute(self, **given: Any) -> Any:
        return self._tool.execute(**{**given, **self._place})
