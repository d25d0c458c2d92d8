"""A model that uses its provider's own form of tool calls, and how its answer becomes events.

Invariants: text, reasoning and calls keep their order; no call is emitted before every call of the answer is whole,
so a batch with a broken call does not count at all. Before that, a `call_ready` says that a call is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Container, Iterable
from contextlib import aclosing
from typing import Any, Literal

from ..._core import ArgumentValues, JsonFault, Limits, ObjectReader, event_of_cut
from ...context.history import Messages
from ...errors import ConfigError
from ...models import (
    Delta,
    Finish,
    ModelRequest,
    OpaqueDelta,
    ReasoningDelta,
    SpecificTool,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
)
from ...models.service_answer import CallNumbers
from ...outside import time, uuid7
from ...protocol import format_call_agent
from ...runs.context import RunContext
from ...types import ToolCall
from ..prompt import exact_args
from ..returned import Returned, WrittenParts, give_back
from ..runtime import Runtime
from .driver import EventDict, cut_of, declarations, line_and_column

_OPENING = re.compile(r"\s*(?:```[A-Za-z]*[ \t]*\n\s*)?(?=\{)")
_PERHAPS_OPENING = re.compile(r"\s*(?:``?|```[A-Za-z]*[ \t]*(?:\n\s*)?)?")
_PERHAPS_CLOSING = re.compile(r"\s*(?:`{1,3}\s*)?")

_LONGEST_FRAME = 200
"""The most characters of white space and fence, before and after the object, that an echo may have."""


class Echo:
    """Reads the text of an answer for as long as it may be an echo: one JSON object, perhaps in a Markdown fence.

    Attributes:
        is_possible: whether the text may still be an echo.
        has_text: whether there was any text.
    """

    def __init__(self) -> None:
        self.is_possible = True
        self.has_text = False
        self._object = ObjectReader(is_alone=False)
        self._frame = ""  # the text before the object; once the object is whole, the text after it
        self._has_begun = False

    def take(self, text: str) -> None:
        """See the next piece."""
        self.has_text = True
        if not self._has_begun:
            self._frame += text
            opening = _OPENING.match(self._frame)
            if opening is None:
                is_open = _PERHAPS_OPENING.fullmatch(self._frame) is not None
                self.is_possible = is_open and len(self._frame) <= _LONGEST_FRAME
                return
            self._has_begun = True
            text, self._frame = self._frame[opening.end() :], ""
        if not self._object.is_whole:
            self._object.feed(text)
            self.is_possible = self._object.fault is None
            text = self._object.rest
        if self._object.is_whole:
            self._frame += text
            is_closing = _PERHAPS_CLOSING.fullmatch(self._frame) is not None
            self.is_possible = is_closing and len(self._frame) <= _LONGEST_FRAME

    def is_of(self, calls: Iterable[ToolCall]) -> bool:
        """Whether the whole text is strictly equal to the arguments of one of the calls."""
        if not (self.is_possible and self._object.is_whole):
            return False
        try:
            written = _canonical(self._object.value())
        except ValueError:
            return False
        return any(_canonical(call.args) == written for call in calls)


def _canonical(value: Any) -> str:
    """Equal values give equal texts; `1`, `1.0`, `true` and `"1"` give different ones."""
    return json.dumps(value, sort_keys=True)


_AGAIN = "Make the call again, with arguments that are one JSON object."
_ADVICE = {"again": f" {_AGAIN}", "again_with_less": f" {_AGAIN} Put less into one call.", None: ""}
"""What to do, in the words of this form, by the name that the log keeps."""

_Advice = Literal["again", "again_with_less"] | None

_FOUND: dict[str, tuple[str, str, _Advice]] = {
    "malformed": (
        "malformed",
        "Malformed tool call. In the arguments of {call}: {problem} {place}. No call was run.",
        "again",
    ),
    "stopped": (
        "unfinished",
        "You stopped inside the arguments of {call}, {place}: {problem}. No call was run.",
        "again",
    ),
    "length": (
        "truncated",
        "Your output reached the length that is allowed and was cut inside the arguments of {call}, {place}. No call "
        "was run. Put less into one call, and split what is long over several.",
        None,
    ),
    "broken": (
        "truncated",
        "The stream broke off inside the arguments of {call}, {place}, and you did nothing wrong. No call was run.",
        "again",
    ),
    "unknown": (
        "truncated",
        "Your output ended inside the arguments of {call}, {place}. No call was run.",
        "again_with_less",
    ),
}
"""The kind of an error, what is wrong, and what to do: for broken arguments, and for arguments that ended too early."""

_MOST = Limits().max_calls
"""The most calls of one answer, as in a text."""

_TOO_MANY = f"Malformed tool calls: more than {_MOST} calls in one answer. No call was run. Make fewer calls at once."

_BROKEN = "The stream broke off after your calls, and you did nothing wrong. No call was run."


class NativeAnswer:
    """Reads one answer.

    Args:
        shown: the names of tools whose calls are shown before they are complete, too.
        drops_echo: whether text is held back while it may be an echo of a call's arguments, and dropped if it is.
        may_call: whether tools were declared to the model.
        eager: whether a `call_ready` is emitted when a call is whole.

    Attributes:
        is_broken: whether a call is broken, or one too many, so that the rest of the answer need not be read.
    """

    def __init__(
        self,
        *,
        shown: Container[str] = (),
        drops_echo: bool = True,
        may_call: bool = True,
        eager: bool = False,
    ) -> None:
        self.is_broken = False
        self._parts = WrittenParts()
        self._shown = shown
        self._may_call = may_call
        self._eager = eager and may_call
        self._ready = 0  # how many calls are known to be whole
        self._calls: list[_WrittenCall] = []
        self._has_too_many = False
        self._numbers = CallNumbers()
        self._finish = Finish(None)
        self._is_thinking = False  # reasoning was the last of it
        # Events that wait for the end of the answer, in order: everything after the first that has to wait.
        self._held: list[EventDict | _WrittenCall] = []
        self._echo = Echo() if drops_echo and may_call else None

    def take(self, delta: str | Delta) -> list[EventDict]:
        """Read the next piece; returns the events that it completes."""
        if type(delta) is TextDelta and delta.text and self._echo is None and not self._calls:
            self._is_thinking = False  # most deltas are text, and then there is nothing else to do
            self._parts.text(delta.text)
            return [_event("respond", delta.text)]
        match delta:
            case str() | TextDelta():
                text = delta if isinstance(delta, str) else delta.text
                self._is_thinking = self._is_thinking and not text
                self._parts.text(text)
                return self._text(text) if text else []
            case ReasoningDelta(text, signature):
                self._parts.reasoning(text, signature)
                self._is_thinking = self._is_thinking or bool(text)
                return self._say("think", text) if text else []
            case ToolCallDelta():
                return self._call(delta)
            case OpaqueDelta(name, value, index):
                self._parts.opaque(name, value, self._numbers.number_of(index))
                return []
            case Finish():
                self._finish = delta
                return []
            case _:  # usage, which the runtime has counted
                return []

    def finish(self) -> list[EventDict]:
        """End the answer: returns the events held back, then the calls that run, or an error with why none does."""
        cut = event_of_cut(self._finish, is_thinking=self._is_thinking)
        if cut is not None and cut["kind"] == "refused":
            return [*self.release(), cut]
        fault = self._fault(is_cut=cut is not None)
        if fault is not None:
            return [*self.release(), fault]
        calls = [each.call() for each in self._calls]
        if self._echo is not None and self._echo.is_of(calls):
            self._held = [each for each in self._held if not _is_text(each)]
        events = [
            _event("call", each.written()) if isinstance(each, _WrittenCall) else each
            for each in self._held
        ]
        self._held = []
        if calls:
            return [*events, {"type": "execute", "timestamp": time()}]
        return events if cut is None else [*events, cut]

    def release(self) -> list[EventDict]:
        """Return the held back events that are not calls, since the answer broke off."""
        held, self._held = self._held, []
        return [each for each in held if not isinstance(each, _WrittenCall)]

    # Text

    def _text(self, text: str) -> list[EventDict]:
        if self._echo is not None:
            self._echo.take(text)
            if not self._echo.is_possible:
                self._echo = None
                events = [] if self._calls else self.release()
                return [*events, *self._say("respond", text)]
        return self._say("respond", text)

    def _say(self, kind: str, text: str) -> list[EventDict]:
        event = _event(kind, text)
        if self._calls or (self._echo is not None and self._echo.has_text):
            self._held.append(event)
            return []
        return [event]

    @property
    def returned(self) -> Returned:
        """What the provider wants back with the calls; linear in the answer."""
        return self._parts.returned(len(self._calls))

    # Calls

    def _call(self, delta: ToolCallDelta) -> list[EventDict]:
        delta = self._numbers.read(delta.index, delta.id, delta.name, delta.arguments)
        number = delta.index or 0
        is_new = number >= len(self._calls)
        if is_new and number >= _MOST:
            self.is_broken = self._has_too_many = True
            return []
        if is_new:
            self._calls.append(call := _WrittenCall(number))
            self._held.append(call)
            self._parts.call()
        call = self._calls[number]
        call.add(delta)
        self.is_broken = call.reader.fault is not None or not self._may_call
        ready = [] if self.is_broken or not self._eager else self._ready_calls()
        return [*self._pieces(call, delta.arguments), *ready]

    def _pieces(self, call: _WrittenCall, arguments: str) -> list[EventDict]:
        """The events that show a piece of a call: once its name is that of a tool, and its arguments have begun."""
        if self.is_broken or call.name not in self._shown:
            return []
        events = list[EventDict]()
        if call.shown is None:
            arguments = "".join(call.arguments)
            if not arguments.lstrip().startswith("{"):
                return []
            call.shown = ArgumentValues()
            start = {"type": "tool_call_start", "index": call.number, "name": call.name}
            events.append({**start, "timestamp": time()})
        for path, text in call.shown.feed(arguments):
            events.append({**_event("tool_call_delta", text), "index": call.number, "path": path})
        return events

    def _ready_calls(self) -> list[EventDict]:
        """The calls that have become whole, in order. A call without arguments is known to be whole only at the end."""
        events: list[EventDict] = []
        for call in self._calls[self._ready :]:
            if not (call.name and call.reader.is_whole) or call.unreadable() is not None:
                break
            self._ready += 1
            events.append(_event("call_ready", call.written()))
        return events

    def _fault(self, *, is_cut: bool) -> EventDict | None:
        """An event that says why no call runs; `None` if they run.

        Args:
            is_cut: whether the answer was cut, so that arguments may be missing.
        """
        if self._calls and not self._may_call:
            told = "No tool can be called now, and nothing was run. Answer with text."
            return self._error("malformed", told, None, self._calls[0], 0)
        if self._has_too_many:
            return self._error("malformed", _TOO_MANY, None, self._calls[-1], 0)
        # Reading stops at a broken call, so another call may be incomplete only because of that.
        for call in sorted(self._calls, key=lambda call: call.reader.fault is None):
            if not call.name:
                told = (
                    "Malformed tool call: {call} names no tool. No call was run. Make the call again, with the "
                    "name of one of your tools."
                )
                return self._error("malformed", told, None, call, 0, "missing_tool_name")
            if call.reader.is_empty and not (is_cut and call is self._calls[-1]):
                continue  # it has no arguments
            fault = call.reader.finish() or call.unreadable()
            if fault is not None:
                case = cut_of(self._finish) if fault.is_the_end else "malformed"
                return self._error(*_FOUND[case], call, fault.at, problem=fault.problem)
        if self._calls and self._finish.kind == "broken":
            return self._error("truncated", _BROKEN, "again", self._calls[-1], 0)
        return None

    def _error(
        self,
        kind: str,
        found: str,
        advice: _Advice,
        call: _WrittenCall,
        at: int,
        code: str = "invalid_payload",
        problem: str = "",
    ) -> EventDict:
        raw, start = "", 0
        for each in self._calls:
            raw += f"\n{each.name} " if raw else f"{each.name} "
            start = len(raw) if each is call else start
            arguments = "".join(each.arguments)
            if each is call and self.is_broken:
                arguments = arguments[: at + 1]  # how much more came depends on how it was cut
            raw += arguments
        line, column = line_and_column(raw, start + at)
        place = f"at line {line}, column {column}"
        content = found.format(call=call.title, problem=problem, place=place)
        return {
            "type": "error",
            "kind": kind,
            "code": code,
            "content": f"{content}{_ADVICE[advice]}",
            "finding": (content, advice, None),
            "raw": raw,
            "line": line,
            "column": column,
            "timestamp": time(),
        }


class _WrittenCall:
    """One call while it arrives. What it comes to is read once, since arguments may be long."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.id: str | None = None
        self.name = ""
        self.arguments: list[str] = []
        self.reader = ObjectReader()
        self.shown: ArgumentValues | None = None  # where the call is shown while it is written
        self._call: ToolCall | None = None
        self._written: str | None = None

    def add(self, delta: ToolCallDelta) -> None:
        """Take the next piece."""
        self.id = self.id or delta.id
        self.name = self.name or delta.name or ""
        self.arguments.append(delta.arguments)
        self.reader.feed(delta.arguments)
        self._call = self._written = None

    @property
    def title(self) -> str:
        """What the model's report calls it."""
        return f"call {self.number} ({self.name})" if self.name else f"call {self.number}"

    def unreadable(self) -> JsonFault | None:
        """Why arguments that are JSON cannot be read even so."""
        try:
            self.call()
        except ValueError as error:
            return JsonFault(str(error).partition(";")[0], 0)
        return None

    def call(self) -> ToolCall:
        """The call. If it has no arguments, they are empty; if it has no id, it gets one."""
        if self._call is None:
            args = {} if self.reader.is_empty else self.reader.value()
            self.id = self.id or uuid7()
            self._call = ToolCall(self.name, exact_args(args, "".join(self.arguments)), self.id)
        return self._call

    def written(self) -> str:
        """The call as an event has it."""
        if self._written is None:
            self._written = format_call_agent(self.call())
        return self._written


