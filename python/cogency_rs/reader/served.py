"""What vLLM and SGLang call their parsers, with the dialect of each, and the tools of their requests.

`served_names.json` is the table; `docs/chat-api.md` says which versions it was made from.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

from .._core import Dialect, ToolSchemas
from ..errors import ConfigError
from ..tools.registry import is_object

Server = Literal["vllm", "sglang"]

OF_THE_MODEL = "response_template"
"""In the table, the dialect of a parser that takes it from the model's tokenizer."""


def served_names(server: Server) -> list[str]:
    """The names of the server's parsers that `served_dialect` knows."""
    return sorted(_table()[server])


def served_dialect(
    name: str, server: Server, *, response_template: dict[str, Any] | None = None
) -> Dialect | tuple[Dialect, ...]:
    """Return the dialects that a server's parser of this name reads.

    Args:
        name: what is given to `--tool-call-parser`, or the name of a preset, with `-` or `_`.
        server: whose name it is.
        response_template: the model's own, as its tokenizer has it, which `hf` and `response_template` read by.

    Returns:
        The dialect, or several where the parser reads several.

    Raises:
        ConfigError: there is no such name; the message lists those there are. Or the model's `response_template` is
            needed, and is missing or describes what a dialect cannot.
    """
    entry = _table()[server].get(name, {"dialect": name.replace("_", "-")})
    if entry["dialect"] == OF_THE_MODEL:
        if response_template is None:
            raise ConfigError(f"{name!r} reads by the model's response_template, which is missing")
        return Dialect.from_response_template(response_template)
    if entry["dialect"] not in Dialect.presets():
        known = ", ".join(served_names(server))
        raise ConfigError(f"{server} has no parser {name!r} that is known here; there are {known}")
    dialects = [_changed(Dialect(entry["dialect"]), entry.get("renamed", {}), name)]
    dialects += map(Dialect, entry.get("also", ()))
    return dialects[0] if len(dialects) == 1 else tuple(dialects)


def _changed(dialect: Dialect, renamed: dict[str, str], name: str) -> Dialect:
    """The dialect with other words in its marks."""
    if not renamed:
        return dialect
    text = json.dumps(dialect.to_dict(), ensure_ascii=False)
    for old, new in renamed.items():
        text = text.replace(old, new)
    return Dialect.from_dict(json.loads(text)).replace(name=name.replace("_", "-"))


@cache
def _table() -> dict[str, dict[str, dict[str, Any]]]:
    text = files(__package__ or "").joinpath("served_names.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, dict[str, Any]]] = json.loads(text)
    return table


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
