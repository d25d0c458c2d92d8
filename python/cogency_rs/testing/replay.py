"""A model that answers from a recording, and reports where a request differs from the recorded one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

from ..errors import ConfigError
from ..models import Delta, ModelRequest
from .recording import RecordedAnswer, read_recording, request_as_json
from .scripted import ScriptedModel, shortened

_BEFORE, _AFTER = 20, 40
_NOTHING: Any = object()
_Object: TypeAlias = dict[str, Any]


def first_difference(recorded: Any, asked: Any, at: str) -> str | None:
    """Find the first place where a value differs from the recorded one.

    Args:
        recorded: the recorded value.
        asked: the present value.
        at: the name of the value.

    Returns:
        One line with the place and both values there, or of a long text the part around the place; `None` if the values
        are equal. O(n) in the size of both.
    """
    match recorded, asked:
        case (dict(), dict()):
            return _in_dicts(cast("_Object", recorded), cast("_Object", asked), at)
        case (list(), list()):
            return _in_lists(cast("list[Any]", recorded), cast("list[Any]", asked), at)
        case (str(), str()) if recorded != asked:
            return _in_texts(recorded, asked, at)
        case _ if json.dumps(recorded) != json.dumps(asked):
            return f"{at} was {_short(recorded)}, but is {_short(asked)}"
        case _:
            return None


def _in_lists(recorded: list[Any], asked: list[Any], at: str) -> str | None:
    pairs = zip_longest(recorded, asked, fillvalue=_NOTHING)
    return _first(_in_items(*pair, f"{at}[{index}]") for index, pair in enumerate(pairs))


def _in_dicts(recorded: _Object, asked: _Object, at: str) -> str | None:
    keys = {**recorded, **asked}
    return _first(
        _in_items(recorded.get(key, _NOTHING), asked.get(key, _NOTHING), f"{at}.{key}")
        for key in keys
    )


def _in_items(recorded: Any, asked: Any, at: str) -> str | None:
    if recorded is _NOTHING:
        return f"{at} was not there, but is {_short(asked)}"
    if asked is _NOTHING:
        return f"{at} was {_short(recorded)}, but is not there"
    return first_difference(recorded, asked, at)


def _in_texts(recorded: str, asked: str, at: str) -> str:
    place = next(
        place for place, (then, now) in enumerate(zip_longest(recorded, asked)) if then != now
    )
    then, now = (_around(text, place) for text in (recorded, asked))
    return f"{at} differs at character {place}: it was {then}, but is {now}"


def _around(text: str, place: int) -> str:
    start, end = max(0, place - _BEFORE), place + _AFTER
    shown = repr(text[start:end])
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"


def _short(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))


def _first(differences: Iterable[str | None]) -> str | None:
    return next((found for found in differences if found is not None), None)


_COMPARED = {"messages": list[Any](), "tools": list[Any]()}
"""The parts of a request that must be as recorded, each with the value that it has if the recording leaves it out."""


class ReplayModel(ScriptedModel):
    """A model that answers from a recording, in the order of its requests.

    It has everything that a `ScriptedModel` has: `requests`, `assert_complete`, `closed_early`; and it is a plain
    function, too. An answer that ended with an error does so again: with the same error if it is a built-in one, else
    with an `LLMError` that names it. `name` and `provider` are those of the recorded model.

    Args:
        path: a file that `record` wrote.
        strict: whether each request must have the recorded messages and tools. Ids of calls may differ, if the same
            calls and results belong together.
        normalize: changes every text of a request and of its recording before comparison, to remove what differs
            each time, such as a time or the path of a temporary folder.
        speed: how many times faster than recorded the pieces come; `None` for all at once.

    Raises:
        ConfigError: the recording does not exist, cannot be read, or has no times although `speed` needs them; or
            `speed` is not above 0.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        strict: bool = True,
        normalize: Callable[[str], str] | None = None,
        speed: float | None = None,
    ) -> None:
        path = Path(path)
        recorded = read_recording(path)
        if speed is not None and speed <= 0:
            raise ConfigError(f"speed must be above 0, got {speed}")
        if speed is not None and any(answer.seconds is None for answer in recorded):
            raise ConfigError(
                f"{path} does not say when its pieces came, which speed needs: "
                "record again with record(model, path, timing=True)"
            )
        super().__init__(
            [_Replay(self._replay, answer, path) for answer in recorded],
            name=recorded[0].model,
            provider=recorded[0].provider,
        )
        self._origin = f"recorded in {path}"
        self._strict = strict
        self._normalize = normalize
        self._speed = speed
        self._limits: dict[str, str | None] = {}  # by the ids of requests

    def output_limit(self, request: ModelRequest) -> str | None:
        """The setting with which the length of the recorded answer was bounded; see `Model`."""
        return self._limits.get(request.id)

    async def _replay(
        self, recorded: RecordedAnswer, path: Path, asked: ModelRequest
    ) -> AsyncGenerator[str | Delta, None]:
        """Give a recorded answer, if the request is as recorded."""
        if self._strict:
            self._compare(recorded, path, asked)
        self._limits[asked.id] = recorded.limit
        previous = 0.0
        for piece, second in zip(recorded.pieces, self._times(recorded), strict=True):
            await asyncio.sleep(second - previous)
            previous = second
            yield piece
        if isinstance(recorded.end, Exception):
            raise recorded.end
        if recorded.end == "closed":
            raise self._fault(
                f"answer {recorded.number + 1} of {path} was closed by its reader here when it was "
                "recorded, and is read on: delete the file and record again"
            )

    def _times(self, recorded: RecordedAnswer) -> list[float]:
        """When each piece is due, in seconds from the request."""
        if self._speed is None or recorded.seconds is None:
            return [0.0] * len(recorded.pieces)
        return [second / self._speed for second in recorded.seconds]

    def _compare(self, recorded: RecordedAnswer, path: Path, asked: ModelRequest) -> None:
        now = request_as_json(asked)
        for part, nothing in _COMPARED.items():
            told = self._comparable(recorded.request.get(part, nothing))
            found = first_difference(told, self._comparable(now.get(part, nothing)), part)
            if found is not None:
                raise self._fault(
                    f"request {recorded.number + 1} is not as recorded in {path}: {found}; "
                    "if that is intended, delete the file and record again"
                )

    def _comparable(self, value: Any) -> Any:
        """A value with its texts normalized and its ids numbered."""
        return _mapped(_numbered(value), self._normalize) if self._normalize else _numbered(value)


