"""Recordings: a model's answers, turn by turn, in their tokens.

A recording is a text file of JSON lines, one model turn a line: `{"tokens": ["I", "'ll", " go"]}`,
or `{"text": "I'll go"}`, which is cut into pieces of a token's size; `"tokens"` counts if there are
both. `"user"` is what the user wrote before that turn, if they did. Other keys are ignored, and so
are empty lines.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

from ...guards.json import read_json
from ..exits import UnusableError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "RecordedTurn",
    "RecordingError",
    "parse_recording",
    "read_recording",
    "shipped_recording",
]

_FORM = 'each line is one model turn: {"tokens": ["...", ...]} or {"text": "..."}'
_PIECE = re.compile(r" ?\w{1,6}|\s|[^\w\s]{1,3}")
_SURROGATE = re.compile("[\ud800-\udfff]")  # the log is UTF-8, which cannot hold a lone surrogate


class RecordingError(UnusableError):
    """A recording that cannot be played; says which line is at fault and what it should be."""


@dataclass(frozen=True)
class RecordedTurn:
    """One turn of the model.

    Attributes:
        tokens: its text, cut as it was streamed.
        user: what the user wrote before it, or `None`.
    """

    tokens: tuple[str, ...]
    user: str | None = None


def shipped_recording() -> list[RecordedTurn]:
    """Read the session that comes with the package."""
    file = resources.files("cogency_rs.cli.demo") / "session.jsonl"
    return parse_recording(file.read_text(encoding="utf-8"), name=file.name)


def read_recording(path: Path) -> list[RecordedTurn]:
    """Read a recording from a file.

    Raises:
        RecordingError: the file does not exist, cannot be read, or is not a recording.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RecordingError(f"{path} does not exist; name a recording: {_FORM}") from None
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RecordingError(f"{path} is not UTF-8 text (byte {error.start}); {_FORM}") from error
    return parse_recording(text, name=str(path))


def parse_recording(text: str, *, name: str) -> list[RecordedTurn]:
    """Read a recording from its text.

    Args:
        text: the JSON lines.
        name: the name of the recording in errors.

    Raises:
        RecordingError: a line does not have the form, or there are no lines.
    """
    turns: list[RecordedTurn] = []
    # Not `splitlines`, which also cuts at characters that a JSON string may hold.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            turns.append(_turn(line))
        except RecordingError as error:
            raise RecordingError(f"{name}, line {number}: {error}; {_FORM}") from error.__cause__
    if not turns:
        raise RecordingError(f"{name} has no turns; {_FORM}")
    return turns


def _turn(line: str) -> RecordedTurn:
    try:
        value = read_json(line)
    except json.JSONDecodeError as error:
        raise RecordingError(f"not JSON ({error.msg}, column {error.colno})") from error
    except ValueError as error:  # a huge number, or nested too deep
        raise RecordingError(f"not readable as JSON ({error})") from error
    if not isinstance(value, dict):
        raise RecordingError(f"a JSON {_kind(value)} instead of an object")
    fields = cast("dict[str, Any]", value)
    user = fields.get("user")
    if user is not None and not isinstance(user, str):
        raise RecordingError(f'"user" is a JSON {_kind(user)} instead of a string')
    return RecordedTurn(tuple(map(_clean, _tokens(fields))), user and _clean(user))


def _tokens(fields: dict[str, Any]) -> list[str]:
    if "tokens" in fields:
        return _checked(fields["tokens"])
    if "text" not in fields:
        raise RecordingError('neither "tokens" nor "text" in it')
    text = fields["text"]
    if not isinstance(text, str):
        raise RecordingError(f'"text" is a JSON {_kind(text)} instead of a string')
    return _PIECE.findall(text)


def _checked(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise RecordingError(f'"tokens" is a JSON {_kind(value)} instead of an array')
    tokens = cast("list[Any]", value)
    for index, token in enumerate(tokens):
        if not isinstance(token, str):
            raise RecordingError(f'"tokens"[{index}] is a JSON {_kind(token)} instead of a string')
    return tokens


def _clean(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _kind(value: Any) -> str:
    """The name of a value's type in JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
