"""`record`: writes a model's answers to a file, so that they can be replayed without the model's service."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

from ..errors import ConfigError
from ..models import Delta, Finish, Model, ModelRequest, ReasoningDelta
from ..models.request import limit_of
from ..outside import monotonic
from .recording import End, RecordedAnswer, request_as_json
from .streams import closing, text_in

__all__ = ["AnyModel", "RecordingModel", "record"]

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
