"""The marks of a dialect's examples, for tests that take one away or write one twice."""

from __future__ import annotations

from typing import Any, NamedTuple

from cogency_rs import Dialect


class Marks(NamedTuple):
    """The marks of a call that has its arguments between marks."""

    close: str
    """Closes the call; empty where the arguments, or a message, end it."""
    key_end: str
    """Between a key and its value."""
    value_close: str
    """Closes a value; `{key}` in it is the key."""


def examples(name: str, *, json: bool) -> list[dict[str, Any]]:
    """The examples of a dialect's calls: those that are JSON objects, or the others."""
    calls = Dialect(name).to_dict()["calls"]
    return [each for each in calls if isinstance(each["call"], dict) == json]


def marks_of(example: dict[str, Any]) -> Marks | None:
    """The marks of a call with raw values; `None` for another."""
    _, is_raw, value_close = example.get("arg", "").partition("{raw")
    if not is_raw:
        return None
    between = example["arg"].split("}", 1)[1].split("{raw")[0]
    key_end = between.split("\n")[0].split(" {")[0].partition("><")
    return Marks(
        close=example["call"].rsplit("}", 1)[1].strip(),
        key_end=key_end[0] + key_end[1][:1],
        value_close=value_close.partition("}")[2].strip(),
    )


def in_block(dialect: Dialect, block: str, **changes: Any) -> Dialect:
    """The dialect with its calls in this block."""
    [call] = dialect.to_dict()["calls"]
    return dialect.replace(calls=[{**call, "block": block}], **changes)
