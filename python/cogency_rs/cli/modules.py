"""Values in Python modules that a command line names: `MODULE:NAME`."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from .exits import UnusableError

__all__ = ["named_tools", "named_value"]


def named_value(where: str) -> Any:
    """The value of a name in a module. The module is found as by `python -m`, including in the current folder.

    Raises:
        UnusableError: there is none.
    """
    module_name, _, name = where.partition(":")
    if not name:
        raise UnusableError(f"{where} does not name a value in a module; write MODULE:NAME")
    return _value(_module(module_name), name)


def named_tools(where: str) -> list[Any]:
    """The tools of a module: all that it makes with `@tool`, or with `:NAME` a single tool or a list.

    Raises:
        UnusableError: there are none.
    """
    from ..tools.function_tool import FunctionTool

    module_name, _, name = where.partition(":")
    module = _module(module_name)
    if name:
        found = _value(module, name)
        return [*found] if isinstance(found, list | tuple) else [found]
    made: list[Any] = [each for each in vars(module).values() if isinstance(each, FunctionTool)]
    own = [tool for tool in made if tool.__module__ == module.__name__]
    if not own:
        raise UnusableError(
            f"module {module_name} makes no tools; write @cogency_rs.tool above a function, "
            f"or name a list of tools: {module_name}:NAME"
        )
    return own


def _module(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise UnusableError(f"{name} cannot be imported: {error}") from error
        raise UnusableError(
            f"there is no module {name}; name one as for python -m, such as tools or package.tools"
        ) from error
    except Exception as error:
        raise UnusableError(
            f"{name} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def _value(module: ModuleType, name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError as error:
        raise UnusableError(f"module {module.__name__} has no {name}") from error
