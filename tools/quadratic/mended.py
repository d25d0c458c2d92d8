"""What once grew too fast, or would without a bound: cases that a test measures, so that none comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["MENDED", "Case"]


@dataclass(frozen=True)
class Case:
    """A text that is a beginning and a unit again and again, and what reads it.

    Attributes:
        target: the name of a target.
        dialect: a preset's name; "" if dialects do not matter.
        before: what the text begins with.
        unit: what is repeated.
        options: of the target.
    """

    target: str
    dialect: str
    before: str
    unit: str
    options: dict[str, Any]


_XML = "<tool>\n<tool_name>note</tool_name><arguments><text>"

_ROWS = "".join(f"row {number}\n" for number in range(130))

MENDED: list[Case] = [
    Case("files", "", "", _ROWS, {"work": "edit"}),
    Case("files", "", "", _ROWS, {"work": "write"}),
    Case("difference", "", "", "a\nb\n", {"to": "shuffled"}),
    Case("difference", "", "", _ROWS, {"to": "changed"}),
    Case("native answer", "", "", "😀", {"place": "reasoning", "piece": 1, "eager": False}),
    *(
        Case("parser", "forge-xml", _XML, unit, {"reason": "stop"})
        for unit in ("<!-- >", "<!--", "<![CDATA", "<![CDATA[</text>", "<a x='", "</a")
    ),
    *(
        Case("parser", name, before, '{"', {"piece": 4, "calls": "stream"})
        for name, before in (
            ("olmo3", "<function_calls>a(b="),
            ("lfm2", "<|tool_call_start|>[a(b="),
        )
    ),
    Case("parser", "minimax-m3", "<minimax:tool_call>", "]<]minimax[>[<a", {"reason": "stop"}),
    Case("inert", "react", "", "Thought:", {}),
    Case("inert", "react", "", " Thought:", {}),
    *(
        Case(target, "hermes", "", "a", {"place": place})
        for target in ("declare", "grammar")
        for place in ("required", "enums", "branches")
    ),
    Case("arguments", "", "", "a", {"form": "required"}),
    Case("arguments", "", "", "a", {"form": "unknown"}),
    Case("typed answer", "", "", "```a\n", {}),
    Case("typed answer", "", "```\n", "` ``", {}),
    Case("decision", "", "", "\u3000", {"piece": 16, "before": "", "reason": None}),
    *(
        Case("wrapped", "", "é", unit, {"piece": piece})
        for unit in ("\n\n", " \n", "\t")
        for piece in (None, 4)
    ),
    Case("markdown", "", "", "[", {}),
    Case("markdown", "", "", "*", {}),
    Case("markdown", "", "", "_ ", {}),
    *(
        Case("page", "", "", unit, {})
        for unit in ("[", "**a ", "*a ", "[a](http://a", "`` ", "***")
    ),
    *(Case("files", "", "", unit, {"work": "list"}) for unit in ("[", "*a", "*?", "[!a-")),
    Case("native answer", "", "", "a", {"place": "calls", "piece": 4, "eager": True}),
]
