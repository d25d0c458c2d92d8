"""The fold of a conversation for drivers without a dialect, as simply as it can be said."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from cogency_rs.agent.prompt import inert_text, inert_value
from cogency_rs.errors import ToolParseError
from cogency_rs.protocol import parse_tool_call
from cogency_rs.storage import CallRecord
from cogency_rs.tools.toolbox import safe_name

LOST = "Interrupted before completion"

Message = dict[str, Any]


def compact(value: Any) -> str:
    """A value as JSON without spaces; readable, unless UTF-8 cannot encode it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


class Outcome:
    """What came of a call: of an item of the results array, or of anything else."""

    def __init__(self, item: Any, most: int | None = None) -> None:
        self.value, self.outcome, self.is_error = item, "", False
        if isinstance(item, dict):
            self.value, self.is_error = item.get("content"), item.get("status") == "failure"
            outcome = item.get("outcome")
            self.outcome = inert_text(outcome) if isinstance(outcome, str) else ""
            text = self.value if isinstance(self.value, str) else compact(self.value)
            if most is not None and len(text) > most:
                missing = len(text) - most
                self.value = f"{text[:most]}\n[… {missing} of {len(text)} characters are not shown]"
        self.value = inert_value(self.value)

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else compact(self.value)


class Passage:
    """What the model wrote up to the results of its calls, if it made any."""

    def __init__(self, said: Sequence[tuple[str, str]], calls: list[Message]) -> None:
        self.thoughts = [inert_text(text) for kind, text in said if kind == "think"]
        texts = [inert_text(text) for kind, text in said if kind == "respond"]
        self.text = "\n".join(text for text in texts if text.strip())
        self.calls = calls
        self.outcomes: list[Outcome] = []


class Question(str):
    __slots__ = ()


class Settled(str):
    __slots__ = ()


class Report:
    """What the model is told of output that could not be used."""

    def __init__(self, raw: str, content: str, is_of_cut_answer: bool) -> None:
        self.raw, self.content = inert_text(raw), inert_text(content)
        self.is_of_cut_answer = is_of_cut_answer


def report_in(content: str) -> Report | None:
    try:
        read = json.loads(content)
    except ValueError:
        return None
    match read:
        case {
            "kind": "malformed" | "truncated" | "unfinished" as kind,
            "raw": str(raw),
            "content": str(told),
        }:
            return Report(raw, told, kind == "truncated" and not raw)
        case _:
            return None


def calls_in(rows: Sequence[Message], records: Sequence[CallRecord]) -> dict[int, Message]:
    """The calls, by the place of their row. A call without an id has that of its record, or one made of its number.

    So has one with an id that an earlier call has.
    """
    found: dict[int, Message] = {}
    for place, row in enumerate(rows):
        if row["type"] == "call":
            try:
                call = parse_tool_call(row["content"])
            except ToolParseError:
                continue
            found[place] = {"name": call.name, "args": inert_value(call.args), "id": call.id}
    for call, record in zip(reversed(found.values()), reversed(records), strict=False):
        if record.name != call["name"]:
            break
        call["id"] = record.id if call["id"] is None else call["id"]
    taken: set[str] = set()
    for number, call in enumerate(found.values()):
        made = [f"call{number:05}", *(f"c{tries:03}{number:05}" for tries in range(len(found)))]
        ids = [each for each in (call["id"], *made) if each is not None]
        call["id"] = next(each for each in ids if plain(each) not in taken)
        taken.add(plain(call["id"]))
    return found


def plain(id: str) -> str:
    """An id with what every provider takes."""
    return "".join(each if re.match("[a-zA-Z0-9-]", each) else "_" for each in id)