@dataclass(frozen=True)
class _Replay:
    """A recorded answer, as the answer of a script."""

    play: Callable[[RecordedAnswer, Path, ModelRequest], AsyncGenerator[str | Delta, None]]
    recorded: RecordedAnswer
    path: Path

    def __call__(self, asked: ModelRequest) -> AsyncGenerator[str | Delta, None]:
        return self.play(self.recorded, self.path, asked)

    def __repr__(self) -> str:
        return f"answer {self.recorded.number + 1} of {self.path.name}"


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A value of JSON with all its texts changed."""
    match value:
        case str():
            return change(value)
        case dict():
            return {
                key: _mapped(item, change) for key, item in cast("dict[str, Any]", value).items()
            }
        case list():
            return [_mapped(item, change) for item in cast("list[Any]", value)]
        case _:
            return value


def _numbered(messages: list[Any]) -> list[Any]:
    """Messages with each id of a call replaced by a number, in the order in which the ids first occur."""
    numbers: dict[str, str] = {}

    def number(value: dict[str, Any], key: str) -> dict[str, Any]:
        if not isinstance(value.get(key), str):
            return value
        return {**value, key: numbers.setdefault(value[key], f"id {len(numbers) + 1}")}

    def of_message(message: dict[str, Any]) -> dict[str, Any]:
        message = number(number(message, "tool_call_id"), "tool_execution_id")
        if message.get("tool_calls"):
            calls: list[Any] = message["tool_calls"]
            message = {**message, "tool_calls": [number(call, "id") for call in calls]}
        return message

    return [of_message(message) for message in messages]
