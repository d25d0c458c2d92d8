"""A model that decides step by step, each decision one JSON object."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import Any

from ...calls.record import CallRecord, ToolExecution
from ...calls.tool_result import failure
from ...errors import ConfigError, LLMError
from ...ids import uuid7
from ...models import Finish, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from ...outside import time
from ...protocol.codec import format_call_agent
from ...runs.context import RunContext
from ...types import ToolCall
from ..cut_answer import report_of
from ..runtime import Runtime, check_model
from .endings import event_of_cut
from .react_decision import (
    CutAnswer,
    DecisionReader,
    FinalAnswer,
    Refusal,
    broke_off,
    decide_on,
    no_answer,
)
from .react_history import call_form, react_prompt, to_answer

__all__ = ["ReActDriver"]

_PSEUDO_CALLS = frozenset({"decision_extraction", "decision_validation"})

_TOLD = frozenset({"user", "think", "respond", "call", "result", "error", "settled"})
"""The types of rows that a model sees."""

_STOP = ("\nObservation:",)
"""How a model begins that writes the observation itself; the object cannot contain such a line."""


class ReActDriver:
    """Asks for one decision in each step: a thought, and a call or the answer. Works without the provider's tool calls.

    Args:
        max_retries: how often in a row the model is asked again if its decision cannot be used, each time in a step
            of its own that shows it what was wrong. After one more such decision the run fails with `LLMError`.
        final_via_model: whether the answer is written in a second request without tools, and replaces the one in the
            decision.
        final_model: the model that writes it; the agent's model by default.

    Raises:
        ConfigError: `max_retries` is below 0, or `final_model` cannot be a model.

    A decision that cannot be used is an `error` event: with the code `"decision_error"` if there is no decision, and
    `"validation_error"` if it cannot be carried out. It is also a failed execution in its `Step`, named
    `"decision_extraction"` or `"decision_validation"`.
    """

    joins_exactly = True

    def __init__(
        self, max_retries: int = 2, *, final_via_model: bool = False, final_model: Any = None
    ) -> None:
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise ConfigError(
                f"max_retries must be a whole number of at least 0, got {max_retries!r}"
            )
        if final_model is not None:
            check_model(final_model)
        self._max_retries = max_retries
        self._final_via_model = final_via_model or final_model is not None
        self._final_model = final_model

    def call_form(self, tools: Iterable[Any]) -> str:
        """A call of one of these tools as an example, for a model that wrote none; "" without tools."""
        return call_form(tools)

    async def step(
        self, run: RunContext[Any], runtime: Runtime
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Make one step; see `Driver.step`."""
        history = await runtime.react_messages()
        if self._final_via_model and _is_cut(await runtime.rows()):
            messages = await runtime.after_system(runtime.introduction, history)
            async with aclosing(self._answer(runtime, messages)) as events:
                async for event in events:
                    yield event
            return
        introduction = runtime.introduction
        prompt = await runtime.of_tools(
            ("react", introduction), lambda: react_prompt(introduction, runtime.visible_tools)
        )
        messages = await runtime.after_system(prompt, history)
        request = ModelRequest(messages, stop=_STOP, until=runtime.until(()))
        reader = DecisionReader(shows_answer=not self._final_via_model)
        finish, has_reasoned = Finish(None), False
        async with aclosing(_texts(runtime, request)) as pieces:
            async for piece in pieces:
                match piece:
                    case Finish():
                        finish = piece
                    case ReasoningDelta(text):
                        has_reasoned = True
                        yield _event("think", text)
                    case str():
                        for event in reader.feed(piece):
                            if has_reasoned and event["type"] == "think":
                                has_reasoned = False
                                yield _event("think", "\n\n")
                            yield event
                if reader.is_broken:
                    break
        if (cut := event_of_cut(finish)) is not None and cut["kind"] == "refused":
            yield cut
            return
        read = reader.finish(finish)
        asked = (
            read
            if isinstance(read, Refusal | CutAnswer)
            else decide_on(
                read,
                reader.text,
                runtime.toolbox,
                needs_answer=not self._final_via_model,
            )
        )
        match asked:
            case CutAnswer():
                yield asked.event()
            case Refusal():
                yield self._refuse(asked, run, runtime)
            case ToolCall() if finish.kind == "broken":
                yield self._refuse(broke_off(reader.text), run, runtime)
            case ToolCall():
                yield _event("call", format_call_agent(asked))
                yield {"type": "execute", "timestamp": time()}
            case FinalAnswer(text) if self._final_via_model:
                thought = str(read.get("thought") or "") if isinstance(read, dict) else ""
                final = to_answer(history, thought, text)
                messages = await runtime.after_system(runtime.introduction, final)
                is_silent = True
                async with aclosing(self._answer(runtime, messages)) as events:
                    async for event in events:
                        is_silent = is_silent and event["type"] == "think"
                        yield event
                if is_silent:
                    yield self._refuse(no_answer(reader.text), run, runtime)
            case FinalAnswer(text):
                if not reader.has_answered:
                    yield _event("respond", text)

    async def _answer(
        self, runtime: Runtime, messages: list[dict[str, Any]]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Ask for the answer in a second request."""
        request = ModelRequest(messages, tool_choice="none", until=runtime.until(()))
        is_thinking = False
        async with aclosing(_texts(runtime, request, self._final_model)) as pieces:
            async for piece in pieces:
                match piece:
                    case Finish():
                        if (cut := event_of_cut(piece, is_thinking=is_thinking)) is not None:
                            yield cut
                    case ReasoningDelta(text):
                        is_thinking = True
                        yield _event("think", text)
                    case str():
                        is_thinking = False
                        yield _event("respond", piece)

    def _refuse(self, refusal: Refusal, run: RunContext[Any], runtime: Runtime) -> dict[str, Any]:
        """Note a decision that cannot be used; after too many of them in a row the run fails."""
        call, now = ToolCall(refusal.name, {"text": refusal.raw}), time()
        record = CallRecord(uuid7(), "", 0, call.name, None, "failure", 0, now, now)
        refused = ToolExecution(call, failure(refusal.problem), record)
        runtime.refused = (*runtime.refused, refused)
        before = 0
        for step in reversed(run.steps):
            if not any(each.name in _PSEUDO_CALLS for each in step.executions):
                break
            before += 1
        if before >= self._max_retries:
            runtime.error = LLMError(
                f"The model made no usable decision in {before + 1} answers in a row. The last one: "
                f"{refusal.problem} It wrote: {refusal.raw[:200]!r}. Give it fewer or simpler tools, raise max_retries "
                "or use a model that writes JSON"
            )
        return refusal.event()


def _is_cut(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a conversation ends with an answer that was cut in its text."""
    told = (row for row in reversed(rows) if row["type"] in _TOLD)
    last = next(told, None)
    if last is None or last["type"] != "error":
        return False
    report = report_of(last)
    if (report.get("kind"), report.get("raw")) != ("truncated", ""):
        return False
    said = takewhile(lambda row: row["type"] in ("think", "respond"), told)
    return any(row["type"] == "respond" for row in said)


async def _texts(
    runtime: Runtime, request: ModelRequest, model: Any = None
) -> AsyncGenerator[str | ReasoningDelta | Finish, None]:
    """The model's output: its text as `str`, and its other deltas that matter."""
    async with aclosing(runtime.ask(request, model=model)) as deltas:
        async for delta in deltas:
            match delta:
                case str():
                    if delta:
                        yield delta
                case TextDelta(text):
                    if text:
                        yield text
                case ReasoningDelta(text):
                    if text:
                        yield delta
                case Finish():
                    yield delta
                case ToolCallDelta():
                    raise LLMError(
                        "the server itself parsed a tool call out of the model's text, so the text lacks it: turn off "
                        'its tool parser, or use Agent(driver="native")'
                    )
                case _:  # usage, which the runtime has counted
                    pass


def _event(kind: str, content: str) -> dict[str, Any]:
    return {"type": kind, "content": content, "timestamp": time()}
