"""Recordings: a file with a line of JSON for each answer of a model and its request; `record` writes one.

Invariant: a line reads back as what was written, whatever text the model wrote.
"""

from __future__ import annotations

import builtins
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from ..errors import ConfigError, LLMError
from ..models import (
    Delta,
    ExtraDelta,
    Finish,
    Model,
    ModelRequest,
    OpaqueDelta,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from ..models.request import limit_of
from ..outside import monotonic
from .scripted import closing, copy_of, text_in

FORMAT = 1

KINDS: dict[str, type[Any]] = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "tool_call": ToolCallDelta,
    "opaque": OpaqueDelta,
    "extra": ExtraDelta,
    "usage": Usage,
    "finish": Finish,
}
_KIND_OF = {made: kind for kind, made in KINDS.items()}

_USUAL: dict[str, Any] = {
    "tools": [],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "stop": [],
    "output_schema": None,
}
"""The usual values of a request's fields, which are left out of a line."""

End: TypeAlias = Literal["whole", "closed"] | Exception
"""How an answer ended: by itself, closed by its reader, or with the exception that its model raised."""


@dataclass(frozen=True)
class RecordedAnswer:
    """A recorded answer.

    Attributes:
        number: the number of the request that it answered, from 0.
        request: the request, as values of JSON.
        pieces: the pieces of the answer.
        seconds: when each piece came, in seconds from the request; `None` if that was not recorded.
        end: how the answer ended.
        model: the model's name.
        provider: the name of its service.
        limit: the setting with which the user bounded the answer's length; `None` if there was none.
    """

    number: int
    request: Mapping[str, Any]
    pieces: Sequence[str | Delta]
    seconds: Sequence[float] | None
    end: End
    model: str
    provider: str
    limit: str | None = None

    def to_line(self) -> bytes:
        """The answer as a line of JSON."""
        line = {
            "format": FORMAT,
            "number": self.number,
            "model": self.model,
            "provider": self.provider,
            "request": self.request,
            "answer": [_piece_as_json(piece) for piece in self.pieces],
            "end": self.end if isinstance(self.end, str) else _error_as_json(self.end),
        }
        if self.seconds is not None:
            line["seconds"] = [round(second, 4) for second in self.seconds]
        if self.limit is not None:
            line["limit"] = self.limit
        try:
            return json.dumps(line, ensure_ascii=False).encode() + b"\n"
        except UnicodeEncodeError:  # a lone surrogate, which only an escape can express
            return json.dumps(line).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> RecordedAnswer:
        """Read what `to_line` wrote.

        Raises:
            ValueError, KeyError, TypeError: the line is not what it writes.
        """
        read = json.loads(line)
        if read["format"] != FORMAT:
            raise ValueError(f"format {read['format']!r} is not known")
        return cls(
            number=read["number"],
            request=read["request"],
            pieces=[_piece(piece) for piece in read["answer"]],
            seconds=read.get("seconds"),
            end=_end(read["end"]),
            model=read["model"],
            provider=read["provider"],
            limit=read.get("limit"),
        )


def read_recording(path: Path) -> list[RecordedAnswer]:
    """Read the answers of a file, in the order of their requests.

    Raises:
        ConfigError: the file does not exist or cannot be read; the message says which line is wrong, and what to do.
    """
    if not path.exists():
        raise ConfigError(f"there is no recording {path}: make one with record(model, path)")
    answers: list[RecordedAnswer] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            answers.append(RecordedAnswer.from_line(line))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{path}:{number} is not a whole answer ({type(error).__name__}: {error}): "
                "remove the line, or delete the file and record again",
                cause=error,
            ) from error
    answers.sort(key=lambda answer: answer.number)
    for number, answer in enumerate(answers):
        if answer.number != number:
            raise ConfigError(
                f"{path} does not have the answer to request {number + 1}, which had not ended when the "
                "program did: delete the file and record again"
            )
    if not answers:
        raise ConfigError(f"{path} has no answers: delete the file and record again")
    return answers


def request_as_json(request: ModelRequest) -> dict[str, Any]:
    """A request as a recording holds it: all that was sent to the model, without usual values.

    The provider's settings are left out, since credentials may be among them.

    Raises:
        TypeError, ValueError: JSON cannot hold the request.
    """
    choice = request.tool_choice
    told = {
        "messages": copy_of(request.messages),
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": copy_of(tool.parameters),
            }
            for tool in request.tools
        ],
        "tool_choice": {"name": choice.name} if isinstance(choice, SpecificTool) else choice,
        "parallel_tool_calls": request.parallel_tool_calls,
        "stop": list(request.stop),
        "output_schema": copy_of(request.output_schema),
    }
    written: dict[str, Any] = json.loads(json.dumps(told))
    return {key: value for key, value in written.items() if value != _USUAL.get(key, MISSING)}


def _piece_as_json(piece: str | Delta) -> Any:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Finish):
        details = {} if piece.details is None else {"details": piece.details}
        return {"type": "finish", "reason": piece.reason, **details}
    values = {field.name: (getattr(piece, field.name), field.default) for field in fields(piece)}
    told = {name: value for name, (value, default) in values.items() if value != default}
    return {"type": _KIND_OF[type(piece)], **told}


