"""What a provider wants back with the calls of an answer.

It is the answer's reasoning with its signatures, the order in which reasoning, text and calls came, and fields that
only the provider can read. The log keeps it; the reasoning is sent back until the next question, the rest after it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..context.history import Messages
from ..guards.json import read_json
from .answer import decoded, encoded


class Returned(NamedTuple):
    """What belongs to one batch of calls.

    Attributes:
        reasoning: blocks as the provider wants them back: `text` and `signature`.
        rest: the `order` of the parts, `(kind, text)` each, with a text for the kind `"text"` only, empty if it is
            reasoning, text, calls; and opaque `fields` of the message and of each of its `calls`. `None` if there is
            nothing of all this.
    """

    reasoning: list[dict[str, str | None]]
    rest: dict[str, Any] | None


_NOTHING = Returned([], None)


def give_back(messages: Messages, known: Mapping[int, Returned]) -> int:
    """Put what is known of each batch of calls after the last question in the place of what the log knows of it.

    Only a storage that keeps no parts of rows knows less.

    Args:
        messages: the conversation; calls after the last question have `reasoning`.
        known: by the number of the batch, from 0. If there is nothing for a batch, what the log knows is sent.

    Returns:
        How many batches of calls there are after the last question.
    """
    batches: Messages = []
    for message in reversed(messages):
        if "reasoning" in message:
            batches.append(message)
        elif "tool_calls" in message:  # before the last question
            break
    for batch, message in enumerate(reversed(batches)):
        returned = known.get(batch, _NOTHING)
        if returned.reasoning:
            message["reasoning"] = list(returned.reasoning)
        elif not message["reasoning"]:
            del message["reasoning"]
        if returned.rest is not None:
            message["returned"] = returned.rest
    return len(batches)


class WrittenParts:
    """The parts of one answer, while it arrives."""

    __slots__ = ("_blocks", "_fields", "_is_signed", "_of_calls", "_order")

    def __init__(self) -> None:
        self._order: list[tuple[str, str]] = []
        self._blocks: list[_Block] = []
        self._is_signed = True  # the last block of reasoning is over
        self._fields: dict[str, Any] = {}
        self._of_calls: dict[int, dict[str, Any]] = {}

    def text(self, text: str) -> None:
        """Take the next piece of the text."""
        self._order.append(("text", text))

    def call(self) -> None:
        """Take the beginning of a call."""
        self._order.append(("call", ""))

    def reasoning(self, text: str, signature: str | None) -> None:
        """Take the next piece of the reasoning, or its signature, which ends a block."""
        if not text and signature is None:
            return
        if self._is_signed:
            self._blocks.append(_Block())
            self._order.append(("reasoning", ""))
        block = self._blocks[-1]
        block.text += encoded(text)
        block.signature = signature
        self._is_signed = signature is not None

    def opaque(self, name: str, json: str, call: int | None) -> None:
        """Take a field of the answer, or of the call with this number. Text that is not JSON is left out."""
        try:
            value: Any = read_json(json)
        except ValueError:
            return
        if call is not None:
            self._of_calls.setdefault(call, {})[name] = value
        elif name == "reasoning_details":
            _add_detail(self._fields.setdefault(name, []), value)
        else:
            self._fields[name] = value

    def returned(self, calls: int) -> Returned:
        """What belongs to a batch of so many calls; linear in the answer."""
        reasoning = [
            {"text": decoded(each.text), "signature": each.signature} for each in self._blocks
        ]
        order = self._unusual_order()
        if not (order or self._fields or self._of_calls):
            return Returned(reasoning, None)
        fields = {
            name: [*map(_whole_detail, value)] if name == "reasoning_details" else value
            for name, value in self._fields.items()
        }
        of_calls = [self._of_calls.get(number, {}) for number in range(calls)]
        return Returned(reasoning, {"order": order, "fields": fields, "calls": of_calls})

    def _unusual_order(self) -> list[tuple[str, str]]:
        """The parts in their order; empty if that is reasoning, one text, calls."""
        order: list[tuple[str, str]] = []
        texts: list[str] = []
        for kind, text in self._order:
            if kind == "text":
                texts.append(text)
                continue
            if texts:
                order.append(("text", "".join(texts)))
                texts.clear()
            order.append((kind, ""))
        if texts:
            order.append(("text", "".join(texts)))
        order = [part for part in order if part[0] != "text" or not part[1].isspace()]
        places = [_USUAL.index(kind) for kind, _ in order]
        return order if places != sorted(places) else []


_USUAL = ("reasoning", "text", "call")


class _Block:
    """A block of reasoning while it arrives."""

    __slots__ = ("signature", "text")

    def __init__(self) -> None:
        self.text = bytearray()
        self.signature: str | None = None


_GROWING = ("text", "summary")
"""The fields of an item of `reasoning_details` that come in pieces."""


def _add_detail(details: list[dict[str, Any]], item: Any) -> None:
    """Add an item of `reasoning_details`, or a piece of the last one, which has its type and its index."""
    if not isinstance(item, dict):
        return
    detail = cast("dict[str, Any]", item)
    if not (details and _goes_on(details[-1], detail)):
        details.append({})
    kept = details[-1]
    for name, value in detail.items():
        if name in _GROWING and isinstance(value, str):
            kept.setdefault(name, bytearray()).extend(encoded(value))
        elif value is not None or name not in kept:
            kept[name] = value


def _goes_on(last: dict[str, Any], detail: dict[str, Any]) -> bool:
    is_whole = last.get("signature") is not None or "data" in last or "data" in detail
    return not is_whole and all(last.get(name) == detail.get(name) for name in ("type", "index"))


def _whole_detail(detail: dict[str, Any]) -> dict[str, Any]:
    return {
        name: decoded(value) if isinstance(value, bytearray) else value
        for name, value in detail.items()
    }
