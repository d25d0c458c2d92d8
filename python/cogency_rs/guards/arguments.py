"""Refuses wrong arguments: one sentence that names the argument, what was given, and what is accepted.

Every sentence has the same form, `name must be …, got …`, and every check is here, so that an argument with one meaning
is refused in the same words wherever it is given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ArgumentError, ConfigError

__all__ = [
    "MAX_SECONDS",
    "check_choice",
    "check_count",
    "check_execution",
    "check_flag",
    "check_function",
    "check_instance",
    "check_list",
    "check_mapping",
    "check_names",
    "check_seconds",
    "check_text",
    "out_of_range",
    "refused",
]

MAX_SECONDS = 366 * 24 * 3600.0

_LONGEST = 100


def refused(name: str, given: Any, accepted: str, advice: str = "") -> ArgumentError:
    """Make the error for an argument of the wrong type.

    Args:
        name: the argument's name.
        given: what was given; shown in at most 100 characters.
        accepted: what the argument must be, with its article.
        advice: what to write instead.
    """
    sentence = _sentence(name, given, accepted)
    return ArgumentError(f"{sentence}; {advice}" if advice else sentence)


def out_of_range(name: str, given: Any, accepted: str) -> ConfigError:
    """Make the error for an argument of the right type whose value cannot work; else as `refused`."""
    return ConfigError(_sentence(name, given, accepted))


def _sentence(name: str, given: Any, accepted: str) -> str:
    return f"{name} must be {accepted}, got {_shown(given)}"


def _shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of an object that cannot even say what it is
        return f"an object of the class {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def check_text(name: str, given: Any, *, what: str = "text", or_none: bool = False) -> None:
    """Check a text.

    Raises:
        ArgumentError: it is not a `str`.
    """
    if not (isinstance(given, str) or (or_none and given is None)):
        raise refused(name, given, f"{what} (a str){', or None' if or_none else ''}")


def check_flag(name: str, given: Any) -> None:
    """Check a `bool`.

    Raises:
        ArgumentError: it is something else.
    """
    if not isinstance(given, bool):
        raise refused(name, given, "True or False")


def check_choice(name: str, given: Any, *choices: str) -> None:
    """Check a word.

    Raises:
        ConfigError: it is not one of the choices; an `ArgumentError` if it is not a `str`.
    """
    if not (isinstance(given, str) and given in choices):
        wrong = out_of_range if isinstance(given, str) else refused
        raise wrong(name, given, " or ".join(f'"{choice}"' for choice in choices))


def check_seconds(name: str, seconds: Any) -> None:
    """Check a time limit; `None` means no limit.

    Raises:
        ConfigError: it is not above 0 and at most a year; an `ArgumentError` if it is not a number.
    """
    if seconds is None:
        return
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (is_number and 0 < seconds <= MAX_SECONDS):
        wrong = out_of_range if is_number else refused
        raise wrong(name, seconds, "above 0 seconds and at most a year")


def check_count(
    name: str, count: Any, *, least: int = 1, most: float = sys.maxsize, or_none: bool = True
) -> None:
    """Check a number of things; `None` means no bound.

    Raises:
        ConfigError: it is not from `least` to `most`; an `ArgumentError` if it is not a whole number.
    """
    if count is None and or_none:
        return
    whole = count if isinstance(count, int) and not isinstance(count, bool) else None
    if whole is None or not least <= whole <= most:
        wrong = refused if whole is None else out_of_range
        raise wrong(
            name, count, f"a whole number of at least {least}{', or None' if or_none else ''}"
        )


def check_instance(name: str, given: Any, kind: type[Any], *, article: str = "a") -> None:
    """Check an object's class.

    Raises:
        ArgumentError: it is not an instance of `kind`.
    """
    if not isinstance(given, kind):
        raise refused(name, given, f"{article} {kind.__name__}")


def check_execution(given: Any) -> None:
    """Check what gives a batch its log and its tools: an `Execution`, ours or cogency's.

    Raises:
        ArgumentError: it is something else.
    """
    if not (hasattr(given, "tools") and hasattr(given, "storage")):
        raise refused("execution", given, "an Execution")


def check_function(name: str, given: Any, what: str = "a function, or None") -> None:
    """Check a function of the caller's; `None` is accepted.

    Raises:
        ArgumentError: it is not callable.
    """
    if not (given is None or callable(given)):
        raise refused(name, given, what)


def check_list(name: str, given: Any, of: str, advice: str = "") -> list[Any]:
    """Read any iterable of things.

    Args:
        name: the argument's name.
        given: the iterable.
        of: what it is a list of, in the plural.
        advice: what to write instead.

    Raises:
        ArgumentError: it is one thing, a text, or not an iterable.
    """
    if type(given) is list or type(given) is tuple:  # almost always, and quick
        return [*given]
    checked: object = given
    if isinstance(checked, str | bytes | Mapping) or not isinstance(checked, Iterable):
        raise refused(name, given, f"a list of {of}", advice)
    return list(given)


def check_names(name: str, given: Any) -> frozenset[str]:
    """Read an iterable of texts.

    Raises:
        ArgumentError: it is one text, not an iterable, or something in it is not a `str`.
    """
    names = check_list(
        name, given, "texts", f"write {name}=[{given!r}]" if isinstance(given, str) else ""
    )
    for each in names:
        if not isinstance(each, str):
            raise refused(name, given, "a list of texts")
    return frozenset(names)


def check_mapping(name: str, given: Any, what: str) -> None:
    """Check a dict, or what reads like one; `None` is accepted.

    Raises:
        ArgumentError: it is something else.
    """
    if not (given is None or isinstance(given, Mapping)):
        raise refused(name, given, what)
