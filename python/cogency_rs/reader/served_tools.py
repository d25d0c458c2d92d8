"""The tools of a server's request, in whatever objects the server has them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from .._core import ToolSchemas
from ..tools.signature import is_object

__all__ = ["declared_tools", "field"]

logger: logging.Logger = logging.getLogger(__name__)


def field(value: Any, name: str, default: Any = None) -> Any:
    """A field of one of the server's objects, or of a dict."""
    return value.get(name, default) if is_object(value) else getattr(value, name, default)


def declared_tools(tools: Iterable[Any] | None) -> Iterator[dict[str, Any]]:
    """The tools of a request as declarations, with an empty schema where their own cannot be read.

    What is not a function is left out, and a function that no text can name.
    """
    for tool in tools or ():
        function: Any = field(tool, "function", tool)
        name: Any = field(function, "name")
        schemas: list[Any] = [field(function, "parameters") or {}, {}]
        for schema in schemas:
            declared: dict[str, Any] = {"name": name, "parameters": schema}
            if isinstance(name, str) and _is_readable(declared):
                yield declared
                break


def _is_readable(tool: dict[str, Any]) -> bool:
    try:
        ToolSchemas([tool])
    except Exception as error:  # no stream may end for it
        _warn(tool["name"], str(error))
        return False
    return True


@lru_cache  # so that it is said once, and not in each answer
def _warn(name: str, why: str) -> None:
    logger.warning("the tool %r cannot be read and has an empty schema: %s", name, why)
