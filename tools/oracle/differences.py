"""Every difference between an older wheel and the tree, with its reason.

An entry changes the answers of both sides so that what it names is the same in both. A difference is named if some
entries, or all of them together, make the answers equal. So an entry should change no more than what it names.

Entries are for the wheel that a redesign began with; with a newer wheel they go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["DIFFERENCES", "Difference", "reasons", "strings_changed"]

Case = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """A difference that is meant.

    Attributes:
        name: a short name, for reports.
        reason: why the tree does it otherwise, one sentence.
        kinds: the kinds of cases in which it shows.
        evened: changes an answer to a case to what both sides say.
        applies: to which cases of these kinds.
    """

    name: str
    reason: str
    kinds: Sequence[str]
    evened: Callable[[Case, Any], Any]
    applies: Callable[[Case], bool] = lambda case: True


def strings_changed(value: Any, change: Callable[[str], str]) -> Any:
    """An answer, each of its texts changed; for entries."""
    match value:
        case str():
            return change(value)
        case list():
            return [strings_changed(each, change) for each in value]
        case dict():
            return {key: strings_changed(each, change) for key, each in value.items()}
        case _:
            return value


def _without_positions(case: Case, answer: Any) -> Any:
    match answer:
        case {"type": _, "content": _, "position": int(), **others} if not others.keys() - {
            "parts"
        }:
            return {key: value for key, value in answer.items() if key != "position"}
        case dict():
            return {key: _without_positions(case, value) for key, value in answer.items()}
        case list():
            return [_without_positions(case, each) for each in answer]
        case _:
            return answer


def _reports_without_words(case: Case, answer: Any) -> Any:
    match answer:
        case {"type": "error", "content": str(content)}:
            try:
                report = json.loads(content)
            except ValueError:
                return answer
            if not isinstance(report, dict) or "kind" not in report:
                return answer
            return {**answer, "content": [report["kind"], report.get("raw")]}
        case dict():
            return {key: _reports_without_words(case, value) for key, value in answer.items()}
        case list():
            return [_reports_without_words(case, each) for each in answer]
        case _:
            return answer


def _named_alike(value: Any) -> Any:
    """What was sent and counted, each id of a call the same, and so the tokens that they took."""
    match value:
        case {"function": _, "id": _}:
            return {**value, "id": "<id>"}
        case dict():
            inner = {key: _named_alike(each) for key, each in value.items()}
            evened = {"tool_call_id": "<id>", "tool_execution_id": "<id>", "input": 0}
            return {**inner, **{key: each for key, each in evened.items() if key in inner}}
        case list():
            return [_named_alike(each) for each in value]
        case _:
            return value


def _without_ids(case: Case, answer: Any) -> Any:
    if not isinstance(answer, dict):
        return answer
    records = [{**record, "id": "<id>"} for record in answer.get("records", ())]
    if (
        case.get("driver") == "native"
    ):  # the model is shown one of an id that comes twice as another one
        answer = {
            **answer,
            "asked": _named_alike(answer.get("asked")),
            "events": _named_alike(answer.get("events")),
        }
    return strings_changed(
        {**answer, "records": records}, lambda text: re.sub(r"<id \d+>", "<id>", text)
    )


DIFFERENCES: list[Difference] = [
    Difference(
        "rows have positions",
        "a log is read in the order of its commits, and each row says its place in it",
        ("turn", "run", "log"),
        _without_positions,
    ),
    Difference(
        "reports have no dialect",
        "the row of a report says what was wrong and where, and the fold writes the sentence in the reader's dialect",
        ("turn", "run"),
        _reports_without_words,
    ),
    Difference(
        "calls have ids of their own",
        "a provider may give an id twice, so the id of a record is ours",
        ("turn", "run"),
        _without_ids,
    ),
]


def reasons(
    case: Case, old: Any, new: Any, table: Sequence[Difference] | None = None
) -> list[Difference] | None:
    """The entries that explain a difference: one if one does, else all that can; `None` if they do not."""
    entries = DIFFERENCES if table is None else table
    able = [each for each in entries if case["kind"] in each.kinds and each.applies(case)]
    for each in able:
        if each.evened(case, old) == each.evened(case, new):
            return [each]
    for each in able:
        old, new = each.evened(case, old), each.evened(case, new)
    return able if able and old == new else None