def passages(
    rows: Sequence[Message],
    records: Sequence[CallRecord] = (),
    most: int | None = None,
    *,
    joins_exactly: bool = False,
) -> list[Question | Passage | Report | Settled]:
    """All passages, however often they are asked for."""
    calls, found, open_calls, pieces = calls_in(rows, records), [], [], []
    settled: list[Settled] = []

    def forget_reports() -> None:
        kept: list[Any] = []
        is_cut = False
        for piece in pieces:
            if isinstance(piece, Report):
                is_cut |= piece.is_of_cut_answer and bool(kept) and kept[-1][0] == "respond"
            elif is_cut and piece[0] == "respond":
                is_cut = False
                place = max(place for place, (kind, _) in enumerate(kept) if kind == "respond")
                is_exact = joins_exactly or place == len(kept) - 1
                rest = piece[1] if is_exact else piece[1].lstrip()
                kept.append(("respond", kept.pop(place)[1] + rest))
            else:
                kept.append(piece)
        pieces[:] = kept

    def close(said: Sequence[Any], results: str = "[]") -> None:
        if not (said or open_calls):
            return
        passage = Passage(said, [*open_calls])
        open_calls.clear()
        try:
            items = json.loads(results)
        except ValueError:
            items = None
        read = [Outcome(each, most) for each in items] if isinstance(items, list) else None
        outcomes = [Outcome(results)] if read is None else read
        missing = len(passage.calls) - len(outcomes)
        lost = [Outcome({"status": "failure", "content": LOST})] * missing
        passage.outcomes = lost + outcomes[max(-missing, 0) :]
        found.append(passage)
        if passage.calls:
            found.extend(settled)
            settled.clear()

    def show(said: Sequence[Any]) -> None:
        since: list[Any] = []
        for piece in said:
            if isinstance(piece, Report):
                close(since)
                found.append(piece)
                since = []
            else:
                since.append(piece)
        close(since)

    for place, row in enumerate(rows):
        match row["type"], row["content"]:
            case "user", content:
                forget_reports()
                close(pieces)
                pieces.clear()
                found.append(Question(inert_text(content)))
            case "call", _ if place in calls:
                forget_reports()
                open_calls.append(calls[place])
            case "result", content:
                late = [piece for piece in pieces if isinstance(piece, Report)]
                forget_reports()
                if open_calls:
                    close(pieces, content)
                    pieces[:] = late
            case "error", content if (report := report_in(content)) is not None:
                pieces.append(report)
            case "settled", content if open_calls:
                settled.append(Settled(inert_text(content)))
            case "settled", content:
                show(pieces)
                pieces.clear()
                found.append(Settled(inert_text(content)))
            case "think" | "respond" as kind, content:
                pieces.append((kind, content))
            case _:
                pass
    show(pieces)
    return found


def native(found: Sequence[Any]) -> list[Message]:
    """Passages as providers of tool calls want them back."""
    messages: list[Message] = []

    def say(text: str) -> None:
        last = messages[-1] if messages else {}
        if text.strip() and last.get("role") == "assistant" and "tool_calls" not in last:
            last["content"] += f"\n{text}"
        elif text.strip():
            messages.append({"role": "assistant", "content": text})

    questions = [place for place, each in enumerate(found) if isinstance(each, Question)]
    for place, passage in enumerate(found):
        match passage:
            case Question() | Settled():
                messages.append({"role": "user", "content": str(passage)})
            case Report():
                say(passage.raw)
                messages.append({"role": "user", "content": passage.content})
            case Passage(calls=[]):
                say(passage.text)
            case _:
                calls = [
                    {
                        "id": call["id"],
                        "type": "function",
                        "function": {
                            "name": safe_name(call["name"], ("", call["name"])),
                            "arguments": compact(call["args"]),
                        },
                    }
                    for call in passage.calls
                ]
                message = {"role": "assistant", "content": passage.text, "tool_calls": calls}
                if not questions or place > questions[-1]:
                    thoughts = "\n".join(passage.thoughts).strip()
                    block = {"text": thoughts, "signature": None}
                    message["reasoning"] = [block] if thoughts else []
                messages.append(message)
                for call, outcome in zip(passage.calls, passage.outcomes, strict=True):
                    before = "Error in tool call: " if outcome.is_error else ""
                    before += f"{outcome.outcome}\n" if outcome.outcome else ""
                    messages.append(
                        {
                            "role": "tool",
                            "tool_call_id": call["id"],
                            "tool_execution_id": call["id"],
                            "is_error": outcome.is_error,
                            "content": before + outcome.text,
                        }
                    )
    return messages


def react(found: Sequence[Any]) -> list[Message]:
    """Passages as thoughts, actions and observations."""
    messages: list[Message] = []
    for passage in found:
        match passage:
            case Question() | Settled():
                messages.append({"role": "user", "content": str(passage)})
                continue
            case Report():
                said, told = passage.raw, passage.content
            case _:
                thoughts = [text.strip() for text in passage.thoughts if text.strip()]
                thought = f"Thought: {thoughts[-1]}\n" if thoughts else ""
                said = f"{thought}Final Answer: {passage.text}" if passage.text else ""
                told = None
                if passage.calls:
                    actions = [
                        f"Action: {call['name']}\nAction Input: {compact(call['args'])}"
                        for call in passage.calls
                    ]
                    text = f"{passage.text}\n" if passage.text else ""
                    said = text + thought + "\n".join(actions)
                    told = "\n".join(map(observation, passage.outcomes))
        if said.strip():
            messages.append({"role": "assistant", "content": said})
        if told is not None:
            messages.append({"role": "user", "content": told})
    return messages


def observation(outcome: Outcome) -> str:
    if outcome.is_error:
        return f"Observation: ERROR - {outcome.text}"
    before = f"{outcome.outcome}\n" if outcome.outcome else ""
    return f"Observation: {before}{compact(outcome.value)}"