def _is_text(held: EventDict | _WrittenCall) -> bool:
    return not isinstance(held, _WrittenCall) and held["type"] == "respond"


def _event(kind: str, content: str) -> EventDict:
    return {"type": kind, "content": content, "timestamp": time()}


_CHOICES = ("auto", "required", "none")


class NativeDriver:
    """Declares the tools to the provider, and reads the provider's calls.

    Args:
        tool_choice: which tools the model may call in each step: `"auto"` for any or none, `"required"` for at least
            one, `"none"` for none, so that none is declared, or `SpecificTool(name)`. With `"required"` or a
            `SpecificTool` only a tool or a limit ends the run; once `RunLimits.tool_calls` is reached, the model may
            answer.
        parallel_tool_calls: whether one answer may hold several calls.
        drop_echoed_args: leave out the text of an answer if it only repeats the arguments of one of its calls, as a
            JSON object, perhaps in a Markdown fence. Until that is clear, text that begins so is held back.

    Raises:
        ConfigError: `tool_choice` is not one of these.

    If the arguments of a call are broken or cut, no call of the answer runs; the model is shown its calls, as text,
    and what was wrong, until it does better. Reasoning is sent back with the calls that followed from it, with the
    provider's signatures, in the order of the answer, and with what only the provider can read. The log keeps these,
    and they go only to the service that wrote them.
    """

    def __init__(
        self,
        tool_choice: ToolChoice = "auto",
        *,
        parallel_tool_calls: bool = True,
        drop_echoed_args: bool = True,
    ) -> None:
        given: object = tool_choice
        if not (given in _CHOICES or isinstance(given, SpecificTool)):
            raise ConfigError(
                f'tool_choice must be "auto", "required", "none" or SpecificTool(name), got {tool_choice!r}'
            )
        self._tool_choice: ToolChoice = tool_choice
        self._parallel_tool_calls = parallel_tool_calls
        self._drops_echo = drop_echoed_args

    async def step(
        self, run: RunContext[Any], runtime: Runtime
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Make one step; see `Driver.step`.

        Raises:
            ConfigError: the tool that must be called is not there.
        """
        batch = 0

        def complete(messages: Messages) -> None:
            nonlocal batch
            batch = give_back(messages, runtime.returned)

        messages = await runtime.native_messages(runtime.introduction, complete)
        request = await self._request(runtime, messages)
        answer = NativeAnswer(
            shown={tool.name for tool in request.tools} if runtime.calls == "stream" else (),
            drops_echo=self._drops_echo,
            may_call=bool(request.tools),
            eager=runtime.eager,
        )
        async with aclosing(runtime.ask(request)) as deltas:
            try:
                async for delta in deltas:
                    for event in answer.take(delta):
                        yield event
                    if answer.is_broken:
                        break
            except Exception:
                for event in answer.release():
                    yield event
                raise
        runtime.returned[batch] = runtime.newest = answer.returned
        for event in answer.finish():
            yield event

    async def _request(self, runtime: Runtime, messages: list[dict[str, Any]]) -> ModelRequest:
        choice = self._tool_choice
        tools = await declarations(runtime)
        if isinstance(choice, SpecificTool):
            chosen = runtime.toolbox.resolve(ToolCall(choice.name, {}))
            if chosen.tool not in runtime.visible_tools:
                names = ", ".join(tool.name for tool in tools) or "none"
                raise ConfigError(
                    f"tool_choice names {choice.name!r}, but there is no such tool. Tools: {names}"
                )
            choice = SpecificTool(chosen.call.name)
        if choice != "none" and runtime.ctx.account.is_out_of_calls:
            choice = (
                "auto"  # a call would be refused, and a model that must call could never answer
            )
        if choice == "none" or not tools:
            choice, tools = "none", ()
        return ModelRequest(
            messages,
            tools=tools,
            tool_choice=choice,
            parallel_tool_calls=self._parallel_tool_calls,
            output_schema=runtime.output_schema,
            until=runtime.until(()),
        )
