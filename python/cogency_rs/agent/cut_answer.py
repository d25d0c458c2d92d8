"""The final answer, put together from the parts in which it came.

An answer that was cut is gone on with in the next step: its parts are joined as they are. A run and the rows of its log
follow the same rule, so that a run which another program resumes has the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..guards.json_text import read_json
from .step_content import StepContent, paragraphs

__all__ = ["Answer", "answer_in", "report_of"]


class Answer:
    """The parts of an answer that were cut, in order.

    Args:
        is_exact: whether text after reasoning is joined as it is; else without the white space at its beginning.

    Attributes:
        is_open: whether text was cut, so that the next text is joined to it.
    """

    __slots__ = ("_is_exact", "_texts", "is_open")

    def __init__(self, *, is_exact: bool = False) -> None:
        self._is_exact = is_exact
        self._texts: Sequence[str] = ()
        self.is_open = False

    @property
    def has_parts(self) -> bool:
        """Whether an earlier step wrote a part of it."""
        return bool(self._texts)

    def with_rest(self, content: StepContent) -> str:
        """The whole text, if it ends with that of a step."""
        return paragraphs(self._joined(content))

    def cut(self, content: StepContent) -> None:
        """Keep the text of a step that was cut."""
        texts = content.texts
        if not texts:
            return
        self._texts = self._joined(content)
        self.is_open = content.ends_in_text

    def forget(self) -> None:
        """Drop the parts: what follows is another answer."""
        self._texts, self.is_open = (), False

    def _joined(self, content: StepContent) -> list[str]:
        texts = content.texts
        if not (self.is_open and texts):
            return [*self._texts, *texts]
        is_exact = self._is_exact or content.begins_in_text
        rest = texts[0] if is_exact else texts[0].lstrip()
        return [*self._texts[:-1], self._texts[-1] + rest, *texts[1:]]


def answer_in(rows: Iterable[Mapping[str, Any]], *, is_exact: bool) -> tuple[Answer, StepContent]:
    """The parts of the answer at the end of a log, and the content of its last step.

    Args:
        rows: oldest first.
        is_exact: see `Answer`.
    """
    answer, content = Answer(is_exact=is_exact), StepContent()
    for row in rows:
        match row["type"]:
            case "user" | "call" | "result" | "settled":
                answer.forget()
                content = StepContent()
            case "think" | "respond":
                content.take(row)
            case "cancelled":
                answer.cut(content)
                content = StepContent()
            case "error":
                content.take(report_of(row))
                if content.is_cut or content.is_refused:
                    answer.cut(content)
                elif content.is_unfit:
                    answer.forget()
                content = StepContent()
            case _:
                pass
    return answer, content


def report_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event of a row `error`; another program may have written any text."""
    from ..tools.signature import is_object

    try:
        report = read_json(row["content"])
    except ValueError:
        report = None
    return {**(report if is_object(report) else {}), "type": "error"}
