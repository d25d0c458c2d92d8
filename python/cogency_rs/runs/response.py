"""A model's whole answer, for hooks that see it at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..models import Delta, Finish, TextDelta, Usage

__all__ = ["ModelResponse"]


@dataclass(frozen=True)
class ModelResponse:
    """What a model answered to one request.

    Attributes:
        request_id: the `ModelRequest` that it answers.
        deltas: its pieces, in order.
        usage: the tokens that it used.
    """

    request_id: str
    deltas: tuple[str | Delta, ...]
    usage: Usage = field(default_factory=Usage)

    @property
    def text(self) -> str:
        """The text of the answer."""
        pieces = (
            delta if isinstance(delta, str) else delta.text
            for delta in self.deltas
            if isinstance(delta, str | TextDelta)
        )
        return "".join(pieces)

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped, if that is known."""
        reasons = [delta.reason for delta in self.deltas if isinstance(delta, Finish)]
        return reasons[-1] if reasons else None
