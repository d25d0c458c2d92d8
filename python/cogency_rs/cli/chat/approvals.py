"""Asks about calls before they run."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from ...calls.tool_result import reason
from ...guards.json import read_json
from ...hooks import Decision, ToolApproved, ToolDenied
from ...hooks.approval import Undecided, need_of
from ...tools.toolbox import ResolvedCall, fingerprint_of
from ...types import ToolCall
from .background import Background
from .keyboard import Keyboard
from .view import View

__all__ = ["Approvals"]

_ASKED = "Run it? y, n, always, edit, or why not:"
_MORE = "{left:,} more lines. Enter shows them; n, or why not:"
_WORDS = frozenset({"y", "yes", "n", "no", "a", "always", "e", "edit"})
_GOES_ON = _WORDS - {"n", "no"} | {""}
"""Answers that do not deny a call of which there is more to show."""


class Approvals:
    """Asks somebody at a keyboard; remembers which tools need no further question, until they change."""

    def __init__(self, keyboard: Keyboard, view: View, background: Background) -> None:
        self._keyboard = keyboard
        self._view = view
        self._background = background
        self._always: set[str] = set()  # tools, by their fingerprints

    def decide(self, calls: Sequence[ResolvedCall]) -> dict[str, Decision] | None:
        """Ask about each call that needs it.

        Args:
            calls: with ids, and with the tools that they mean.

        Returns:
            A decision for each call; `None` if the person left without deciding, so that the calls go on waiting.
            A call about which nobody can be asked, because its tool is gone or cannot say, is denied.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        decisions: dict[str, Decision] = {}
        for each in calls:
            decision = self._decision(each)
            if decision is None:
                return None
            decisions[str(each.call.id)] = decision
        return decisions

    def _decision(self, resolved: ResolvedCall) -> Decision | None:
        need = self._background.run(need_of(resolved))
        if isinstance(need, Undecided):
            self._view.error(f"{resolved.call.name} is not run: {need.message}")
            return need
        if not need or (self._always and fingerprint_of(resolved) in self._always):
            return ToolApproved()
        return self._ask(resolved)

    def _ask(self, resolved: ResolvedCall) -> Decision | None:
        """Show a call until somebody agrees to what is shown, or denies it; what is edited is shown again."""
        call, args = resolved.call, None
        while True:
            try:
                preview = self._preview(resolved, call)
            except Exception as error:
                self._view.error(f"not run, because its preview failed: {reason(error)}")
                return Undecided(f"its preview failed: {reason(error)}")
            answer = self._answered(call, preview)
            match answer:
                case None:
                    return None
                case "y" | "yes":
                    return ToolApproved(args, preview)
                case "n" | "no":
                    return ToolDenied()
                case "a" | "always":
                    self._always.add(fingerprint_of(resolved))
                    return ToolApproved(args, preview)
                case "e" | "edit":
                    edited = self._edited(call)
                    if edited is not None:
                        args, call = edited, replace(call, args=edited)
                case _:
                    return ToolDenied(answer)

    def _answered(self, call: ToolCall, preview: str | None) -> str | None:
        """Show a call and ask about it. Nobody agrees before the end is shown; a denial may come earlier."""
        for left in self._view.call(call, preview):
            answer = self._keyboard.more(_MORE.format(left=left))
            if answer is None or answer.strip().lower() not in _GOES_ON:
                return answer and _plain(answer)
        while (answer := self._keyboard.answer(_ASKED)) is not None:
            if answer.strip():
                return _plain(answer)
        return None

    def _preview(self, resolved: ResolvedCall, call: ToolCall) -> str | None:
        preview = resolved.options.preview
        if preview is None:
            return None
        shown = preview(call)
        if inspect.isawaitable(shown):

            async def awaited() -> str:
                return await shown

            return self._background.run(awaited())
        return shown

    def _edited(self, call: ToolCall) -> dict[str, Any] | None:
        """Other arguments; `None` if they are given up."""
        text = json.dumps(call.args, ensure_ascii=False)
        while True:
            answer = self._keyboard.answer("Arguments, as JSON:", text)
            if not answer or not answer.strip():
                return None
            try:
                value: Any = read_json(answer)
            except ValueError as error:
                self._view.error(f"that is not JSON ({error}); leave it empty to give up")
                text = answer
                continue
            if isinstance(value, dict):
                return cast("dict[str, Any]", value)
            self._view.error('arguments are a JSON object, such as {"path": "a.txt"}')
            text = answer


def _plain(answer: str) -> str:
    """An answer without the white space around it; a known word in lower case."""
    answer = answer.strip()
    return answer.lower() if answer.lower() in _WORDS else answer