def _piece(read: Any) -> str | Delta:
    if isinstance(read, str):
        return read
    kind = read.pop("type")
    if kind not in KINDS:
        raise ValueError(f"a piece of type {kind!r} is not known")
    made: str | Delta = KINDS[kind](**read)
    return made


def _error_as_json(error: Exception) -> dict[str, Any]:
    flags = (
        {"rate_limited": error.rate_limited, "auth_failed": error.auth_failed}
        if isinstance(error, LLMError)
        else {}
    )
    return {"error": type(error).__name__, "message": str(error), **flags}


def _end(read: Any) -> End:
    """How an answer ended. A built-in exception is made again; any other becomes an `LLMError`."""
    if read in ("whole", "closed"):
        end: End = read
        return end
    name, message = read["error"], read["message"]
    made: Any = getattr(builtins, name, None)
    if isinstance(made, type) and issubclass(made, Exception):
        try:
            return made(message)
        except TypeError:  # it takes more than a message
            pass
    return LLMError(
        message if name == LLMError.__name__ else f"{name}: {message}",
        rate_limited=read.get("rate_limited", False),
        auth_failed=read.get("auth_failed", False),
    )


PlainModel: TypeAlias = Callable[[Any], AsyncIterable[str | ReasoningDelta | Finish]]
"""A plain function from messages to text."""

AnyModel: TypeAlias = Model | PlainModel


def record(model: AnyModel, path: str | PathLike[str], *, timing: bool = False) -> RecordingModel:
    """Make a model that answers as `model` does, and writes what it was asked and answered to a file.

    Args:
        model: a `Model`, or a plain function from messages to text.
        path: the file, which must not exist; its folder is created. A line is written when an answer has ended, so a
            killed program loses only the answers in progress. A line holds the request, but not the provider's
            settings, since credentials may be among them.
        timing: whether to record when each piece came, too, for `ReplayModel(path, speed=…)`.

    Raises:
        ConfigError: the file exists, or `model` is not a model.
    """
    return RecordingModel(model, Path(path), timing=timing)


class RecordingModel:
    """A model that writes what it is asked and answers to a file; made by `record`."""

    def __init__(self, model: AnyModel, path: Path, *, timing: bool) -> None:
        if not hasattr(model, "stream") and not callable(model):
            raise ConfigError(
                "model must have stream(request), or be a function from messages to text, "
                f"got {model!r}"
            )
        if path.exists():
            raise ConfigError(
                f"{path} is a recording already: use ReplayModel(path), or delete it to record again"
            )
        self.name = str(getattr(model, "name", None) or getattr(model, "__name__", "model"))
        self.provider = str(getattr(model, "provider", None) or "unknown")
        self.path = path
        self._model = model
        self._timing = timing
        self._asked = 0
        self._is_begun = False
        self._lock = threading.Lock()

    def output_limit(self, request: ModelRequest) -> str | None:
        """The setting with which the user bounded the length of the model's answer; see `Model`."""
        return limit_of(self._model, request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Delta, None]:
        """Pass the model's answer on, and write it to the file when it has ended, however it ended.

        Raises:
            ConfigError: JSON cannot hold the request; it is not sent.
            TypeError: the model yields anything but `str` and `Delta`s.
        """
        try:
            asked = request_as_json(request)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"request {self._asked + 1} cannot be recorded in {self.path}: {error}",
                cause=error,
            ) from error
        with self._lock:
            number, self._asked = self._asked, self._asked + 1
        pieces: list[str | Delta] = []
        seconds: list[float] = []
        end: End = "closed"
        began = monotonic()
        source = self._source(request)
        try:
            async with closing(source):
                async for piece in source:
                    if not isinstance(piece, str | Delta):
                        raise TypeError(f"a model must give str and Deltas, and gave {piece!r}")
                    seconds.append(monotonic() - began)
                    pieces.append(piece)
                    yield piece
            end = "whole"
        except Exception as error:
            end = error
            raise
        finally:
            answer = RecordedAnswer(
                number=number,
                request=asked,
                pieces=pieces,
                seconds=seconds if self._timing else None,
                end=end,
                model=self.name,
                provider=self.provider,
                limit=self.output_limit(request),
            )
            self._write(answer.to_line())

    def __call__(
        self, messages: Sequence[Mapping[str, Any]]
    ) -> AsyncGenerator[str | ReasoningDelta | Finish, None]:
        """Answer as a plain model function does: with what `parse_tokens` reads, which is everything but usage.

        Raises:
            ConfigError: the answer has a tool call of the provider's own kind, which must not be lost.
        """
        return text_in(self.stream(ModelRequest(messages)))

    def _source(self, request: ModelRequest) -> AsyncIterable[str | Delta]:
        if hasattr(self._model, "stream"):
            return cast("Model", self._model).stream(request)
        plain = cast("PlainModel", self._model)
        return plain(request.messages)

    def _write(self, line: bytes) -> None:
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # In one write, so that a crash leaves only whole lines.
            with self.path.open("ab" if self._is_begun else "xb", buffering=0) as file:
                file.write(line)
            self._is_begun = True
