"""Tools of servers that cannot be offered to a model: an agent goes on without them, and says so.

An odd tool of the program itself raises where it is made. What a server lists is not the program's to mend: one odd
tool must not cost a run, or the server's other tools.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from .._core import Dialect
from .arguments import compiled
from .registry import name_of
from .signature import is_object, json_schema_of, signature

__all__ = ["leave_out", "problem_of"]

logger: logging.Logger = logging.getLogger(__name__)

_MOST_SHOWN = 300


def leave_out(name: str, server: str, why: str) -> None:
    """Warn that a tool of a server is left out."""
    shown = why if len(why) <= _MOST_SHOWN else f"{why[:_MOST_SHOWN]}..."
    logger.warning("tool %r of server %r is left out: %s", name[:_MOST_SHOWN], server, shown)


def problem_of(tool: Any) -> str | None:
    """Why a tool cannot be offered to a model; `None` if it can.

    Its description is text, arguments can be checked against its schema, and a prompt can be written of both.
    """
    name_of(tool)  # what is not a tool at all raises
    try:
        if not isinstance(getattr(tool, "description", ""), str | None):
            return "its description is not text"
        schema = getattr(tool, "schema", None)
        if not is_object(schema):
            return "its schema is not an object"
        if problem := compiled(tool, schema).problem:
            return problem
        json.dumps(schema, allow_nan=False, ensure_ascii=False).encode()
        Dialect("hermes").declare([tool])
        if (full := json_schema_of(tool)) is not None:
            signature(tool, full)
    except RecursionError:
        return "its schema is nested too deep"
    except UnicodeEncodeError as error:
        return f"its schema holds {error.object[error.start]!r}, which is not a character"
    except Exception as error:
        return f"a prompt cannot be written of it: {type(error).__name__}: {error}"
    return None
