"""Asks about calls before they run."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...middleware import Decision, ToolApproved, ToolDenied
from ...middleware.approval import needs_approval
from ...results import reason
from ...tools import options_of
from ...types import ToolCall
from .background import Background
from .keyboard import Keyboard
from .view import View

__all__ = ["Approvals"]

_ASKED = "Run it? y, n, always, edit, or why not:"


class Approvals:
    """Asks somebody at a keyboard; remembers which tools need not be asked about any more."""

    def __init__(self, keyboard: Keyboard, view: View, background: Background) -> None:
        self._keyboard = keyboard
        self._view = view
        self._background = background
        self._always: set[str] = set()

    def decide(
        self, calls: Sequence[ToolCall], tools: Mapping[str, Any]
    ) -> dict[str, Decision] | None:
        """Ask about each call that needs it.

        Args:
            calls: with ids.
            tools: by name.

        Returns:
            A decision for each call; `None` if the person left without deciding, so that the calls go on waiting.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        decisions: dict[str, Decision] = {}
        for call in calls:
            tool = tools.get(call.name)
            if call.name in self._always or not self._background.run(needs_approval(tool, call)):
                decisions[str(call.id)] = ToolApproved()
                continue
            decision = self._ask(call, tool)
            if decision is None:
                return None
            decisions[str(call.id)] = decision
        return decisions

    def _ask(self, call: ToolCall, tool: Any) -> Decision | None:
        try:
            preview = self._preview(call, tool)
        except Exception as error:
            self._view.error(f"not run, because its preview failed: {reason(error)}")
            return ToolDenied(f"its preview failed: {reason(error)}")
        self._view.call(call, preview)
        while (answer := self._keyboard.answer(_ASKED)) is not None:
            match answer.strip().lower():
                case "":
                    continue
                case "y" | "yes":
                    return ToolApproved()
                case "n" | "no":
                    return ToolDenied()
                case "a" | "always":
                    self._always.add(call.name)
                    return ToolApproved()
                case "e" | "edit":
                    args = self._edited(call)
                    if args is not None:
                        return ToolApproved(args)
                case _:
                    return ToolDenied(answer.strip())
        return None

    def _preview(self, call: ToolCall, tool: Any) -> str:
        preview = options_of(tool).preview
        if preview is None:
            return ""
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
                value: Any = json.loads(answer)
            except ValueError as error:
                self._view.error(f"that is not JSON ({error}); empty gives up")
                text = answer
                continue
            if isinstance(value, dict):
                return cast("dict[str, Any]", value)
            self._view.error('arguments are a JSON object, such as {"path": "a.txt"}')
            text = answer
