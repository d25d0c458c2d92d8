"""How a scripted model writes: an answer in a dialect, or as deltas of a provider, cut anywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from cogency_rs.models import Finish, TextDelta, ToolCallDelta

from .ledger import Written

__all__ = ["Writer"]


def _cogency(calls: Sequence[Written]) -> list[str]:
    listed = [{"name": call.tool, "args": _args(call)} for call in calls]
    return [f"<execute>{json.dumps(listed)}</execute>"] if listed else []


def _hermes(calls: Sequence[Written]) -> list[str]:
    return [
        "\n<tool_call>\n"
        + json.dumps({"name": call.tool, "arguments": _args(call)})
        + "\n</tool_call>"
        for call in calls
    ]


def _qwen(calls: Sequence[Written]) -> list[str]:
    return [
        f"\n<tool_call>\n<function={call.tool}>\n"
        + "".join(
            f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in _args(call).items()
        )
        + "</function>\n</tool_call>"
        for call in calls
    ]


_FORMS = {"cogency": _cogency, "hermes": _hermes, "qwen3-coder": _qwen}

_BROKEN = {
    "cogency": '<execute>[{{"name" "pay", "args" {{"c": "{}"}}}}]</execute>',
    "hermes": '\n<tool_call>\n{{"name" "pay", "arguments": {{"c": "{}"}}}}\n</tool_call>',
    "qwen3-coder": "\n<tool_call>\n<function=pay>\n{}\n</function>\n</tool_call>",
}


def _args(call: Written) -> dict[str, Any]:
    return {"c": call.mark, "amount": call.amount}


class Writer:
    """Writes answers.

    Args:
        dialect: one of the dialects, or "native".
        ids: which ids a provider gives.
        new_id: makes an id that looks like ours.
        random: draws ids.
    """

    def __init__(self, dialect: str, ids: str, new_id: Any, random: Random) -> None:
        self._dialect, self._ids = dialect, ids
        self._random = random
        self._new_id = new_id
        self.known: list[str] = []  # ids of earlier calls, as people saw them

    def pieces(
        self,
        random: Random,
        words: str,
        calls: Sequence[Written],
        broken: Sequence[tuple[str, Written]],
        *,
        part: float,
        ends: str,
    ) -> list[Any]:
        """The pieces of an answer; marks calls that are not whole if it is cut.

        Args:
            random: draws where it is cut into pieces.
            words: what is said before the calls.
            calls: the calls.
            broken: blocks that cannot be read: whether "first" or "last", and the call in it.
            part: which part of it is written before it ends.
            ends: "whole", "length" or "error".
        """
        for call in calls:
            call.may_be_left = bool(broken) or ends != "whole"
        if self._dialect == "native":
            return self._native(random, words, calls, broken, part, ends)
        blocks = _FORMS[self._dialect](calls)
        text, ends_at = words, list[int]()
        wrong = [(place, _BROKEN[self._dialect].format(call.mark)) for place, call in broken]
        if self._dialect == "cogency" and wrong and blocks:
            # An answer has one block there: the broken one comes alone.
            for call in calls:
                call.is_whole = False
            blocks = []
        text += "".join(block for place, block in wrong if place == "first")
        for block in blocks:
            text += block
            ends_at.append(len(text))
        text += "".join(block for place, block in wrong if place == "last")
        if ends != "whole":
            text = text[: max(1, int(len(text) * part))]
            for number, call in enumerate(calls):
                end = ends_at[min(number, len(ends_at) - 1)] if ends_at else 0
                call.is_whole = call.is_whole and 0 < end <= len(text)
        pieces: list[Any] = list(_cut(random, text))
        if ends == "length":
            pieces.append(Finish("length"))
        return pieces

    def _native(
        self,
        random: Random,
        words: str,
        calls: Sequence[Written],
        broken: Sequence[tuple[str, Written]],
        part: float,
        ends: str,
    ) -> list[Any]:
        pieces: list[Any] = [TextDelta(text) for text in _cut(random, words)] if words else []
        listed = [(call, json.dumps(_args(call))) for call in calls]
        for place, call in broken:
            entry = (call, f'{{"c" "{call.mark}"}}')
            listed = [entry, *listed] if place == "first" else [*listed, entry]
        if broken and ends == "whole":  # then no call of the answer runs
            for call in calls:
                call.is_whole = False
        for index, (call, arguments) in enumerate(listed):
            first, *rest = _cut(random, arguments)
            pieces.append(ToolCallDelta(index, self._id(), call.tool, first))
            pieces += [ToolCallDelta(index, arguments=piece) for piece in rest]
        if ends == "whole":
            pieces.append(Finish("tool_calls" if listed else "stop"))
            return pieces
        count = max(1, int(len(pieces) * part))
        ends_at: dict[int, int] = {}
        for number, piece in enumerate(pieces, start=1):
            if isinstance(piece, ToolCallDelta) and piece.index is not None:
                ends_at[piece.index] = number
        for index, (call, _) in enumerate(listed):
            call.is_whole = call.is_whole and ends_at[index] <= count
        pieces = pieces[:count]
        if ends == "length":
            pieces.append(Finish("length"))
        return pieces

    def _id(self) -> str | None:
        random = self._random
        match self._ids:
            case "none":
                return None
            case "same":
                return "call_0"
            case "few":
                return f"call_{random.randrange(3)}"
            case "ours":
                return str(self._new_id())
            case _:
                known = self.known
                return random.choice(known) if known else str(self._new_id())


def _cut(random: Random, text: str) -> list[str]:
    """A text in one to four pieces, cut anywhere."""
    if not text:
        return [""]
    cuts = sorted(random.randrange(len(text) + 1) for _ in range(random.choice((0, 1, 2, 3))))
    found = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in found if piece] or [text]
