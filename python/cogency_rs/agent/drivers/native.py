"""A model that uses its provider's own form of tool calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ...context.history import Messages
from ...errors import ConfigError
from ...models import ModelRequest, SpecificTool, ToolChoice
from ...runs.context import RunContext
from ...types import ToolCall
from ..declarations import declarations
from ..returned import give_back
from ..runtime import Runtime
from .native_answer import NativeAnswer

__all__ = ["NativeDriver"]

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
