"""The error for a name that no preset has: it says which presets have a name or a model that is nearly it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .._core import Dialect
from ..errors import ConfigError
from ..types import Dialects

__all__ = ["check_dialect", "unknown"]


def unknown(name: str) -> ConfigError:
    """Make the error for a name that no preset has, with the nearest presets, or all if none is near.

    The core calls this, so that every door gives the same error.
    """
    nothing = f"there is no dialect {json.dumps(name, ensure_ascii=False)}"
    near = _near(name)
    if not near:
        return ConfigError(f"{nothing}; there are {', '.join(Dialect.presets())}")
    listed = [f'"{each.name}"' + (f" ({each.models})" if each.models else "") for each in near]
    are = "is" if len(listed) == 1 else "are"
    return ConfigError(
        f"{nothing}; the nearest {are} {', '.join(listed)}; docs/presets.md has those of all models"
    )


def check_dialect(dialect: Dialects) -> None:
    """Check the names of dialects.

    Raises:
        ConfigError: there is no such dialect.
    """
    for each in dialect if isinstance(dialect, tuple) else (dialect,):
        if isinstance(each, str):
            Dialect(each)


def _near(name: str) -> Sequence[Dialect]:
    """The presets of which this is a model, or the beginning of a model or of the name; or the most similar ones."""
    from difflib import get_close_matches  # for an error only

    given = _bare(name.rpartition("/")[2])  # a model's name may begin with its maker's
    if not given:
        return ()
    found: dict[str, list[Dialect]] = {}
    for each in map(Dialect, Dialect.presets()):
        for label in (each.name, *(each.models or "").split(",")):
            found.setdefault(_bare(label), []).append(each)
    keys = [key for key in found if len(key) > 2]
    near = [given] if given in found else [key for key in keys if key.startswith(given)]
    near = near or sorted(filter(given.startswith, keys), key=len)[-1:]
    near = near or get_close_matches(given, keys, _MOST, 0.75)
    return [*{each.name: each for key in near for each in found[key]}.values()][:_MOST]


_MOST = 3


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
