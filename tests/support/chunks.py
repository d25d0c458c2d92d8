"""Texts in chunks, as a model's answer arrives."""

from __future__ import annotations

from collections.abc import Iterable

from cogency_rs.models import Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage


def cut(text: str, size: int = 4) -> list[str]:
    """The text in chunks of this many characters; the last one may be shorter."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def joined(deltas: Iterable[object]) -> list[object]:
    """Deltas of an answer with neighbours of one kind as one, and the last usage before the end."""
    whole: list[object] = []
    usage: list[Usage] = []
    for delta in deltas:
        match whole[-1:], delta:
            case _, Usage():
                usage = [delta]
            case [TextDelta(before)], TextDelta(text):
                whole[-1] = TextDelta(before + text)
            case [ReasoningDelta(before, None)], ReasoningDelta(text, None):
                whole[-1] = ReasoningDelta(before + text)
            case [ToolCallDelta(index, id, name, before)], ToolCallDelta(same) if index == same:
                whole[-1] = ToolCallDelta(
                    index, id or delta.id, name or delta.name, before + delta.arguments
                )
            case _, Finish():
                whole += [*usage, delta]
            case _:
                whole.append(delta)
    return whole
